"""Evaluation on two releases of a taxonomy: learn from the old one, place what the new one added.

`evaluation` trains and ranks, `comparison` puts the methods side by side, and `significance` has
the confidence intervals and the test of a difference.
"""
