"""Scoring: every anchor for every query, or single pairs.

An `embedder` turns concepts into queries. `pair_features` defines the features of a pair and the
score, their weighted sum. `ranking` ranks the `anchors` by a `scorer`, which scores all of them;
its parts are `cosines` and `families`. `branches` sums probabilities over concepts and all below.
"""
