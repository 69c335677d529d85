"""The new-parent prior: the gain of a new concept as the parent of another new one.

The network underrates new anchors, which have no children. So a pair of new concepts gains a
constant, a weight if the child's label ends in the parent's (*rye bread*, *bread*), and a weight
for each further word of the child's label. The gain is divided among all new concepts of a batch,
since only one of them is the parent. All weights are learned without labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from taxoexpan.placement.learned.confidence import sigmoid
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.arrays import Floats
from taxoexpan.taxonomy.names import normalize_name

PRIOR_FEATURES = 3
"""A constant; whether the query's label ends in the anchor's; how many words longer it is."""
DECAY = 1e-3
MAX_STEPS = 100
PSEUDO_COUNT = 1.0
"""Imaginary concepts with a new parent, and without one, that smooth the rate of a batch."""


@dataclass(frozen=True)
class BatchScores:
    """The scores of Q new concepts among all anchors, as log f.

    `best` [Q] belong to the best existing anchors, and `total` [Q] to all existing ones. `among`
    [Q, Q] has each query (row) below each new anchor (column), minus infinity below itself.
    """

    anchors: NDArray[np.int64]
    best: Floats
    total: Floats
    among: Floats


@dataclass(frozen=True)
class LabeledBatch:
    """A batch with known relations: `true` [Q, Q] marks relations between new concepts."""

    scores: BatchScores
    features: Floats
    true: NDArray[np.bool_]


@dataclass(frozen=True)
class NewParentPrior:
    """The weights of the features, and the rate of new parents in their training data."""

    weights: tuple[float, float, float]
    rate: Annotated[float, Field(gt=0, lt=1)]

    @classmethod
    def learn(cls, batches: Sequence[LabeledBatch]) -> NewParentPrior | None:
        """Fit the weights by conditional logit; None if all concepts or none have new parents."""
        has_new = np.concatenate([b.true.any(1) for b in batches] or [np.zeros(0, np.bool_)])
        if not has_new.any() or has_new.all():
            return None
        weights = np.zeros(PRIOR_FEATURES)
        for _ in range(MAX_STEPS):
            gradient, hessian = _gradient_and_hessian(batches, weights)
            gradient = gradient / len(has_new)
            hessian = hessian / len(has_new)
            step = np.linalg.solve(
                hessian + DECAY * np.eye(PRIOR_FEATURES), gradient - DECAY * weights
            )
            # The first Newton steps may be too long; the weights are small.
            weights = weights + step.clip(-1, 1)
            if np.abs(step).max() < 1e-6:
                break
        constant, ending, length = weights.tolist()
        return cls((constant, ending, length), float(has_new.mean()))

    def adjust(self, scores: BatchScores, features: Floats) -> Floats:
        """Return log f [Q, Q] with the gain at the batch's own rate of new parents (by EM)."""
        gained = _with_gain(scores, features, np.array(self.weights))
        log_odds = np.logaddexp.reduce(gained, 1) - scores.total - _logit(self.rate)
        rate = self.rate
        for _ in range(MAX_STEPS):
            has_new = sigmoid(log_odds + _logit(rate))
            rate = float((has_new.sum() + PSEUDO_COUNT) / (len(has_new) + 2 * PSEUDO_COUNT))
        adjusted: Floats = gained + (_logit(rate) - _logit(self.rate))
        return adjusted


def label_features(concepts: Sequence[Concept]) -> Floats:
    """Compare the labels of each query (row) and each new anchor (column): [Q, Q, 3]."""
    labels = [normalize_name(concept.label) for concept in concepts]
    indices: dict[str, list[int]] = {}
    for index, label in enumerate(labels):
        indices.setdefault(label, []).append(index)
    features = np.zeros((len(labels), len(labels), PRIOR_FEATURES))
    features[..., 0] = 1
    for query, label in enumerate(labels):
        words = label.split()
        for start in range(1, len(words)):
            features[query, indices.get(" ".join(words[start:]), []), 1] = 1
    lengths = np.array([len(label.split()) for label in labels], dtype=np.float64)
    features[..., 2] = lengths[:, None] - lengths
    return features


def _with_gain(scores: BatchScores, features: Floats, weights: Floats) -> Floats:
    """Return log f among the new concepts with the gain from the weights."""
    gained: Floats = scores.among + features @ weights - np.log(max(len(scores.best) - 1, 1))
    return gained


def _gradient_and_hessian(
    batches: Sequence[LabeledBatch], weights: Floats
) -> tuple[Floats, Floats]:
    """Return the gradient [F] of the log-likelihood of all parents, and its negative Hessian."""
    gradient = np.zeros(PRIOR_FEATURES)
    hessian = np.zeros((PRIOR_FEATURES, PRIOR_FEATURES))
    for batch in batches:
        scores = _with_gain(batch.scores, batch.features, weights)
        features = batch.features
        total = np.logaddexp(np.logaddexp.reduce(scores, 1), batch.scores.total)
        probability = np.exp(scores - total[:, None])
        right = np.where(batch.true, probability, 0)
        right /= np.maximum(right.sum(1, keepdims=True), 1e-300)
        expected = np.einsum("qa,qaf->qf", probability, features)
        gradient += np.einsum("qa,qaf->f", right, features) - expected.sum(0)
        squares = np.einsum("qa,qaf,qag->fg", probability, features, features, optimize=True)
        hessian += squares - expected.T @ expected
    return gradient, hessian


def _logit(rate: float) -> float:
    return float(np.log(rate) - np.log1p(-rate))
