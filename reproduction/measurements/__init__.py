"""Measurements of whole models beyond the paper: accuracy, confidence, and what reviews teach.

- `trial`: the data of a measurement, and one seed of it
- `runner`: which function measures what; makes missing runs, prints tables
- `runs`: stored runs
- `calibration`, `calibration_results`, `calibration_plots`: confidence and abstention
- `planted_errors`: errors that `clean` should find
- `recovery`: removed subtrees that are placed again
- `review`: a simulated curator
- `signals`: features and settings that are left out
- `small_taxonomies`: models and Closest-Parent on subtrees
- `updating`: models of growing taxonomies, with and without training
"""
