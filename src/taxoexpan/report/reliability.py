"""How far a model can be trusted, in pictures, figures and words."""

from __future__ import annotations

from dataclasses import replace

from taxoexpan.phrasing import percent
from taxoexpan.placement import abstention, confidence, duplicates
from taxoexpan.placement.calibrators import Calibrators
from taxoexpan.placement.confidence import Reliability
from taxoexpan.report.html import Bin, Column, Picture, Row, Table, Threshold, coverage, reliability

PRECISIONS = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
"""How many of the accepted are to be right."""
MARKED = (0.9, 0.8, 0.7)
"""The first of these that is reached is marked in the curve."""


def threshold_at(told: Reliability, precision: float) -> Threshold | None:
    """From what confidence on so many are right, what that accepts, and how many were right."""
    least = told.threshold(precision)
    found = [point for point in told.coverage() if point[0] == least]
    return Threshold(*found[0]) if found else None


def trust_pictures(calibrators: Calibrators) -> list[Picture]:
    """The reliability diagram and the curve of coverage and precision, where they are known."""
    if calibrators.calibration is None:
        return []
    told = calibrators.calibration.reliability
    bins = [Bin(each.confidence, each.right, each.count) for each in told.bins]
    points = [(accepted, right) for _, accepted, right in told.coverage()]
    reached = (threshold_at(told, precision) for precision in MARKED)
    marked = next(filter(None, reached), None)
    curve = coverage(points, marked, "confidence")
    if marked is None:
        missed = f"These leaves show none from which on {percent(MARKED[-1])} are surely right."
        curve = replace(curve, caption=f"{curve.caption} {missed}")
    return [
        Picture("Can the confidence be believed?", reliability(bins)),
        Picture("How many to accept?", curve),
    ]


def acceptance_table(told: Reliability) -> Table:
    """What to ask for if so many of the accepted are to be right."""
    rows = []
    for precision in PRECISIONS:
        found = threshold_at(told, precision)
        figures = (found.score, found.coverage, found.precision) if found else (None,) * 3
        rows.append(Row((percent(precision), *figures)))
    columns = [
        Column("To be right"),
        Column("Accept from", "number"),
        Column("Accepted", "number"),
        Column("Right", "number"),
    ]
    introduction = (
        "If so many are to be right: the confidence to accept from, the share of the concepts that "
        f"this accepts, and the share of these that was right among {len(told.right):,} leaves "
        "that the model had not seen. It errs on the safe side, by one standard error; a dash: no "
        "such confidence is known."
    )
    return Table("What to accept", columns, rows, introduction)


def gaps(calibrators: Calibrators, leaves: int) -> list[str]:
    """What could not be learned of how far to trust the model, and why."""
    told = []
    if calibrators.calibration is None:
        told.append(
            f"How sure to be: that takes {confidence.MIN_HELD_OUT} leaves that are held out from "
            f"the training, and there were {leaves}. Suggestions have a score, but no confidence."
        )
    if calibrators.abstention is None:
        told.append(
            "Whether a new concept has a good place at all: that takes "
            f"{abstention.MIN_HELD_OUT} such leaves in branches that can be closed on trial."
        )
    if calibrators.duplicates is None:
        told.append(
            "Whether a new concept is another name of one that is there: that takes "
            f"{duplicates.FEWEST} concepts with synonyms."
        )
    return told
