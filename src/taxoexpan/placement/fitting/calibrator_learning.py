"""Learning of all calibrators of a model from held-out concepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from taxoexpan.device import release_memory
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import LabeledQueries
from taxoexpan.network.text_tower import query_text
from taxoexpan.placement.fitting.preparation import AddedQueries, PreparedTaxonomy
from taxoexpan.placement.learned.abstention import learn_abstention
from taxoexpan.placement.learned.calibration import (
    HeldOutScores,
    calibrate,
    calibrate_branches,
    learn_leaf_bonus,
    score_held_out,
    score_held_out_by_fold,
)
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.learned.confidence import Calibration
from taxoexpan.placement.learned.duplicates import DuplicateDetector
from taxoexpan.placement.learned.fusion import (
    FusionExamples,
    collect_examples,
    fold_of,
    learn_fusion,
    prior_for,
)
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.embedder import Embedder
from taxoexpan.placement.scoring.pair_features import SignalFusion
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.metrics import Metrics, compute_metrics


def learn_calibrators(
    prepared: PreparedTaxonomy, network: MatchingNetwork, embedder: Embedder, seed: int
) -> tuple[Calibrators, Metrics | None]:
    """Return the calibrators and, with a fusion, the metrics of the held-out concepts."""
    duplicates = _learn_duplicates(prepared, embedder, seed)
    queries = prepared.data.validation
    if embedder.config.learn_fusion:
        fused, metrics = _learn_fused_calibrators(prepared, network, embedder, seed)
        return replace(fused, duplicates=duplicates), metrics
    if not len(queries):
        return replace(_without_held_out(prepared, None), duplicates=duplicates), None
    ranker = Ranker(network, prepared.data.anchors)
    # Leaves that were held out one by one hardly ever have a leaf anchor as their parent.
    bonus = learn_leaf_bonus(ranker, queries) if prepared.held_out_as_growth else 0.0
    ranker_with_bonus = ranker.with_leaf_bonus(bonus)
    calibration = calibrate(score_held_out(ranker_with_bonus, queries), seed)
    folds = np.zeros(len(queries), dtype=np.int64)
    calibration = _with_branches(calibration, ranker_with_bonus, queries, [None], folds)
    abstention = learn_abstention(ranker, queries)
    return Calibrators(calibration, abstention, duplicates, leaf_bonus=bonus), None


def _learn_duplicates(
    prepared: PreparedTaxonomy, embedder: Embedder, seed: int
) -> tuple[float, ...] | None:
    """Return the weights that detect duplicates, or None if there are too few synonyms."""
    names = prepared.vectors().names.cpu().numpy()

    def embed(concepts: Sequence[Concept]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = embedder.array(concepts)[0]
        return vectors

    detector = DuplicateDetector.learn(prepared.taxonomy, names, embed, seed)
    return None if detector is None else tuple(detector.weights.tolist())


def _learn_fused_calibrators(
    prepared: PreparedTaxonomy, network: MatchingNetwork, embedder: Embedder, seed: int
) -> tuple[Calibrators, Metrics | None]:
    """Learn the fusion, abstention, and confidence (by weights fitted to other concepts)."""
    remaining, data = prepared.holdout.taxonomy, prepared.data
    texts = AnchorTexts.of(remaining, embedder.tower).to(data.anchors.vectors.storage)
    anchors = Anchors(remaining, data.anchors.vectors, data.anchors.siblings, texts=texts)
    ranker, queries = Ranker(network, anchors), data.validation
    added = prepared.added
    if not len(queries):
        return _without_held_out(prepared, prior_for(ranker)), None
    if embedder.tower is not None:
        described = [query_text(concept) for concept in queries.concepts]
        encoded = embedder.tower.encode_queries(described).to(queries.vectors.device)
        queries = replace(queries, tower=encoded)
    examples = collect_examples(ranker, queries, seed)
    release_memory()
    fusion, *by_fold = _learn_weights(examples, added, prior_for(ranker), embedder.device, seed)
    folds = fold_of(len(queries) + (0 if added is None else len(added.queries)))
    held_out = score_held_out_by_fold(ranker, queries, by_fold, folds[: len(queries)])
    metrics = compute_metrics(held_out.ranks)
    if added is not None:
        theirs = folds[len(queries) :]
        scores = score_held_out_by_fold(added.ranker, added.queries, by_fold, theirs)
        held_out = HeldOutScores.concatenate([held_out, scores])
    release_memory()
    abstention = learn_abstention(ranker.with_fusion(fusion), queries)
    calibration = calibrate(held_out, seed)
    calibration = _with_branches(calibration, ranker, queries, by_fold, folds[: len(queries)])
    return Calibrators(calibration, abstention, fusion=fusion), metrics


def _with_branches(
    calibration: Calibration | None,
    ranker: Ranker,
    queries: LabeledQueries,
    fusions: Sequence[SignalFusion | None],
    folds: Indices,
) -> Calibration | None:
    """Return the calibration with that of the branches."""
    if calibration is None:
        return None
    heat = calibration.temperature
    return replace(calibration, branches=calibrate_branches(ranker, queries, fusions, folds, heat))


def _learn_weights(
    examples: FusionExamples,
    added: AddedQueries | None,
    prior: SignalFusion,
    device: torch.device,
    seed: int,
) -> list[SignalFusion]:
    """Learn the weights of the fusion from held-out and added concepts."""
    if added is None:
        return learn_fusion(examples, prior, device)
    theirs = collect_examples(added.ranker, added.queries, seed, added.rejected)
    return learn_fusion(FusionExamples.concatenate([examples, theirs]), prior, device)


def _without_held_out(prepared: PreparedTaxonomy, prior: SignalFusion | None) -> Calibrators:
    """Return the calibrators of the earlier model, or only the prior of the fusion."""
    if prepared.start is None:
        return Calibrators(fusion=prior)
    return replace(prepared.start.calibrators, joint_priors=None)
