"""A comparison of methods: metrics with bootstrap intervals, and differences from the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from taxoexpan.evaluation.growth import Growth, Ranks
from taxoexpan.features.label_words import LabelWords
from taxoexpan.phrasing import pluralize
from taxoexpan.training.metrics import Averaging, MetricName, compute_metrics, per_query

COLUMNS: dict[MetricName, str] = {
    "mr": "MR",
    "hit_at_1": "Hit@1",
    "hit_at_3": "Hit@3",
    "hit_at_10": "Hit@10",
    "mrr": "scaled MRR",
}
"""The metrics that are shown, and their names."""

QueryValues = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The value of a metric for each query [Q], and the weight of the query [Q]."""

DRAWS = 2000
"""The default number of resamples."""
BATCH_SIZE = 1_000_000
"""The number of values that are resampled together, which bounds the memory."""
MIN_P_VALUE = 1 / (1 + DRAWS)
"""The smallest p-value that the number of draws can show."""


@dataclass(frozen=True)
class Estimate:
    """The mean of a metric, and its 95 % interval over samples of queries."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class PairedDifference(Estimate):
    """The mean difference of two methods on the same queries, with 95 % interval and p-value."""

    p_value: float


@dataclass(frozen=True)
class MethodComparison:
    """A method's metrics; `behind` is its Hit@1 minus the Hit@1 of the best method."""

    method: str
    figures: dict[MetricName, Estimate]
    behind: PairedDifference | None


@dataclass(frozen=True)
class OverlapHits:
    """The number of new concepts that contain a known name, and Hit@1 of each method on them."""

    queries: int
    hit_at_1: dict[str, float]

    def __str__(self) -> str:
        """Return the results in one line."""
        text = f"{pluralize(self.queries, 'new concept')} with the name of an existing concept in "
        text += "the label" if self.queries == 1 else "their labels"
        if not self.queries:
            return text
        hits = (f"{name} {format_value('hit_at_1', hit)}" for name, hit in self.hit_at_1.items())
        return f"{text}, Hit@1: {', '.join(hits)}"


def compare(
    ranks: Mapping[str, Ranks], averaging: Averaging = "fraction"
) -> list[MethodComparison]:
    """Compare methods by their ranks for the same queries; the best has the highest Hit@1."""
    hits = {name: _query_values(each, "hit_at_1", averaging) for name, each in ranks.items()}
    best = max(hits, key=lambda name: float(np.average(hits[name][0], weights=hits[name][1])))
    return [
        MethodComparison(
            name,
            {metric: _estimate(each, metric, averaging) for metric in COLUMNS},
            None
            if name == best
            else difference(hits[name][0], hits[best][0], weights=hits[name][1]),
        )
        for name, each in ranks.items()
    ]


def overlap_hits(
    growth: Growth, ranks: Mapping[str, Ranks], averaging: Averaging = "fraction"
) -> OverlapHits:
    """Return Hit@1 on the new concepts whose label contains the name of a known concept."""
    words = LabelWords.from_taxonomy(growth.taxonomy)
    rows = [row for row, new in enumerate(growth.queries.concepts) if words.has_name_in(new)]
    hits = {
        name: compute_metrics([own[row] for row in rows], averaging).hit_at_1
        for name, own in ranks.items()
        if rows
    }
    return OverlapHits(len(rows), hits)


def comparison_text(compared: list[MethodComparison]) -> str:
    """Return a text table with one line per method and an interval for each metric."""
    rows = [["METHOD", *COLUMNS.values(), "Hit@1 MINUS BEST"]]
    for one in compared:
        metrics = [_format_estimate(metric, value) for metric, value in one.figures.items()]
        rows.append([one.method, *metrics, _format_behind(one.behind)])
    return aligned_text(rows)


def aligned_text(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def format_value(metric: str, value: float, sign: bool = False) -> str:
    """Format a value as in the paper: mean ranks with one digit, others without a leading zero."""
    digits = 1 if metric == "mr" else 3
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    return text if metric == "mr" else text.replace("0.", ".", 1)


def _estimate(ranks: Ranks, metric: MetricName, averaging: Averaging) -> Estimate:
    values, weights = _query_values(ranks, metric, averaging)
    mean = float(np.average(values, weights=weights))
    return Estimate(mean, *interval(values, weights=weights))


def _query_values(ranks: Ranks, metric: MetricName, averaging: Averaging) -> QueryValues:
    """Return the metric and the weight of each query; pooled weights are the parent counts."""
    if averaging == "pooled":
        counts = np.array([len(parents) for parents in ranks], dtype=np.float64)
        return per_query(ranks, metric, "fraction"), counts
    return per_query(ranks, metric, averaging), np.ones(len(ranks))


def _format_estimate(metric: MetricName, estimate: Estimate, sign: bool = False) -> str:
    mean, low, high = (
        format_value(metric, value, sign) for value in (estimate.mean, estimate.low, estimate.high)
    )
    return f"{mean} [{low}, {high}]"


def _format_behind(behind: PairedDifference | None) -> str:
    if behind is None:
        return "best"
    p_value = f"p = {behind.p_value:.2g}"
    if behind.p_value <= MIN_P_VALUE:
        p_value = f"p ≤ {MIN_P_VALUE:.2g}"
    return f"{_format_estimate('hit_at_1', behind, sign=True)}, {p_value}"


def interval(
    values: NDArray[Any],
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
    weights: NDArray[Any] | None = None,
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the weighted mean of the queries' values [Q]."""
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
    """Compare two methods by their values [Q] for the same queries, with a permutation test."""
    differences = np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)
    weight = np.ones(len(differences)) if weights is None else weights
    low, high = interval(differences, draws=draws, seed=seed, weights=weight)
    mean = float((differences * weight).sum() / weight.sum())
    return PairedDifference(mean, low, high, _p_value(differences * weight, draws, seed))


def _p_value(differences: NDArray[np.float64], draws: int, seed: int) -> float:
    """Return the two-sided p-value of the sum of differences [Q] under random sign flips."""
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
    """Return the common arguments of scipy's resampling functions."""
    batch, rng = max(1, BATCH_SIZE // size), np.random.default_rng(seed)
    return {"n_resamples": draws, "batch": batch, "random_state": rng}
