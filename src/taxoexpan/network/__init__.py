"""The network of the paper (Section 4.2): egonets, graph propagation, readout, matching and losses.

`MatchingNetwork` combines all parts. Not in the paper: the fusion head in `cosine_features`, and
the fine-tuned `text_tower`.
"""
