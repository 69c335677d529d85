"""Fitting: from a taxonomy to the parts of a model.

`fitting_session` calls `prepared_taxonomy` (hold out and embed), `network_training`, `fine_tuning`
and `calibrator_learning`. `refitting` continues a training on a `judged_taxonomy`, which has the
decisions of curators. `updating` encodes a newer taxonomy without training, and `taxonomy_growth`
says how much it has changed. Import from the modules; nothing is exported here.
"""
