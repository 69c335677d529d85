"""Evaluation on two releases of a taxonomy: learn from the old one, place the added concepts."""
