"""Methods side by side: their figures, how sure these are, and how far each is behind the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxoexpan.experiments.growth.evaluation import Ranks
from taxoexpan.experiments.growth.significance import DRAWS, Difference, difference, interval
from taxoexpan.experiments.paper.result_tables import HEADS, number
from taxoexpan.training.metrics import Averaging, MetricName, per_query

SHOWN: dict[MetricName, str] = {
    "mr": HEADS["mr"],
    "hit_at_1": HEADS["hit_at_1"],
    "hit_at_3": HEADS["hit_at_3"],
    "hit_at_10": "Hit@10",
    "mrr": "scaled MRR",
}
"""The figures that are shown, and their names."""

QueryValues = tuple[NDArray[np.float64], NDArray[np.float64]]
"""A figure of each query [Q], and how much the query counts [Q]."""

LEAST = 1 / (1 + DRAWS)
"""The smallest p-value that so many draws can show."""


@dataclass(frozen=True)
class Estimate:
    """A figure, and the bounds of 95 of 100 such samples of queries."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class MethodComparison:
    """A method's figures; `behind` is its Hit@1 less that of the best, which has none itself."""

    method: str
    figures: dict[MetricName, Estimate]
    behind: Difference | None

    def as_dict(self) -> dict[str, Any]:
        """All of it for a program to read."""
        return asdict(self)


def compare(
    ranks: Mapping[str, Ranks], averaging: Averaging = "fraction"
) -> list[MethodComparison]:
    """Compare the methods by their ranks for the same queries; the best has the highest Hit@1."""
    hits = {name: _of_queries(those, "hit_at_1", averaging) for name, those in ranks.items()}
    best = max(hits, key=lambda name: float(np.average(hits[name][0], weights=hits[name][1])))
    return [
        MethodComparison(
            name,
            {figure: _estimate(those, figure, averaging) for figure in SHOWN},
            None if name == best else _less(hits[name], hits[best]),
        )
        for name, those in ranks.items()
    ]


def comparison_text(compared: list[MethodComparison]) -> str:
    """A line a method, each figure with its interval."""
    rows = [["METHOD", *SHOWN.values(), "Hit@1 LESS THE BEST"]]
    for one in compared:
        figures = [_spelled(figure, estimate) for figure, estimate in one.figures.items()]
        rows.append([one.method, *figures, _behind(one.behind)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def _estimate(ranks: Ranks, figure: MetricName, averaging: Averaging) -> Estimate:
    values, weights = _of_queries(ranks, figure, averaging)
    mean = float(np.average(values, weights=weights))
    return Estimate(mean, *interval(values, weights=weights))


def _less(one: QueryValues, best: QueryValues) -> Difference:
    (values, weights), (others, _) = one, best
    return difference(values, others, weights=weights)


def _of_queries(ranks: Ranks, figure: MetricName, averaging: Averaging) -> QueryValues:
    """The figure of each query, and how much it counts: pooled, as often as it has parents."""
    if averaging == "pooled":
        counts = np.array([len(each) for each in ranks], dtype=np.float64)
        return per_query(ranks, figure, "fraction"), counts
    return per_query(ranks, figure, averaging), np.ones(len(ranks))


def _spelled(figure: MetricName, estimate: Estimate | Difference, sign: bool = False) -> str:
    mean, low, high = (
        number(figure, value, sign) for value in (estimate.mean, estimate.low, estimate.high)
    )
    return f"{mean} [{low}, {high}]"


def _behind(behind: Difference | None) -> str:
    if behind is None:
        return "best"
    chance = f"p = {behind.p_value:.2g}" if behind.p_value > LEAST else f"p ≤ {LEAST:.2g}"
    return f"{_spelled('hit_at_1', behind, sign=True)}, {chance}"
