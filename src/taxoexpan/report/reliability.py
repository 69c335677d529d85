"""Charts, a table and texts about the reliability of a model's confidence."""

from __future__ import annotations

from dataclasses import replace

from taxoexpan.model import TaxoExpan
from taxoexpan.phrasing import percent
from taxoexpan.placement.learned import abstention, duplicates
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.learned.confidence import CoveragePoint, Reliability
from taxoexpan.placement.learned.missing_confidence import MissingConfidence
from taxoexpan.report.html import (
    ChartSection,
    Column,
    Row,
    Table,
    coverage_chart,
    reliability_chart,
)

PRECISIONS = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
"""The target precisions in the table of thresholds."""
MARKED = (0.9, 0.8, 0.7)
"""The first of these precisions that is reached is marked in the chart."""


def threshold_for(reliability: Reliability, precision: float) -> CoveragePoint | None:
    """Return the lowest confidence with this precision, its coverage and measured precision."""
    minimum = reliability.threshold(precision)
    return next((point for point in reliability.coverage() if point.confidence == minimum), None)


def reliability_charts(calibrators: Calibrators) -> list[ChartSection]:
    """Return the reliability diagram and the coverage chart, if there is a calibration."""
    if calibrators.calibration is None:
        return []
    reliability = calibrators.calibration.reliability
    reached = (threshold_for(reliability, precision) for precision in MARKED)
    marked = next(filter(None, reached), None)
    chart = coverage_chart(reliability.coverage(), marked)
    if marked is None:
        note = f"No threshold reaches {percent(MARKED[-1])} precision reliably on these leaves."
        chart = replace(chart, caption=f"{chart.caption} {note}")
    return [
        ChartSection("Is the confidence reliable?", reliability_chart(reliability.bins)),
        ChartSection("How many suggestions to accept?", chart),
    ]


def threshold_table(reliability: Reliability) -> Table:
    """Return a table of the confidence thresholds for some target precisions."""
    rows = []
    for precision in PRECISIONS:
        numbers = threshold_for(reliability, precision) or (None,) * 3
        rows.append(Row((percent(precision), *numbers)))
    columns = [
        Column("Target precision"),
        Column("Minimum confidence", "number"),
        Column("Fraction accepted", "number"),
        Column("Fraction right", "number"),
    ]
    introduction = (
        "For each target precision: the minimum confidence that reaches it, the fraction of the "
        "concepts that this accepts, and the fraction of these that was right. All were measured "
        f"on {len(reliability.right):,} held-out leaves. The thresholds have a safety margin of "
        "one standard error. A dash means that no threshold reaches the precision."
    )
    return Table("Confidence thresholds", columns, rows, introduction)


def missing_calibrators(model: TaxoExpan) -> list[str]:
    """Say which calibrators of a model could not be learned, and why."""
    texts, calibrators = [], model.calibrators
    if calibrators.calibration is None:
        missing = MissingConfidence.find(model.taxonomy, model.config)
        reason = f"{missing.sentence()}. " if missing else ""
        texts.append(f"Confidence: {reason}Suggestions have a score, but no confidence.")
    if calibrators.abstention is None:
        texts.append(
            "Whether a new concept has a suitable parent at all: this needs "
            f"{abstention.MIN_HELD_OUT} held-out leaves in branches that can be hidden for a test."
        )
    if calibrators.duplicates is None:
        texts.append(
            "Whether a new concept is a synonym of an existing one: this needs "
            f"{duplicates.MIN_SYNONYM_CONCEPTS} concepts with synonyms."
        )
    return texts
