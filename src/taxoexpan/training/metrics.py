"""Metrics from the ranks of the true parents: those of the paper (Section 5.1.2), and more.

The paper has no `reciprocal_rank`, and only the first of the three ways of averaging.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import ConfigurationError, TaxoExpanError
from taxoexpan.model_directory import Count

# The names of the metrics are also the fields of `Metrics`, because type checkers need both.
MetricName = Literal["mr", "hit_at_1", "hit_at_3", "hit_at_10", "mrr", "reciprocal_rank"]
Averaging = Literal["fraction", "any", "pooled"]

RANK_VALUES: dict[MetricName, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "mr": lambda ranks: ranks,
    "hit_at_1": lambda ranks: (ranks <= 1).astype(np.float64),
    "hit_at_3": lambda ranks: (ranks <= 3).astype(np.float64),
    "hit_at_10": lambda ranks: (ranks <= 10).astype(np.float64),
    "mrr": lambda ranks: 1 / np.ceil(ranks / 10),
    "reciprocal_rank": lambda ranks: 1 / ranks,
}
"""The functions from ranks to their values in each metric."""


@dataclass(frozen=True)
class Metrics:
    """The metrics of some queries; how they are averaged is a parameter of `compute_metrics`.

    `mrr` is what the paper calls MRR: the mean of the scaled reciprocal rank, 1 / ⌈rank / 10⌉.
    `reciprocal_rank` is the mean of 1 / rank.

    Examples:
        >>> from taxoexpan import TaxoExpan, hold_out_leaves, read_taxonomy
        >>> held_out = hold_out_leaves(read_taxonomy("examples/instruments.ttl"), fraction=0.2)
        >>> model = TaxoExpan("fast").fit(held_out.taxonomy)
        >>> metrics = model.evaluate(held_out)
        >>> metrics.queries, 0 < metrics.hit_at_1 <= metrics.hit_at_10 <= 1
        (13, True)
    """

    queries: Count
    mr: float
    hit_at_1: float
    hit_at_3: float
    hit_at_10: float
    mrr: float
    reciprocal_rank: float

    def as_dict(self) -> dict[str, float]:
        """Return the metrics by name."""
        return asdict(self)


def compute_metrics(ranks: Sequence[NDArray[Any]], averaging: Averaging = "fraction") -> Metrics:
    """Return the metrics from the ranks of every query's true parents, which start at 1.

    With `fraction`, every query counts once, divided among its parents, as in the paper; with
    `any`, only its best parent counts; with `pooled`, every parent counts once.
    """
    joined = _JoinedRanks.of(ranks)
    means = {m: float(joined.contributions(m, averaging).mean()) for m in RANK_VALUES}
    return Metrics(queries=len(ranks), **means)


def per_query(
    ranks: Sequence[NDArray[Any]], metric: MetricName, averaging: Averaging = "fraction"
) -> NDArray[np.float64]:
    """Return the contribution of each query to a metric [Q], whose mean is the metric."""
    return _JoinedRanks.of(ranks).contributions(metric, averaging)


@dataclass(frozen=True)
class _JoinedRanks:
    """The ranks of all queries, one after the other, and the number of ranks of each query [Q]."""

    ranks: NDArray[np.float64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, ranks: Sequence[NDArray[Any]]) -> _JoinedRanks:
        """Join the ranks of queries; refuse a query without any."""
        counts = np.array([len(of_query) for of_query in ranks], dtype=np.int64)
        if not len(counts):
            raise TaxoExpanError("there are no ranks", fix="give the ranks of at least one query")
        if not counts.all():
            message = f"query {np.argmin(counts)} has no true parent, so it has no rank"
            raise TaxoExpanError(message, fix="leave it out")
        return cls(np.concatenate(ranks).astype(np.float64), counts)

    def contributions(self, metric: MetricName, averaging: Averaging) -> NDArray[np.float64]:
        """Return the contribution of each query to a metric: [Q]."""
        if averaging not in get_args(Averaging):
            choices = ", ".join(get_args(Averaging))
            raise ConfigurationError(f"{averaging!r} is unknown", fix=f"choose one of {choices}")
        starts = np.cumsum(self.counts) - self.counts
        value = RANK_VALUES[metric]
        if averaging == "any":
            return value(np.minimum.reduceat(self.ranks, starts))
        parents = self.counts if averaging == "fraction" else self.counts.mean()
        sums: NDArray[np.float64] = np.add.reduceat(value(self.ranks), starts)
        return sums / parents
