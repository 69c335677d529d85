"""What a new concept gains as the parent of another new one, learned without labels.

A new anchor is childless and unknown to the network, which has learned that such anchors are hardly
ever parents. In a batch that is not so, and names tell more there: *rye bread* goes below *bread*
rather than the other way. So a pair of new concepts gains a constant, something where the name of
the one ends in the other's, and something for each word that it is longer. All the new ones of a
batch share what one would gain, since only one of them is the parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.names import normalize_name

Floats = NDArray[np.float64]

FEATURES = 3
"""One; whether the query's name ends in the anchor's; how many words longer it is."""
DECAY = 1e-3
STEPS = 100
DOUBT = 1.0
"""How many concepts with a new parent, and how many without, a batch is thought to have besides."""


@dataclass(frozen=True)
class Look:
    """What a network makes of Q new concepts among all anchors, as log f.

    `anchors` [Q] are their best existing anchors, `best` [Q] these anchors' log f, and `total` [Q]
    the logarithm of the sum of f over all existing ones. `among` [Q, Q] is log f of each query
    (row) below each new anchor (column), minus infinity below itself.
    """

    anchors: NDArray[np.int64]
    best: Floats
    total: Floats
    among: Floats


@dataclass(frozen=True)
class Case:
    """A batch whose relations are known: `true` [Q, Q] has those between new concepts."""

    look: Look
    features: Floats
    true: NDArray[np.bool_]


@dataclass(frozen=True)
class NewParentPrior:
    """The weights of the features, and the share of concepts with new parents they stand for."""

    weights: Floats
    share: float

    @classmethod
    def learn(cls, cases: Sequence[Case]) -> NewParentPrior | None:
        """The weights by which the true relations are likeliest (a conditional logit).

        Each concept's parent is one of the new ones, or none of them. There is nothing to learn
        where it is always the one, or always the other.
        """
        has_new = np.concatenate([case.true.any(1) for case in cases] or [np.zeros(0, np.bool_)])
        if not has_new.any() or has_new.all():
            return None
        weights = np.zeros(FEATURES)
        for _ in range(STEPS):
            slope, curve = _slope_and_curve(cases, weights)
            slope, curve = slope / len(has_new), curve / len(has_new)
            step = np.linalg.solve(curve + DECAY * np.eye(FEATURES), slope - DECAY * weights)
            # The first steps may be too long; none of the weights has far to go.
            weights = weights + step.clip(-1, 1)
            if np.abs(step).max() < 1e-6:
                break
        return cls(weights, float(has_new.mean()))

    def applied(self, look: Look, features: Floats) -> Floats:
        """Log f among the new concepts with what they gain [Q, Q].

        The more of a batch look like the children of others of it, the more all gain: the share is
        the batch's own, as it is likeliest (by EM, with a little doubt).
        """
        scores = _gained(look, features, self.weights)
        odds = _log_sum(scores) - look.total - _logit(self.share)
        share = self.share
        for _ in range(STEPS):
            likely = 1 / (1 + np.exp(-(odds + _logit(share)).clip(-500, 500)))
            share = float((likely.sum() + DOUBT) / (len(likely) + 2 * DOUBT))
        gained: Floats = scores + (_logit(share) - _logit(self.share))
        return gained


def pair_features(concepts: Sequence[Concept]) -> Floats:
    """What names tell of each query (row) below each new anchor (column): [Q, Q, 3]."""
    names = [normalize_name(concept.label) for concept in concepts]
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    features = np.zeros((len(names), len(names), FEATURES))
    features[..., 0] = 1
    for query, name in enumerate(names):
        words = name.split()
        for start in range(1, len(words)):
            features[query, places.get(" ".join(words[start:]), []), 1] = 1
    lengths = np.array([len(name.split()) for name in names], dtype=np.float64)
    features[..., 2] = lengths[:, None] - lengths
    return features


def _gained(look: Look, features: Floats, weights: Floats) -> Floats:
    """Log f among the new concepts, with what the weights say."""
    gained: Floats = look.among + features @ weights - np.log(max(len(look.best) - 1, 1))
    return gained


def _slope_and_curve(cases: Sequence[Case], weights: Floats) -> tuple[Floats, Floats]:
    """How the log-likelihood of all parents rises with the weights [F], and bends [F, F]."""
    slope, curve = np.zeros(FEATURES), np.zeros((FEATURES, FEATURES))
    for case in cases:
        scores = _gained(case.look, case.features, weights)
        every = np.logaddexp(_log_sum(scores), case.look.total)
        likely = np.exp(scores - every[:, None])
        right = np.where(case.true, likely, 0)
        right /= np.maximum(right.sum(1, keepdims=True), 1e-300)
        expected = np.einsum("qa,qaf->qf", likely, case.features)
        slope += np.einsum("qa,qaf->f", right, case.features) - expected.sum(0)
        squares = np.einsum("qa,qaf,qag->fg", likely, case.features, case.features, optimize=True)
        curve += squares - expected.T @ expected
    return slope, curve


def _log_sum(scores: Floats) -> Floats:
    """The logarithm of the sum of exponentials of each row, which may all be minus infinity."""
    most = scores.max(1, initial=-1e30)
    summed: Floats = most + np.log(np.exp(scores - most[:, None]).sum(1).clip(1e-300))
    return summed


def _logit(share: float) -> float:
    return float(np.log(share) - np.log1p(-share))
