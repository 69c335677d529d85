"""The paper's experiments: one TOML file each in `configs/`, with the published results.

`python -m reproduction` lists and runs them from a clone; they are not part of the installed
package. `experiments` finds them, `split` and `task` prepare the data, `runner` trains and ranks,
`baselines` has the trained baselines, `runs` stores each run, and `tables`, `figures` and `page`
show the stored runs. `semeval` places new words in WordNet, and `task13` has terms to place in
three small taxonomies. `pretraining` checks the data that the text encoder is pre-trained on.
"""
