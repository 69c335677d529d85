"""The steps around the training of a model: prepare the data, then calibrate the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from taxoexpan.errors import ModelError
from taxoexpan.features.embedding import names_of, refuse_unknown
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.abstention import learn_abstention
from taxoexpan.placement.calibration import calibrate, score_held_out
from taxoexpan.placement.calibrators import Calibrators
from taxoexpan.placement.duplicates import DuplicateDetector
from taxoexpan.placement.embedder import Embedder
from taxoexpan.placement.leaf_bonus import learn_leaf_bonus
from taxoexpan.placement.network_training import TrainingData
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.training.holdout import HOLDOUTS, Holdout


@dataclass(frozen=True)
class PreparedTaxonomy:
    """A taxonomy with its vectors [2, N, D], and the part of it that the network learns from.

    With `held_out_as_growth`, the validation queries were held out in the way in which taxonomies
    grow, so that a leaf bonus can be learned from them.
    """

    taxonomy: Taxonomy
    vectors: Tensor
    holdout: Holdout
    data: TrainingData
    held_out_as_growth: bool


def prepare_taxonomy(
    taxonomy: Taxonomy,
    embedder: Embedder,
    seed: int,
    holdout: Holdout | None = None,
    expected: Sequence[Concept] = (),
) -> PreparedTaxonomy:
    """Hold out some leaves (or use `holdout`), and embed all concepts.

    The encoder also learns the names of the `expected` concepts, if it learns any.
    """
    c, encoder, active = embedder.config, embedder.encoder, taxonomy.active
    as_growth = holdout is None and c.validation == "growth"
    if holdout is None:
        hold_out = HOLDOUTS[c.validation]
        holdout = hold_out(active, c.validation_fraction, c.max_validation_leaves, seed)
    encoder.learn(names_of([*taxonomy.concepts, *holdout.concepts, *expected]))
    vectors = embedder.tensor(taxonomy.concepts)
    refuse_unknown(vectors.cpu().numpy(), c.features)
    rows = torch.tensor([taxonomy.index(id) for id in holdout.taxonomy], device=vectors.device)
    known = ConceptVectors.of(vectors.index_select(1, rows))
    lexicon, mentions = embedder.lexicon(holdout.taxonomy), None
    if lexicon is not None:
        mentions = lexicon.mentions(holdout.taxonomy.concepts, exclude_self=True)
    anchors = Anchors(holdout.taxonomy, known, c.max_siblings)
    data = TrainingData(anchors, embedder.labeled_queries(holdout, lexicon), mentions)
    return PreparedTaxonomy(taxonomy, vectors, holdout, data, as_growth)


def learn_calibrators(
    prepared: PreparedTaxonomy, network: MatchingNetwork, embedder: Embedder, seed: int
) -> Calibrators:
    """Learn the confidence, the abstention and the detection of duplicates."""
    taxonomy, vectors = prepared.taxonomy, prepared.vectors.cpu().numpy()
    detector = DuplicateDetector.learn(taxonomy, vectors, embedder.array, seed)
    duplicates = None if detector is None else tuple(detector.weights.tolist())
    queries = prepared.data.validation
    if not len(queries):
        return Calibrators(duplicates=duplicates)
    ranker = Ranker(network, prepared.data.anchors)
    # Leaves that were held out one by one hardly ever have a leaf anchor as their parent.
    bonus = learn_leaf_bonus(ranker, queries) if prepared.held_out_as_growth else 0.0
    calibration = calibrate(score_held_out(ranker.with_leaf_bonus(bonus), queries), seed)
    return Calibrators(calibration, learn_abstention(ranker, queries), duplicates)


def refuse_too_small(taxonomy: Taxonomy) -> None:
    """Refuse a taxonomy that is too small to learn from."""
    if len(taxonomy.relations) < 2 or len(taxonomy) < 3:
        raise ModelError(
            f"too little to learn from: {len(taxonomy)} concept(s) and {len(taxonomy.relations)} "
            "relation(s); a model needs at least 3 concepts and 2 relations, and some hundreds of "
            "them for good results"
        )
