"""The rankings of queries by their candidates, with what an assessment needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from taxoexpan.network.queries import Queries
from taxoexpan.placement.candidates.candidate_ranker import CandidateRanker, FoundAnchors
from taxoexpan.placement.learned.abstention import assembled_features
from taxoexpan.placement.scoring.ranking import MIN_BEST, Ranking
from taxoexpan.taxonomy.arrays import Floats, Indices


@dataclass(frozen=True)
class RankedQueries:
    """The ranking of Q queries, and what an assessment needs, where it is known.

    Args:
        ranking: the ranking.
        features: the features of the abstention [Q, F].
        nearest: the nearest concepts of each query [Q, K].
    """

    ranking: Ranking
    features: Floats | None
    nearest: Indices | None


def rank_candidates(
    search: CandidateRanker,
    queries: Queries,
    top_k: int,
    temperature: float = 1.0,
    excluded: Sequence[Indices] | None = None,
) -> RankedQueries:
    """Rank the candidates of queries; `excluded` are anchors that cannot be a query's parent."""
    ranker = search.ranker
    top_k = min(top_k, max(search.size - max(map(len, excluded or ()), default=0), 1))
    is_plain = ranker.fusion is not None or not ranker.leaf_bonus
    rankings: list[Ranking] = []
    features: list[Floats] = []
    nearest: list[Indices] = []
    for rows, some, scored in search.blocks(queries):
        allowed = scored if excluded is None else scored.without(excluded[rows])
        found = allowed.best(ranker, max(top_k, MIN_BEST), (1.0, temperature))
        rankings.append(_ranking(found, top_k, temperature))
        concepts, cosines = search.nearest_concepts(some)
        nearest.append(concepts)
        if is_plain:
            best = found if excluded is None else scored.best(ranker, MIN_BEST, (1.0,))
            features.append(_features(search, some, best, torch.from_numpy(cosines)))
    if not is_plain:  # the features have no leaf bonus
        plain = rank_candidates(search.with_leaf_bonus(0.0), queries, 1)
        features = [] if plain.features is None else [plain.features]
    columns = ((each.anchors, each.scores, each.tempered) for each in rankings)
    ranking = Ranking(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))
    return RankedQueries(ranking, np.concatenate(features), np.concatenate(nearest))


def _ranking(found: FoundAnchors, top_k: int, temperature: float) -> Ranking:
    """Return the scores of the best anchors as probabilities."""
    best = found.log_f[:top_k]
    scores, tempered = (
        (best / t - total).exp().T.cpu().numpy()
        for t, total in zip((1.0, temperature), found.log_totals, strict=True)
    )
    return Ranking(found.anchors[:top_k].T.cpu().numpy(), scores, tempered)


def _features(
    search: CandidateRanker, queries: Queries, found: FoundAnchors, nearest: Tensor
) -> Floats:
    """Return the features of the abstention, given the cosines of the nearest concepts [Q, K]."""
    anchors = search.ranker.anchors
    head = (anchors.vectors.heads @ queries.vectors[1].T).amax(0)
    near = nearest.T.to(head)
    ranked = found.anchors[: len(near)]
    return assembled_features(
        anchors.taxonomy, found.log_f[0], found.log_totals[0], ranked, near, head
    )
