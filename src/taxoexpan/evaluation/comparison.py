"""A comparison of methods by their metrics, and the text tables of `evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from taxoexpan.evaluation.growth import Growth
from taxoexpan.evaluation.results import Ranks
from taxoexpan.features.label_words import LabelWords
from taxoexpan.phrasing import pluralize
from taxoexpan.training.metrics import Averaging, MetricName, compute_metrics

COMPARISON_COLUMNS: dict[MetricName, str] = {
    "mr": "MR",
    "hit_at_1": "Hit@1",
    "hit_at_3": "Hit@3",
    "hit_at_10": "Hit@10",
    "mrr": "scaled MRR",
}
"""The metrics that are shown, and their names."""

Figures = dict[MetricName, float]
"""The metrics of one method."""


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


def compare(ranks: Mapping[str, Ranks], averaging: Averaging = "fraction") -> dict[str, Figures]:
    """Return the metrics of each method from its ranks for the same queries."""
    metrics = {name: compute_metrics(each, averaging).as_dict() for name, each in ranks.items()}
    return {
        name: {metric: each[metric] for metric in COMPARISON_COLUMNS}
        for name, each in metrics.items()
    }


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


def comparison_table(compared: Mapping[str, Figures]) -> list[list[str]]:
    """Return the header and one row per method."""
    rows = [["METHOD", *COMPARISON_COLUMNS.values()]]
    for name, figures in compared.items():
        rows.append([name, *(format_value(metric, value) for metric, value in figures.items())])
    return rows


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
