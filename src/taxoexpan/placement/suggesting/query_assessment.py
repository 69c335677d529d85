"""Suggesting parents with all that a model has learned: ranking and assessing queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taxoexpan.errors import DamagedModelError
from taxoexpan.network.queries import Queries
from taxoexpan.placement.learned.abstention import NEAREST, abstention_features, features_of_block
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.learned.duplicates import DuplicateDetector
from taxoexpan.placement.scoring.ranking import RankedBlock, Ranker, Ranking
from taxoexpan.placement.scoring.score_summary import best_of
from taxoexpan.placement.suggesting.feedback import NO_REJECTIONS, Rejections
from taxoexpan.placement.suggesting.proposals import QueryAssessment, propose
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy.arrays import Floats, Indices


@dataclass(frozen=True)
class Placer:
    """Suggests parents of queries.

    Args:
        ranker: ranks all concepts of the taxonomy.
        calibrators: what was learned from held-out concepts.
        rejections: what must not be proposed again.
    """

    ranker: Ranker
    calibrators: Calibrators
    rejections: Rejections = NO_REJECTIONS

    def suggest(
        self, queries: Queries, top_k: int, min_ranked: int = 1
    ) -> tuple[list[Suggestion], Ranking]:
        """Return the suggestions for queries, without rejected ones, and the ranking behind them.

        At least `min_ranked` anchors are ranked.
        """
        ranking, assessment = self.rank(queries, max(top_k, min_ranked))
        taxonomy = self.ranker.anchors.taxonomy
        proposed = propose(taxonomy, queries.concepts, ranking, assessment, top_k)
        if self.rejections:
            proposed = self.rejections.filtered(proposed)
        refuse_nonfinite_scores(proposed)
        return proposed, ranking

    def rank(self, queries: Queries, top_k: int) -> tuple[Ranking, QueryAssessment]:
        """Rank the anchors of queries except rejected ones, and assess the result.

        All queries have a suitable parent if the opposite was not learned.
        """
        ranker, calibrators = self.ranker, self.calibrators
        calibration, abstention = calibrators.calibration, calibrators.abstention
        vectors, taxonomy = ranker.anchors.vectors, ranker.anchors.taxonomy
        temperature = calibration.temperature if calibration else 1.0
        excluded = None
        if self.rejections:
            excluded = self.rejections.anchors_of(taxonomy, queries.concepts)
        features: list[Floats] = []
        nearest_rows: list[Indices] = []
        # The features have the scores of the ranking, but no leaf bonus and no rejected parents.
        is_plain = excluded is None and (ranker.fusion is not None or not ranker.leaf_bonus)

        def assess(block: RankedBlock) -> None:
            cosines = block.cosines.names
            nearest, rows = best_of(cosines, min(NEAREST, len(cosines)))
            nearest_rows.append(rows.T.cpu().numpy())
            if abstention is not None and is_plain:
                features.append(features_of_block(ranker, block, nearest))

        is_assessed = abstention is not None or calibrators.duplicates is not None
        on_block = assess if is_assessed else None
        ranking = ranker.rank(queries, top_k, temperature, excluded, on_block)
        has_parent = np.ones(len(queries), dtype=bool)
        if abstention is not None:
            known = np.concatenate(features) if features else abstention_features(ranker, queries)
            has_parent = abstention.has_parent(known)
        duplicates = None
        if calibrators.duplicates is not None:
            detector = DuplicateDetector(
                taxonomy, vectors.names.cpu().numpy(), calibrators.duplicates
            )
            own = queries.vectors[0].cpu().numpy()
            duplicates = detector.candidates(queries.concepts, own, np.concatenate(nearest_rows))
        confidence = calibration.confidence(ranking.tempered) if calibration else None
        return ranking, QueryAssessment(confidence, has_parent, duplicates)


def refuse_nonfinite_scores(suggestions: Sequence[Suggestion]) -> None:
    """Refuse scores that are NaN or infinite: the weights of the model are damaged."""
    if not all(math.isfinite(suggestion.score) for suggestion in suggestions):
        message = "the model gives scores that are NaN or infinite, so its weights are damaged"
        raise DamagedModelError(f"{message}; train again, or restore the model")
