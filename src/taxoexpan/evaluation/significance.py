"""Confidence intervals of a mean over queries, and a test whether two methods differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from taxoexpan.errors import ConfigurationError, TaxoExpanError

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

    With `weights` [Q] it is that of the weighted mean; weights are drawn with their queries.
    """
    known, weight = _check_values(values), _check_weights(values, weights)
    if not 0 < level < 1:
        raise ConfigurationError(f"level is {level!r}; it must be between 0 and 1, such as 0.95")
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
    # Unlike the interval of scipy, those of np.quantile are nested without rounding errors.
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

    The p-value is that of a permutation test: if the methods do not differ, the two values of each
    query can be exchanged. `weights` [Q] are the weights of the queries.
    """
    first, second = _check_values(one), _check_values(other)
    if len(first) != len(second):
        message = f"one method has values for {len(first)} queries, the other for {len(second)}"
        raise TaxoExpanError(f"{message}; give both for the same queries, in the same order")
    differences, weight = first - second, _check_weights(one, weights)
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
    if draws < 1:
        raise ConfigurationError(f"draws is {draws!r}; it must be at least 1")
    batch, rng = max(1, BATCH_SIZE // size), np.random.default_rng(seed)
    return {"n_resamples": draws, "batch": batch, "random_state": rng}


def _check_weights(values: NDArray[Any], weights: NDArray[Any] | None) -> NDArray[np.float64]:
    """Return the weight of each query [Q]; 1 by default."""
    if weights is None:
        return np.ones(len(values))
    known = _check_values(weights)
    if len(known) != len(values) or (known <= 0).any():
        message = f"there are {len(known)} weights for {len(values)} values"
        raise TaxoExpanError(f"{message}; give one positive weight for each query")
    return known


def _check_values(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the values of all queries [Q] as floats, or refuse them."""
    known = np.asarray(values, dtype=np.float64)
    if known.ndim != 1:
        message = f"the values have the shape {list(known.shape)}"
        raise TaxoExpanError(f"{message}; give a one-dimensional array, one value per query")
    if not len(known):
        raise TaxoExpanError("there are no values; give those of at least one query")
    if not np.isfinite(known).all():
        index = int(np.argmin(np.isfinite(known)))
        message = f"the value of query {index} is {known[index]}"
        raise TaxoExpanError(f"{message}; give a finite number, or leave the query out everywhere")
    return known
