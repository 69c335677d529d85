"""Confidence: the calibrated probability that a suggested parent is correct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.arrays import Floats
from taxoexpan.thresholds import MIN_FOR_CONFIDENCE, MIN_FOR_THRESHOLD

DECAY = 1e-5
MAX_STEPS = 50
BIN_COUNT = 10
CERTAIN = 1 - 1e-6
"""The probability above which a branch is certain: it has all concepts but for rounding."""
ALMOST_CERTAIN = 0.999
"""The highest confidence of other branches, also if all held-out ones were right."""


def sigmoid(log_odds: Floats) -> Floats:
    """Convert log-odds to probabilities."""
    return 1 / (1 + np.exp(-np.clip(log_odds, -500, 500)))


def logit(probabilities: Floats) -> Floats:
    """Convert probabilities to log-odds, which are finite for 0 and 1 too."""
    # In single precision, 1 - 1e-9 would be 1.
    clipped = np.clip(probabilities.astype(np.float64), 1e-9, 1 - 1e-9)
    return np.log(clipped) - np.log1p(-clipped)


def logistic(table: Floats, truth: Floats) -> Floats:
    """Fit the weights of a logistic regression by Newton's method: [P, F], [P] → [F]."""
    weights = np.zeros(table.shape[1])
    for _ in range(MAX_STEPS):
        predicted = sigmoid(table @ weights)
        gradient = table.T @ (truth - predicted) / len(table) - DECAY * weights
        hessian = (table.T * (predicted * (1 - predicted))) @ table / len(table)
        step = np.linalg.solve(hessian + DECAY * np.eye(len(weights)), gradient)
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def logistic_near(table: Floats, truth: Floats, mean: Floats, precision: Floats) -> Floats:
    """Fit the weights of a logistic regression that are normally distributed: [P, F], [P] → [F]."""
    signs = np.where(truth > 0.5, 1.0, -1.0)

    def loss(weights: Floats) -> float:
        change = weights - mean
        misfit = np.logaddexp(0, -signs * (table @ weights)).sum()
        return float(misfit + change @ precision @ change / 2)

    weights = mean
    for _ in range(MAX_STEPS):
        predicted = sigmoid(table @ weights)
        gradient = table.T @ (truth - predicted) - precision @ (weights - mean)
        hessian = (table.T * (predicted * (1 - predicted))) @ table + precision
        step = np.linalg.solve(hessian, gradient)
        while loss(weights + step) > loss(weights) and np.abs(step).max() >= 1e-8:
            step = step / 2
        if np.abs(step).max() < 1e-8:
            break
        weights = weights + step
    return weights


def isotonic(values: Floats, truth: Floats) -> tuple[Floats, Floats]:
    """Fit an isotonic regression; return both ends of each block and its height at both."""
    from scipy.optimize import isotonic_regression

    order = np.argsort(values, kind="stable")
    fitted = isotonic_regression(truth[order])
    positions = np.stack([fitted.blocks[:-1], fitted.blocks[1:] - 1], axis=1).ravel()
    return values[order][positions], fitted.x[positions]


@dataclass(frozen=True)
class Curve:
    """A map from log-odds to probabilities: its kind, and its points or weights."""

    kind: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]

    def __call__(self, log_odds: Floats) -> Floats:
        """Return the probability of each value."""
        if self.kind == "isotonic":
            return np.interp(log_odds, self.xs, self.ys)
        slope, shift = self.ys
        return sigmoid(slope * log_odds + shift)


@dataclass(frozen=True)
class Bin:
    """Queries of similar confidence: their number, mean confidence, and fraction correct."""

    count: int
    confidence: float
    right: float


def calibration_error(bins: Sequence[Bin]) -> float:
    """Return the expected calibration error: the mean of |confidence - correct| over bins."""
    count = max(sum(b.count for b in bins), 1)
    return sum(b.count * abs(b.confidence - b.right) for b in bins) / count


class CoveragePoint(NamedTuple):
    """The fraction of queries at or above a confidence, and the correct fraction of these."""

    confidence: float
    coverage: float
    precision: float


@dataclass(frozen=True)
class Reliability:
    """The cross-validated confidence in first suggestions, highest first, and the truth.

    Examples:
        >>> from taxoexpan import Reliability
        >>> reliability = Reliability(confidence=(0.9, 0.8, 0.3), right=(True, True, False))
        >>> f"{reliability.error:.2f}"
        '0.20'
    """

    confidence: tuple[float, ...]
    right: tuple[bool, ...]

    @classmethod
    def of(cls, confidence: Floats, right: NDArray[np.bool_]) -> Reliability:
        """Create from queries, sorted by their confidence."""
        order = np.argsort(-confidence, kind="stable")
        return cls(tuple(confidence[order].tolist()), tuple(right[order].tolist()))

    @property
    def is_measured(self) -> bool:
        """Whether there are enough held-out concepts to say how reliable the confidence is."""
        return len(self.right) >= MIN_FOR_CONFIDENCE

    @property
    def bins(self) -> list[Bin]:
        """Ten equal ranges of confidence, without the empty ranges."""
        confidence = np.array(self.confidence)
        right = np.array(self.right, dtype=float)
        numbers = np.minimum((confidence * BIN_COUNT).astype(int), BIN_COUNT - 1)
        return [
            Bin(int(inside.sum()), float(confidence[inside].mean()), float(right[inside].mean()))
            for inside in (numbers == number for number in range(BIN_COUNT))
            if inside.any()
        ]

    @property
    def error(self) -> float:
        """The expected calibration error."""
        return calibration_error(self.bins)

    def coverage(self) -> list[CoveragePoint]:
        """Return coverage and precision at each distinct confidence, highest first."""
        confidence = np.array(self.confidence)
        right = np.array(self.right, dtype=float)
        counts = np.arange(1, len(confidence) + 1)
        last = np.flatnonzero(np.diff(confidence, append=-1.0))
        covered = counts / max(len(confidence), 1)
        precision = np.cumsum(right) / counts
        points = np.stack([confidence, covered, precision], axis=1)
        return [CoveragePoint(*point) for point in points[last].tolist()]

    def accepted(self, threshold: float | None) -> tuple[float, float | None]:
        """Return the fraction of queries that reach a confidence, and their precision."""
        if threshold is None:
            return 0.0, None
        taken = np.array(self.confidence) >= threshold
        precision = float(np.array(self.right)[taken].mean()) if taken.any() else None
        return float(taken.mean()), precision

    def threshold(self, precision: float) -> float | None:
        """Return the lowest confidence at or above which the precision is reached, if there is one.

        Either the correct fraction exceeds the precision by one standard error, or it reaches the
        precision, the mean confidence exceeds it by one standard error over all queries, and at
        least `MIN_FOR_THRESHOLD` queries are accepted.
        """
        size = len(self.confidence)
        expected = np.cumsum(self.confidence) / np.arange(1, size + 1)
        required = precision + np.sqrt(precision * (1 - precision) / max(size, 1))
        enough = []
        for point in self.coverage():
            accepted = round(point.coverage * size)
            proven = _lower_bound(point.precision * accepted, accepted) >= precision
            likely = point.precision >= precision and expected[accepted - 1] >= required
            if proven or (likely and accepted >= MIN_FOR_THRESHOLD):
                enough.append(point.confidence)
        return min(enough) if enough else None


def _lower_bound(right: float, count: float) -> float:
    """Return the smoothed correct fraction (Laplace), minus one standard error."""
    fraction = (right + 1) / (count + 2)
    return float(fraction - np.sqrt(fraction * (1 - fraction) / (count + 2)))


class SafePlacements(NamedTuple):
    """The fraction of held-out concepts placed at a branch confidence, and how many are true."""

    threshold: float
    coverage: float
    truth: float


@dataclass(frozen=True)
class BranchCalibration:
    """The curve of branch probabilities, their reliability, and the safe placements.

    All are measured on held-out concepts, with values by curves that were fitted to others.
    """

    curve: Curve
    reliability: Reliability
    placements: tuple[SafePlacements, ...]

    def threshold(self, truth: float) -> float:
        """Return the lowest branch confidence at which this fraction of placements is true.

        Without such a confidence, every single placement must be true with this probability.
        """
        enough = [each.threshold for each in self.placements if each.truth >= truth]
        return min([truth, *enough])


THRESHOLDS = tuple(np.linspace(0.5, 0.99, 50).round(2).tolist())
"""The branch confidences at which held-out concepts are placed."""


def safe_placements(levels: Floats, right: NDArray[np.bool_]) -> tuple[SafePlacements, ...]:
    """Place concepts as deep as each threshold allows, by the levels of a path: [Q, L], [Q, L].

    Levels that are no place are NaN. The true fraction is smoothed (Laplace), and there must be at
    least `MIN_FOR_THRESHOLD` placements.
    """
    found = []
    for threshold in THRESHOLDS:
        sure = levels >= threshold  # NaN is not
        placed = sure.any(axis=1)
        deepest = levels.shape[1] - 1 - sure[:, ::-1].argmax(axis=1)
        true = right[np.arange(len(right)), deepest] & placed
        if placed.sum() >= MIN_FOR_THRESHOLD:
            truth = (true.sum() + 1) / (placed.sum() + 2)
            found.append(SafePlacements(threshold, float(placed.mean()), float(truth)))
    return tuple(found)


@dataclass(frozen=True)
class Calibration:
    """The temperature, the curves for first and for other suggestions, and the reliability.

    Without informative branches among the held-out concepts, there is no calibration of `branches`.
    """

    temperature: float
    first: Curve
    later: Curve
    reliability: Reliability
    branches: BranchCalibration | None = None

    def confidence(self, probabilities: Floats) -> Floats:
        """Return the confidence of suggestions, given their tempered probabilities: [Q, K]."""
        log_odds = logit(probabilities)
        confidence = self.later(log_odds)
        confidence[:, :1] = self.first(log_odds[:, :1])
        # The two curves may disagree, but confidence must not rise with the rank.
        return np.minimum.accumulate(confidence, axis=1)

    def branch_confidence(self, levels: Floats, confidence: Floats) -> Floats:
        """Return the confidence of the branches on paths [Q, K, L], given that in their ends.

        It does not rise on the way down, and no branch is less likely than the suggestion in it.
        """
        if self.branches is None:
            raise ValueError("the branches are not calibrated")
        curve = self.branches.curve(logit(levels)).clip(max=ALMOST_CERTAIN)
        known = np.where(levels > CERTAIN, 1.0, curve)
        known = np.maximum(np.minimum.accumulate(known, axis=2), confidence[:, :, None])
        return np.where(np.isnan(levels), np.nan, known)
