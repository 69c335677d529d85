"""The exact scores of single pairs, equal to those of the ranking of all anchors."""

from __future__ import annotations

import torch
from torch import Tensor

from taxoexpan.errors import ModelError
from taxoexpan.network.cosine_features import LOG_COUNT
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import Queries
from taxoexpan.placement.scoring.pair_features import combine_features
from taxoexpan.placement.scoring.pair_inputs import PairInputs, QueryAnchorPairs, pair_inputs
from taxoexpan.placement.scoring.ranking import Ranker


def score_pairs(ranker: Ranker, queries: Queries, pairs: QueryAnchorPairs) -> Tensor:
    """Score pairs exactly as `Ranker.scores` does, except that deprecated anchors count: [P]."""
    inputs = pair_inputs(ranker, queries, pairs)
    if ranker.fusion is None:
        total = inputs.match + inputs.mentions + head_scores(ranker.network, inputs)
        return total + ranker.leaf_bonus * inputs.is_leaf
    return ranker.fusion.score(fusion_features(ranker, inputs)[..., None])[:, 0]


@torch.no_grad()
def head_scores(network: MatchingNetwork, inputs: PairInputs) -> Tensor:
    """Return the scores of the network's fusion head, or 0 without one [P]."""
    if network.fusion is None:
        return torch.zeros_like(inputs.match)
    scores: Tensor = network.fusion(inputs.cosines[..., None])
    return scores[:, 0]


@torch.no_grad()
def fusion_features(ranker: Ranker, inputs: PairInputs) -> Tensor:
    """Return the features that the learned fusion weighs: [F, P]."""
    if inputs.words is None:
        raise ModelError("the learned fusion needs the words of the pairs")
    head = head_scores(ranker.network, inputs)
    log_f = ranker.network.match.log_match(inputs.match + inputs.mentions + head)
    # To the fusion, an anchor is a leaf only if it has no children at all.
    leaf = (inputs.cosines[LOG_COUNT].expm1() < 0.5).to(log_f.dtype)
    tower = None if inputs.tower is None else inputs.tower.unbind()
    return combine_features(log_f, inputs.cosines, inputs.words, tower, leaf)
