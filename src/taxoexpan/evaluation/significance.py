"""Confidence intervals of a mean over queries, and a test whether two methods differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

DRAWS = 2000
"""The default number of resamples."""
BATCH_SIZE = 1_000_000
"""The number of values that are resampled together, which bounds the memory."""


@dataclass(frozen=True)
class PairedDifference:
    """The mean difference of two methods on the same queries, with its 95 % interval.

    `p_value` is the probability of a mean difference at least as large, in either direction, if
    the methods do not differ.
    """

    mean: float
    low: float
    high: float
    p_value: float


def interval(
    values: NDArray[Any],
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
    weights: NDArray[Any] | None = None,
) -> tuple[float, float]:
    """Return the bootstrap interval of the mean of the queries' values [Q] (percentile method).

    With `weights` [Q] it is the interval of the weighted mean; weights are drawn with their
    queries.
    """
    known = np.asarray(values, dtype=np.float64)
    weight = np.ones(len(known)) if weights is None else np.asarray(weights, dtype=np.float64)
    if len(known) == 1:
        return float(known[0]), float(known[0])
    result = stats.bootstrap(
        (known, weight),
        lambda v, w, axis: (v * w).sum(axis) / w.sum(axis),
        paired=True,
        vectorized=True,
        method="percentile",
        **_resampling(draws, seed, len(known)),
    )
    # Unlike the interval of scipy, the intervals of np.quantile are nested without rounding errors.
    low, high = np.quantile(result.bootstrap_distribution, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def difference(
    one: NDArray[Any],
    other: NDArray[Any],
    draws: int = DRAWS,
    seed: int = 0,
    weights: NDArray[Any] | None = None,
) -> PairedDifference:
    """Compare two methods by their values for the same queries, [Q] each, in the same order.

    The p-value belongs to a permutation test: if the methods do not differ, the two values of each
    query can be exchanged. `weights` [Q] are the weights of the queries.
    """
    differences = np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)
    weight = np.ones(len(differences)) if weights is None else weights
    low, high = interval(differences, draws=draws, seed=seed, weights=weight)
    mean = float((differences * weight).sum() / weight.sum())
    return PairedDifference(mean, low, high, _p_value(differences * weight, draws, seed))


def _p_value(differences: NDArray[np.float64], draws: int, seed: int) -> float:
    """Return the two-sided p-value of the sum of differences [Q] with randomly flipped signs."""
    scale = np.abs(differences).sum()
    if scale == 0 or len(differences) == 1:
        return 1.0
    result = stats.permutation_test(
        (differences / scale,),
        # Rounded, so that sums that are equal in exact arithmetic stay equal.
        lambda values, axis: np.abs(values.sum(axis)).round(12),
        permutation_type="samples",
        vectorized=True,
        alternative="greater",
        **_resampling(draws, seed, len(differences)),
    )
    return float(result.pvalue)


def _resampling(draws: int, seed: int, size: int) -> dict[str, Any]:
    """Return the arguments that scipy's resampling functions share."""
    batch, rng = max(1, BATCH_SIZE // size), np.random.default_rng(seed)
    return {"n_resamples": draws, "batch": batch, "random_state": rng}
