"""How far a figure would move with other queries, and whether two methods really differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import ConfigurationError, TaxoExpanError

DRAWS = 2000
"""How often queries are drawn anew, unless said otherwise."""
CELLS = 1_000_000
"""Draws times queries held at a time."""
ROUNDING = 1e-12
"""Of all that is summed, so much may be lost; sums that differ by less are the same."""


@dataclass(frozen=True)
class Difference:
    """By how much the first of two methods is above the other, on the same queries.

    `low` and `high` bound the mean of 95 of 100 such samples of queries; `p_value` is the chance of
    a mean difference at least as large, either way, where the methods do not differ.
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
    """The bounds of the mean of the queries' values [Q], by drawing queries anew (bootstrap).

    With `weights` [Q] it is the weighted mean, whose weights are drawn with the queries.
    """
    known, heavy = _numbers(values), _weights(values, weights)
    if not 0 < level < 1:
        raise ConfigurationError(f"level is {level!r}; it must be between 0 and 1, such as 0.95")
    generator = np.random.default_rng(seed)
    size = len(known)
    means = []
    for rows in _blocks(draws, size):
        drawn = generator.integers(0, size, (rows, size))
        means.append((known * heavy)[drawn].sum(1) / heavy[drawn].sum(1))
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def difference(
    one: NDArray[Any],
    other: NDArray[Any],
    draws: int = DRAWS,
    seed: int = 0,
    weights: NDArray[Any] | None = None,
) -> Difference:
    """Compare two methods by their values for the same queries, [Q] each, in the same order.

    The interval is the bootstrap's, and the p-value that of a permutation test: where the methods
    do not differ, each query's two values could as well stand the other way round. `weights` [Q]
    say how much each query counts.
    """
    first, second = _numbers(one), _numbers(other)
    if len(first) != len(second):
        message = f"one method has values for {len(first)} queries, the other for {len(second)}"
        raise TaxoExpanError(f"{message}; give both for the same queries, in the same order")
    apart, heavy = first - second, _weights(one, weights)
    low, high = interval(apart, draws=draws, seed=seed, weights=heavy)
    mean = float((apart * heavy).sum() / heavy.sum())
    return Difference(mean, low, high, _chance(apart * heavy, draws, seed))


def _chance(apart: NDArray[np.float64], draws: int, seed: int) -> float:
    """The two-sided p-value of the mean of differences [Q] whose signs are flipped at random."""
    generator = np.random.default_rng(seed)
    total = apart.sum()
    least = abs(total) - ROUNDING * np.abs(apart).sum()
    hits = 0
    for rows in _blocks(draws, len(apart)):
        flipped = (generator.random((rows, len(apart))) < 0.5).astype(np.float64) @ apart
        hits += int(np.count_nonzero(np.abs(total - 2 * flipped) >= least))
    return (1 + hits) / (1 + draws)


def _blocks(draws: int, size: int) -> Iterator[int]:
    """How many of the draws to make at a time."""
    if draws < 1:
        raise ConfigurationError(f"draws is {draws!r}; it must be at least 1")
    most = max(1, CELLS // size)
    for start in range(0, draws, most):
        yield min(most, draws - start)


def _weights(values: NDArray[Any], weights: NDArray[Any] | None) -> NDArray[np.float64]:
    """How much each query counts [Q]; all alike where nothing is said."""
    if weights is None:
        return np.ones(len(values))
    heavy = _numbers(weights)
    if len(heavy) != len(values) or (heavy <= 0).any():
        message = f"there are {len(heavy)} weights for {len(values)} values"
        raise TaxoExpanError(f"{message}; give one for each query, above zero")
    return heavy


def _numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    """The values of all queries [Q], or the reason why they cannot be compared."""
    known = np.asarray(values, dtype=np.float64)
    if known.ndim != 1:
        message = f"the values have the shape {list(known.shape)}"
        raise TaxoExpanError(f"{message}; give one for each query, in one row")
    if not len(known):
        raise TaxoExpanError("there are no values; give those of at least one query")
    if not np.isfinite(known).all():
        place = int(np.argmin(np.isfinite(known)))
        message = f"the value of query {place} is {known[place]}"
        raise TaxoExpanError(f"{message}; give a number for every query, or leave it out for all")
    return known
