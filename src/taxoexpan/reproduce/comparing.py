"""Methods side by side: their figures, how sure these are, and how far each is behind the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from taxoexpan.metrics import Averaging, Figure, per_query
from taxoexpan.reproduce.growth import Ranks
from taxoexpan.reproduce.tables import HEADS, number
from taxoexpan.significance import Difference, difference, interval

SHOWN: dict[Figure, str] = {
    "mr": HEADS["mr"],
    "hit_at_1": HEADS["hit_at_1"],
    "hit_at_3": HEADS["hit_at_3"],
    "hit_at_10": "Hit@10",
    "mrr": HEADS["mrr"],
}
"""The figures that are shown, and their names."""


@dataclass(frozen=True)
class Estimate:
    """A figure, and the bounds of 95 of 100 such samples of queries."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Compared:
    """A method's figures; `behind` is its Hit@1 less that of the best, which has none itself."""

    method: str
    figures: dict[Figure, Estimate]
    behind: Difference | None

    def as_dict(self) -> dict[str, Any]:
        """All of it for a program to read."""
        return asdict(self)


def compare(ranks: Mapping[str, Ranks], averaging: Averaging = "fraction") -> list[Compared]:
    """Compare the methods by their ranks for the same queries; the best has the highest Hit@1."""
    hits = {name: per_query(those, "hit_at_1", averaging) for name, those in ranks.items()}
    best = max(hits, key=lambda name: float(hits[name].mean()))
    return [
        Compared(
            name,
            {figure: _estimate(those, figure, averaging) for figure in SHOWN},
            None if name == best else difference(hits[name], hits[best]),
        )
        for name, those in ranks.items()
    ]


def comparison_text(compared: list[Compared]) -> str:
    """A line a method, each figure with its interval."""
    rows = [["METHOD", *SHOWN.values(), "Hit@1 LESS THE BEST"]]
    for one in compared:
        figures = [_spelled(figure, estimate) for figure, estimate in one.figures.items()]
        rows.append([one.method, *figures, _behind(one.behind)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def _estimate(ranks: Ranks, figure: Figure, averaging: Averaging) -> Estimate:
    values = per_query(ranks, figure, averaging)
    return Estimate(float(values.mean()), *interval(values))


def _spelled(figure: Figure, estimate: Estimate | Difference, sign: bool = False) -> str:
    mean, low, high = (
        number(figure, value, sign) for value in (estimate.mean, estimate.low, estimate.high)
    )
    return f"{mean} [{low}, {high}]"


def _behind(behind: Difference | None) -> str:
    if behind is None:
        return "best"
    return f"{_spelled('hit_at_1', behind, sign=True)}, p = {behind.p_value:.2g}"
