"""Ranking held-out concepts in the taxonomy that remains without them."""

from __future__ import annotations

import numpy as np

from taxoexpan.errors import ModelError
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import LabeledQueries
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.learned.confidence import Calibration, Reliability
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.embedder import Embedder
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.holdout import Holdout


def remaining_ranker(
    remaining: Taxonomy, network: MatchingNetwork, embedder: Embedder, calibrators: Calibrators
) -> Ranker:
    """Return a ranker of all concepts of a taxonomy that a model was not fitted on."""
    vectors = ConceptVectors.of(embedder.tensor(remaining.concepts))
    texts = AnchorTexts.of(remaining, embedder.tower) if calibrators.fusion else None
    anchors = Anchors(remaining, vectors, embedder.config.max_siblings, texts=texts)
    network, bonus = network.to(embedder.device), calibrators.leaf_bonus
    return Ranker(network, anchors, None, bonus, calibrators.fusion)


def held_out_queries(holdout: Holdout, embedder: Embedder) -> LabeledQueries:
    """Return the held-out concepts as queries to the remaining taxonomy."""
    if not holdout.concepts:
        raise ModelError("nothing is held out, so there is nothing to evaluate")
    return embedder.labeled_queries(holdout, embedder.lexicon(holdout.taxonomy))


def measure_reliability(
    ranker: Ranker, queries: LabeledQueries, calibration: Calibration
) -> Reliability:
    """Compare the confidence in first suggestions with the truth."""
    ranking = ranker.rank(queries, 1, calibration.temperature)
    pairs = zip(ranking.anchors[:, 0], queries.parents, strict=True)
    right = np.array([anchor in parents for anchor, parents in pairs])
    return Reliability.of(calibration.confidence(ranking.tempered)[:, 0], right)
