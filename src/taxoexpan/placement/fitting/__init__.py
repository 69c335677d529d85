"""Fitting: from a taxonomy to the parts of a model.

A `session` trains on a taxonomy from `preparation`, which also estimates the time, and ends
with `calibrator_learning`. A continued training learns from a `judged_taxonomy` with the decisions
of curators. `updating` encodes a newer taxonomy without training.
"""
