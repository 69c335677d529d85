"""The scores of single pairs of a query and an anchor, as sums of parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from taxoexpan.explain.evidence import ScoreParts, SignalParts
from taxoexpan.explain.neighbourhood import QueryAnchorPairs
from taxoexpan.network.queries import Queries
from taxoexpan.placement.pair_features import combine_features
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.taxonomy.arrays import Floats


@dataclass(frozen=True)
class PairInputs:
    """The numbers that the scores of P pairs are computed from.

    Args:
        match: the raw scores of the network's match [P].
        mentions: the bonuses of mentions [P].
        cosines: the cosine features of the fusion head [8, P].
        is_leaf: whether the anchor has no children that are not deprecated [P].
        words: the features of the labels' words [6, P]; only for a learned fusion.
        tower: the tower's cosines with the anchor, its nearest and its mean child [3, P], if any.
    """

    match: Tensor
    mentions: Tensor
    cosines: Tensor
    is_leaf: Tensor
    words: Tensor | None
    tower: Tensor | None


@dataclass(frozen=True)
class PairScores:
    """The scores of P pairs: the fields of `kind` [K, P], which add up to them."""

    kind: type[ScoreParts] | type[SignalParts]
    columns: Floats

    @property
    def total(self) -> Floats:
        """The scores [P]."""
        total: Floats = self.columns.sum(axis=0)
        return total

    def parts(self) -> list[ScoreParts | SignalParts]:
        """Return the parts of each pair's score."""
        return [self.kind(*values) for values in self.columns.T.tolist()]


@torch.no_grad()
def score_pairs(ranker: Ranker, inputs: PairInputs) -> PairScores:
    """Score pairs exactly as the ranker does."""
    network, head = ranker.network, torch.zeros_like(inputs.match)
    if network.fusion is not None:
        head = network.fusion(inputs.cosines[..., None])[:, 0]
    if ranker.fusion is None or inputs.words is None:
        bonus = (ranker.leaf_bonus * inputs.is_leaf).to(head.dtype)
        columns = torch.stack([inputs.match, head, inputs.mentions, bonus])
        return PairScores(ScoreParts, columns.cpu().numpy())
    log_f = network.match.log_match(inputs.match + inputs.mentions + head)
    # To the fusion, an anchor is a leaf only if it has no children at all.
    leaf = (inputs.cosines[6].expm1() < 0.5).to(log_f.dtype)
    tower = None if inputs.tower is None else inputs.tower.unbind()
    features = combine_features(log_f, inputs.cosines, inputs.words, tower, leaf)
    by_signal = ranker.fusion.contributions(features.cpu().numpy())
    return PairScores(SignalParts, np.stack(list(by_signal.values())))


def word_features_of_pairs(anchors: Anchors, pairs: QueryAnchorPairs, queries: Queries) -> Tensor:
    """Return the features of the labels' words of each pair: [6, P]."""
    distinct, rows = np.unique(pairs.anchor, return_inverse=True)
    words = anchors.words.of_queries(queries.concepts)
    compared = anchors.words.select(distinct).compare(words, 0, len(distinct))
    return torch.from_numpy(compared[:, rows, pairs.query]).to(anchors.vectors.names)
