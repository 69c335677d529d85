"""Weights that vary between groups: their mean and covariance, by expectation maximization.

Every group has a likelihood of its own weights, and these are drawn from a normal distribution that
all groups share. The distribution is learned with Laplace's approximation of each posterior. Every
group counts equally, whatever its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from taxoexpan.placement.learned.confidence import sigmoid
from taxoexpan.taxonomy.arrays import Floats

ROUNDS = 30
"""Rounds of expectation maximization."""
MAX_STEPS = 20
"""Newton steps per round, at most; the first rounds need some, the others one or two."""
MIN_VARIANCE = 1e-4
"""The least variance between groups, so that a weight is never fixed."""


class Normal(NamedTuple):
    """A normal distribution of weights: its mean [F] and covariance [F, F]."""

    mean: Floats
    covariance: Floats


class Derivatives(NamedTuple):
    """A log-likelihood, its gradient [F], and its negative second derivatives [F, F]."""

    value: float
    gradient: Floats
    information: Floats


class Likelihood(Protocol):
    """The likelihood of one group."""

    def derivatives(self, weights: Floats) -> Derivatives:
        """Return the log-likelihood of weights, and its derivatives."""


@dataclass(frozen=True)
class Choices:
    """The choice of one candidate (the first) among C each time, by their features [P, C, F].

    `offsets` [P, C] are added to the scores; `counts` [P] say how much each choice counts.
    """

    features: NDArray[np.float32]
    offsets: Floats
    counts: Floats

    def derivatives(self, weights: Floats) -> Derivatives:
        """Return the log-likelihood of weights, and its derivatives."""
        scores = self.features @ weights.astype(np.float32) + self.offsets
        highest = scores.max(axis=1, keepdims=True)
        odds = np.exp(scores - highest)
        totals = odds.sum(axis=1, keepdims=True)
        shares = odds / totals * self.counts[:, None]
        value = self.counts @ (scores[:, 0] - highest[:, 0] - np.log(totals[:, 0]))
        expected = np.einsum("pc,pcf->pf", shares, self.features)
        gradient = self.counts @ self.features[:, 0] - expected.sum(axis=0)
        flat = self.features.reshape(-1, len(weights))
        squares = (flat * shares.reshape(-1, 1)).T @ flat
        squares -= (expected / self.counts[:, None]).T @ expected
        return Derivatives(float(value), gradient, squares)


@dataclass(frozen=True)
class Outcomes:
    """Outcomes [P], each with a probability that depends on a table [P, F] of inputs."""

    table: Floats
    right: Floats

    def derivatives(self, weights: Floats) -> Derivatives:
        """Return the log-likelihood of weights, and its derivatives."""
        log_odds = self.table @ weights
        expected = sigmoid(log_odds)
        value = self.right @ log_odds - np.logaddexp(0, log_odds).sum()
        gradient = self.table.T @ (self.right - expected)
        return Derivatives(
            value, gradient, (self.table.T * (expected * (1 - expected))) @ self.table
        )


def most_likely(group: Likelihood, prior: Normal, start: Floats) -> Normal:
    """Return the most likely weights of a group, and Laplace's approximation around them."""
    precision = np.linalg.inv(prior.covariance)

    def value_of(found: Derivatives, weights: Floats) -> float:
        change = weights - prior.mean
        return float(found.value - change @ precision @ change / 2)

    weights = start
    found = group.derivatives(weights)
    for _ in range(MAX_STEPS):
        gradient = found.gradient - precision @ (weights - prior.mean)
        step = np.linalg.solve(found.information + precision, gradient)
        before = value_of(found, weights)
        while True:
            changed = group.derivatives(weights + step)
            if value_of(changed, weights + step) >= before - 1e-9 or np.abs(step).max() < 1e-6:
                break
            step = step / 2
        weights = weights + step
        found = changed
        if np.abs(step).max() < 1e-3:
            break
    return Normal(weights, np.linalg.inv(found.information + precision))


def learn_distribution(
    groups: Sequence[Likelihood], start: Normal, is_diagonal: bool, rounds: int = ROUNDS
) -> Normal:
    """Return the distribution of the weights over the groups."""
    shared = start
    starts = [start.mean] * len(groups)
    for _ in range(rounds):
        each = [
            most_likely(group, shared, near) for group, near in zip(groups, starts, strict=True)
        ]
        starts = [own.mean for own in each]
        mean = np.mean(starts, axis=0)
        deviations = np.array(starts) - mean
        covariance = deviations.T @ deviations / len(groups)
        covariance += np.mean([own.covariance for own in each], axis=0)
        if is_diagonal:
            covariance = np.diag(np.diag(covariance))
        shared = Normal(mean, covariance + MIN_VARIANCE * np.eye(len(mean)))
    return shared
