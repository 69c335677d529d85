"""The parts of a model that are learned from held-out concepts, besides the network.

`calibrators` holds them: the weights of the fusion, `confidence` (fitted by `calibration`),
`abstention`, `duplicates` and `new_parent_prior`. `priors` is known before anything is held out.
"""
