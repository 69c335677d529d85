"""Learning of all calibrators of a model from held-out concepts.

The weights of the fusion are learned for each taxonomy, near a prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.device import release_memory
from taxoexpan.network.concept_vectors import LabeledQueries
from taxoexpan.network.matching_network import MatchingNetwork, NoNetwork
from taxoexpan.network.text_tower import query_text
from taxoexpan.placement.fitting.preparation import PreparedTaxonomy
from taxoexpan.placement.learned.abstention import learn_abstention
from taxoexpan.placement.learned.calibration import (
    HeldOutScores,
    calibrate,
    prior_calibration,
    score_held_out,
    score_held_out_by_fold,
    with_branches,
)
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.learned.duplicates import DuplicateDetector
from taxoexpan.placement.learned.priors import FusionPrior, Prior, read_prior
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts, Embedder
from taxoexpan.placement.scoring.best_scores import best_of
from taxoexpan.placement.scoring.pair_features import PAIR_FEATURES, SignalFusion
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.thresholds import MIN_CONCEPTS_FOR_CONFIDENCE
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.run import without_compiler

CANDIDATES = 50
"""The best anchors by each of `LEADERS`, which become candidates."""
RANDOM_CANDIDATES = 60
"""Further anchors, drawn at random, which stand for all others."""
LEADERS = [list(PAIR_FEATURES).index(name) for name in ("network", "tower_anchor", "name")]
MAX_FITTED_PAIRS = 1_500_000
"""Pairs whose features are held in memory at a time."""
MIN_QUERIES = 8
"""Queries that are collected together even if they have more pairs: the features of fewer queries
take almost as long. With a million anchors they need 700 MB."""
FOLDS = 5
NONE = np.zeros(0, dtype=np.int64)
USUAL_STRENGTH = 10.0
"""How many held-out concepts the prior counts as, roughly, for features without a deviation."""
MAX_STEPS = 60
"""Steps of the optimizer, at most; it usually stops earlier."""


@dataclass(frozen=True)
class FusionExamples:
    """Candidates of Q held-out queries, C of each, with their features [Q, C, F].

    `log_counts` [Q, C] are the logarithms of the number of anchors that a candidate represents: 0,
    more for a randomly drawn one, and minus infinity for padding.
    """

    features: NDArray[np.float32]
    is_parent: NDArray[np.bool_]
    log_counts: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, rows: NDArray[np.bool_]) -> FusionExamples:
        """Return the selected queries."""
        return FusionExamples(self.features[rows], self.is_parent[rows], self.log_counts[rows])

    @classmethod
    def concatenate(cls, parts: Sequence[FusionExamples]) -> FusionExamples:
        """Join the examples of several blocks of queries, padded to the same length."""
        width = max(part.features.shape[1] for part in parts)

        def padded(array: NDArray[Any], value: float) -> NDArray[Any]:
            missing = [(0, 0), (0, width - array.shape[1]), *[(0, 0)] * (array.ndim - 2)]
            return np.pad(array, missing, constant_values=value)

        return cls(
            np.concatenate([padded(part.features, 0) for part in parts]),
            np.concatenate([padded(part.is_parent, False) for part in parts]),
            np.concatenate([padded(part.log_counts, -np.inf) for part in parts]),
        )


def collect_examples(
    ranker: Ranker, queries: LabeledQueries, seed: int, rejected: Sequence[Indices] | None = None
) -> FusionExamples:
    """Return the best candidates by each signal, with true, rejected and random ones."""
    rng = np.random.default_rng(seed)
    parts = []
    size = max(MIN_QUERIES, MAX_FITTED_PAIRS // len(ranker.keys))
    for start in range(0, len(queries), size):
        some = queries[start : start + size]
        wrong = rejected[start : start + size] if rejected else [NONE] * len(some)
        parts.append(examples_of(ranker.features(some), some.parents, wrong, rng))
    return FusionExamples.concatenate(parts)


def examples_of(
    features: Tensor,
    parents: Sequence[Indices],
    rejected: Sequence[Indices],
    rng: np.random.Generator,
) -> FusionExamples:
    """Return the examples of a few queries, given the features of all pairs [F, N, B]."""
    anchors = features.shape[1]
    best = [best_of(features[leader], min(CANDIDATES, anchors))[1] for leader in LEADERS]
    best_rows = torch.cat(best).T.cpu().numpy()
    rows: list[Indices] = []
    counts: list[Indices] = []
    for column, own in enumerate(parents):
        chosen = np.unique(np.concatenate([own, best_rows[column], rejected[column]]))
        is_other = np.ones(anchors, dtype=bool)
        is_other[chosen] = False
        remaining = np.flatnonzero(is_other)
        others = rng.choice(remaining, min(RANDOM_CANDIDATES, len(remaining)), replace=False)
        stands_for = len(remaining) / max(len(others), 1)
        rows.append(np.concatenate([chosen, others]))
        counts.append(np.repeat([1.0, stands_for], [len(chosen), len(others)]))
    width = max(map(len, rows))
    index = np.stack([np.pad(row, (0, width - len(row))) for row in rows])
    log_counts = np.stack(
        [np.pad(np.log(each), (0, width - len(each)), constant_values=-np.inf) for each in counts]
    )
    picked = features.gather(
        1, torch.from_numpy(index.T.copy()).to(features.device).expand(len(features), -1, -1)
    )
    is_parent = np.stack([np.isin(row, own) for row, own in zip(index, parents, strict=True)])
    return FusionExamples(
        picked.permute(2, 1, 0).cpu().numpy(),
        is_parent & np.isfinite(log_counts),
        log_counts.astype(np.float32),
    )


def prior_for(ranker: Ranker) -> Prior:
    """Return the prior for a ranker with or without a tower and a network."""
    has_network = not isinstance(ranker.network, NoNetwork)
    return read_prior(has_network, ranker.anchors.tower is not None)


def learn_fusion(
    examples: FusionExamples, prior: FusionPrior, device: torch.device | str = "cpu"
) -> list[SignalFusion]:
    """Return the weights learned from all examples, then those without each fold (`fold_of`)."""
    whole = fit_fusion(examples, prior, device)
    folds = fold_of(len(examples))
    parts = (examples[folds != fold] for fold in range(FOLDS))
    return [whole, *(fit_fusion(part, prior, device) for part in parts)]


def fold_of(count: int) -> Indices:
    """Return the deterministic fold of each held-out query: [Q]."""
    return np.random.default_rng(0).permutation(count) % FOLDS


def fit_fusion(
    examples: FusionExamples, prior: FusionPrior, device: torch.device | str = "cpu"
) -> SignalFusion:
    """Return the most likely weights, given the prior and the true parents."""
    if not len(examples):
        return prior.mean
    features = torch.from_numpy(examples.features).to(device)
    valid = torch.from_numpy(np.isfinite(examples.log_counts)).to(device)
    mean = features[valid].mean(0)
    scale = features[valid].std(0).clamp(min=1e-3)
    center = features.new_tensor(prior.mean.weights)
    deviations = features.new_tensor(prior.deviations) * scale
    strength = (0.5 / deviations.square() / len(examples)).nan_to_num(
        nan=USUAL_STRENGTH / len(examples)
    )
    unit = (1 + strength).rsqrt()
    units = torch.zeros_like(center, requires_grad=True)
    optimizer = without_compiler(torch.optim.LBFGS)(
        [units], max_iter=MAX_STEPS, line_search_fn="strong_wolfe", tolerance_change=1e-6
    )
    is_parent = torch.from_numpy(examples.is_parent).to(device)
    log_counts = torch.from_numpy(examples.log_counts).to(device)
    # What all candidates have in common makes no difference, so the mean is removed. The optimizer
    # needs fewer steps if a strong prior of a weight makes its steps smaller.
    standardized = (features - mean) * (unit / scale)
    offset = features @ center + log_counts

    def closure() -> Tensor:
        optimizer.zero_grad()
        losses = _losses(standardized @ units + offset, is_parent)
        loss = losses.sum() / len(examples)
        loss = loss + (strength * (unit * units).square()).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    change = units.detach() * unit / scale
    return SignalFusion(tuple((center + change).tolist()))


def _losses(scores: Tensor, is_parent: Tensor) -> Tensor:
    """Return the mean negative log-likelihood of each query's true parents: [Q, C] → [Q]."""
    others = scores.masked_fill(is_parent, -torch.inf).logsumexp(1, keepdim=True)
    log_likelihood = scores - torch.logaddexp(scores, others)
    parents = is_parent.sum(1).clamp(min=1)
    return -(log_likelihood.masked_fill(~is_parent, 0).sum(1) / parents)


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
        return replace(_without_held_out(prepared, Calibrators()), duplicates=duplicates), None
    ranker = Ranker(network, prepared.data.anchors)
    calibration = calibrate(score_held_out(ranker, queries), seed)
    folds = np.zeros(len(queries), dtype=np.int64)
    calibration = with_branches(calibration, ranker, queries, [None], folds)
    return Calibrators(calibration, learn_abstention(ranker, queries), duplicates), None


def _learn_duplicates(
    prepared: PreparedTaxonomy, embedder: Embedder, seed: int
) -> tuple[float, ...] | None:
    """Return the weights that detect duplicates, or None if there are too few synonyms."""
    names = prepared.vectors().names.cpu().numpy()
    detector = DuplicateDetector.learn(
        prepared.taxonomy, names, lambda concepts: embedder.array(concepts)[0], seed
    )
    return None if detector is None else tuple(detector.weights.tolist())


def _learn_fused_calibrators(
    prepared: PreparedTaxonomy, network: MatchingNetwork, embedder: Embedder, seed: int
) -> tuple[Calibrators, Metrics | None]:
    """Learn the fusion, abstention, and confidence (by weights fitted to other concepts)."""
    remaining = prepared.holdout.taxonomy
    data = prepared.data
    texts = AnchorTexts.of(remaining, embedder.tower).to(data.anchors.vectors.storage)
    anchors = Anchors(remaining, data.anchors.vectors, data.anchors.siblings, texts=texts)
    ranker = Ranker(network, anchors)
    queries = data.validation
    added = prepared.added
    prior = prior_for(ranker)
    of_confidence = prior.calibration
    is_small = len(prepared.taxonomy.active) < MIN_CONCEPTS_FOR_CONFIDENCE
    if not len(queries):
        calibration = None if is_small else prior_calibration(of_confidence)
        calibrators = Calibrators(calibration, fusion=prior.fusion.mean)
        return _without_held_out(prepared, calibrators), None
    if embedder.tower is not None:
        described = [query_text(concept) for concept in queries.concepts]
        encoded = embedder.tower.encode_queries(described).to(queries.vectors.device)
        queries = replace(queries, tower=encoded)
    examples = collect_examples(ranker, queries, seed)
    if added is not None:
        theirs = collect_examples(added.ranker, added.queries, seed, added.rejected)
        examples = FusionExamples.concatenate([examples, theirs])
    release_memory()
    fusion, *by_fold = learn_fusion(examples, prior.fusion, embedder.device)
    folds = fold_of(len(queries) + (0 if added is None else len(added.queries)))
    held_out = score_held_out_by_fold(ranker, queries, by_fold, folds[: len(queries)])
    metrics = compute_metrics(held_out.ranks)
    if added is not None:
        own_folds = folds[len(queries) :]
        scores = score_held_out_by_fold(added.ranker, added.queries, by_fold, own_folds)
        held_out = HeldOutScores.concatenate([held_out, scores])
    release_memory()
    abstention = learn_abstention(ranker.with_fusion(fusion), queries)
    calibration = None
    if not is_small:
        calibration = calibrate(held_out, seed, of_confidence)
        own_folds = folds[: len(queries)]
        branches = of_confidence.branches
        calibration = with_branches(calibration, ranker, queries, by_fold, own_folds, branches)
    return Calibrators(calibration, abstention, fusion=fusion), metrics


def _without_held_out(prepared: PreparedTaxonomy, prior: Calibrators) -> Calibrators:
    """Return the calibrators of the earlier model, or those without any held-out concept."""
    if prepared.start is None:
        return prior
    return replace(prepared.start.calibrators, joint_priors=None)
