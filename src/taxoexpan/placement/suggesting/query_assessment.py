"""Assessing ranked queries with everything that a model has learned besides its ranking."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from torch import Tensor

from taxoexpan.errors import DamagedModelError
from taxoexpan.network.queries import Queries
from taxoexpan.placement.candidates.candidate_ranker import MAX_TOP_K, CandidateRanker
from taxoexpan.placement.candidates.ranked_candidates import RankedQueries, rank_candidates
from taxoexpan.placement.learned.abstention import NEAREST, abstention_features, features_of_block
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.learned.duplicates import DuplicateDetector
from taxoexpan.placement.scoring.ranking import RankedBlock, Ranker, Ranking
from taxoexpan.placement.scoring.score_summary import best_of
from taxoexpan.placement.suggesting.proposals import QueryAssessment, propose
from taxoexpan.placement.suggesting.rejections import NO_REJECTIONS, Rejections
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices


def suggest_parents(
    taxonomy: Taxonomy,
    names: Tensor,
    ranker: Ranker,
    calibrators: Calibrators,
    queries: Queries,
    top_k: int,
    min_ranked: int = 1,
    rejections: Rejections = NO_REJECTIONS,
    search: CandidateRanker | None = None,
) -> tuple[list[Suggestion], Ranking]:
    """Return the suggestions for queries, without rejected ones, and the ranking behind them.

    At least `min_ranked` anchors are ranked. The others are as in `rank_and_assess`.
    """
    ranked = max(top_k, min_ranked)
    ranking, assessment = rank_and_assess(
        taxonomy, names, ranker, calibrators, queries, ranked, rejections, search
    )
    proposed = propose(taxonomy, queries.concepts, ranking, assessment, top_k)
    if rejections:
        proposed = rejections.filtered(proposed)
    refuse_nonfinite_scores(proposed)
    return proposed, ranking


def refuse_nonfinite_scores(suggestions: Sequence[Suggestion]) -> None:
    """Refuse scores that are NaN or infinite: the weights of the model are damaged."""
    if not all(math.isfinite(suggestion.score) for suggestion in suggestions):
        message = "the model gives scores that are NaN or infinite, so its weights are damaged"
        raise DamagedModelError(f"{message}; train again, or restore the model")


def rank_and_assess(
    taxonomy: Taxonomy,
    names: Tensor,
    ranker: Ranker,
    calibrators: Calibrators,
    queries: Queries,
    top_k: int,
    rejections: Rejections = NO_REJECTIONS,
    search: CandidateRanker | None = None,
) -> tuple[Ranking, QueryAssessment]:
    """Rank the anchors of queries, and assess the result.

    `names` [N, D] are the vectors of all concepts of the taxonomy. All queries have a suitable
    parent if the opposite was not learned. Rejected parents are not ranked. With a `search`, only
    the candidates that it finds are ranked.
    """
    calibration, abstention = calibrators.calibration, calibrators.abstention
    temperature = calibration.temperature if calibration else 1.0
    excluded = rejections.anchors_of(taxonomy, queries.concepts) if rejections else None
    if search is not None and search.record.is_used and top_k <= MAX_TOP_K:
        ranked = rank_candidates(search, queries, top_k, temperature, excluded)
    else:
        ranked = _rank_all(ranker, calibrators, queries, top_k, temperature, excluded)
    has_parent = np.ones(len(queries), dtype=bool)
    if abstention is not None:
        known = ranked.features
        has_parent = abstention.has_parent(
            abstention_features(ranker, queries) if known is None else known
        )
    duplicates = None
    if calibrators.duplicates is not None:
        detector = DuplicateDetector(taxonomy, names.cpu().numpy(), calibrators.duplicates)
        own = queries.vectors[0].cpu().numpy()
        duplicates = detector.candidates(queries.concepts, own, ranked.nearest)
    confidence = calibration.confidence(ranked.ranking.tempered) if calibration else None
    return ranked.ranking, QueryAssessment(confidence, has_parent, duplicates)


def _rank_all(
    ranker: Ranker,
    calibrators: Calibrators,
    queries: Queries,
    top_k: int,
    temperature: float,
    excluded: list[Indices] | None,
) -> RankedQueries:
    """Rank all anchors of queries, and keep what an assessment needs."""
    abstention = calibrators.abstention
    features: list[Floats] = []
    nearest_rows: list[Indices] = []
    # The features have the scores of the ranking, but no leaf bonus and no rejected parents.
    is_plain = excluded is None and (ranker.fusion is not None or not ranker.leaf_bonus)

    def assess(block: RankedBlock) -> None:
        if block.cosines is not None:
            names = block.cosines.names
        else:
            names = ranker.anchors.vectors.names @ block.queries.vectors[0].T
        nearest, rows = best_of(names, min(NEAREST, len(names)))
        nearest_rows.append(rows.T.cpu().numpy())
        if abstention is not None and is_plain:
            features.append(features_of_block(ranker, block, nearest))

    is_assessed = abstention is not None or calibrators.duplicates is not None
    on_block = assess if is_assessed else None
    ranking = ranker.rank(queries, top_k, temperature, excluded, on_block)
    return RankedQueries(
        ranking,
        np.concatenate(features) if features else None,
        np.concatenate(nearest_rows) if nearest_rows else None,
    )
