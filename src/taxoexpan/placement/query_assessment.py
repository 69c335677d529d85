"""Assessing ranked queries with everything that a model has learned besides its ranking."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from taxoexpan.network.queries import Queries
from taxoexpan.placement.abstention import NEAREST, abstention_features, features_of_block
from taxoexpan.placement.calibrators import Calibrators
from taxoexpan.placement.duplicates import DuplicateDetector
from taxoexpan.placement.proposals import QueryAssessment
from taxoexpan.placement.ranking import RankedBlock, Ranker, Ranking
from taxoexpan.placement.rejections import NO_REJECTIONS, Rejections
from taxoexpan.placement.score_summary import best_of
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices


def rank_and_assess(
    taxonomy: Taxonomy,
    vectors: Tensor,
    ranker: Ranker,
    calibrators: Calibrators,
    queries: Queries,
    top_k: int,
    rejections: Rejections = NO_REJECTIONS,
) -> tuple[Ranking, QueryAssessment]:
    """Rank the anchors of queries, and assess the result.

    `vectors` [2, N, D] are those of all concepts of the taxonomy. All queries have a suitable
    parent if the opposite was not learned. Rejected parents are not ranked.
    """
    calibration, abstention = calibrators.calibration, calibrators.abstention
    temperature = calibration.temperature if calibration else 1.0
    excluded = rejections.anchors_of(taxonomy, queries.concepts) if rejections else None
    features: list[Floats] = []
    nearest_rows: list[Indices] = []
    # The features have the scores of the ranking, but no leaf bonus and no rejected parents.
    is_plain = excluded is None and (ranker.fusion is not None or not ranker.leaf_bonus)

    def assess(block: RankedBlock) -> None:
        cosines = block.names
        if cosines is None:
            cosines = ranker.anchors.vectors.names @ block.queries.vectors[0].T
        nearest, rows = best_of(cosines, min(NEAREST, len(cosines)))
        nearest_rows.append(rows.T.cpu().numpy())
        if abstention is not None and is_plain:
            features.append(features_of_block(ranker, block, nearest))

    is_assessed = abstention is not None or calibrators.duplicates is not None
    on_block = assess if is_assessed else None
    ranking = ranker.rank(queries, top_k, temperature, excluded, on_block)
    has_parent = np.ones(len(queries), dtype=bool)
    if abstention is not None:
        known = np.concatenate(features) if is_plain else abstention_features(ranker, queries)
        has_parent = abstention.has_parent(known)
    duplicates = None
    if calibrators.duplicates is not None:
        detector = DuplicateDetector(taxonomy, vectors.cpu().numpy(), calibrators.duplicates)
        own, nearest = queries.vectors.cpu().numpy(), np.concatenate(nearest_rows)
        duplicates = detector.candidates(queries.concepts, own, nearest)
    confidence = calibration.confidence(ranking.tempered) if calibration else None
    return ranking, QueryAssessment(confidence, has_parent, duplicates)
