"""Evaluation on two releases of a taxonomy: learn from the old one, place what the new one added.

`growth` trains and ranks, `comparison` puts the methods side by side, and `confidence` measures the
confidence of models. `methods` has the interface of all methods; `rules`, `networks` and
`dist_xgboost` (with `distance_features`) have the baselines.
"""
