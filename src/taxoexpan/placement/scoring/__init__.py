"""Scoring: every anchor for every query, or single pairs.

`pair_features` defines the features of a pair and the score, their weighted sum. `ranking` ranks
the `anchors` by a `scorer`, which scores all of them, with `word_scores` for the words that labels
share; `best_scores` finds the best ones. An embedder in `anchors` makes the queries.
"""
