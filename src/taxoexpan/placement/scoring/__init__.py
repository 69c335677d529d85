"""Scoring: every anchor for every query, or single pairs.

An `embedder` turns concepts into queries. `ranking` scores all anchors by `exact_scores`, whose
parts are `cosine_scores`, `families`, `grouped_maximum` and `score_summary`. `pair_rescoring`
scores single pairs from `pair_inputs`. `signal_fusion` is the weighted sum of the network's score
and the `pair_features`. Import from the modules; nothing is exported here.
"""
