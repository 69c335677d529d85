"""Fitting: from a taxonomy to the parts of a model.

A `session` trains on a taxonomy from `preparation` (hold out and embed), and ends with
`calibrator_learning`. A continued training learns from a `judged_taxonomy`, which has the decisions
of curators. `updating` encodes a newer taxonomy without training. Import from the modules; nothing
is exported here.
"""
