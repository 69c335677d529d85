"""What a model learns from held-out concepts, besides its network and its tower.

`calibrators` keeps all of it: the weights of the fusion (by `fusion`), `confidence` (by
`calibration`), `abstention`, `duplicates`, `leaf_bonus` and `new_parent_prior`. `regression` fits
some of them, `held_out_ranking` ranks other held-out concepts with a model, and
`missing_confidence` says why there is no confidence. Import from the modules; nothing is exported
here.
"""
