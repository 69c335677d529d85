"""The paper's experiments: one TOML file each, with the published results.

`experiment` finds them, `task` and `split` prepare the data, which `perturbed_tasks` changes on
purpose, `runner` runs them, `run_record` stores each run, and `result_tables`, `figures` and
`results_page` show the stored runs.
"""
