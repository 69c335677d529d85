"""Evaluation on two releases of a taxonomy: learn from the old one, place what the new one added.

`evaluation` trains and ranks, `comparison` puts the methods side by side, `significance` has the
confidence intervals and the test of a difference, `growth_confidence` measures the confidence of
models, and `name_overlap` has the results on new concepts that contain a known name.
"""
