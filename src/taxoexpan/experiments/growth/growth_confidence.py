"""How far the confidence of a model holds for the concepts that a taxonomy really added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from taxoexpan.model import TaxoExpan
from taxoexpan.phrasing import percent
from taxoexpan.training.holdout import Holdout

PRECISIONS = (0.9, 0.8, 0.7)
"""The precisions that thresholds are chosen for."""


@dataclass(frozen=True)
class AcceptedAtPrecision:
    """The new concepts that a model accepts at its own threshold for a precision.

    Args:
        target: the precision that the threshold was learned for.
        threshold: the lowest confidence to accept, or None if the concepts that the model held out
            of the old release do not reach the precision.
        coverage: the fraction of the new concepts that is accepted.
        precision: the fraction of these whose suggestion is right, or None if there are none.
    """

    target: float
    threshold: float | None
    coverage: float
    precision: float | None


@dataclass(frozen=True)
class GrowthConfidence:
    """The expected calibration error on new concepts, and what each threshold accepts."""

    calibration_error: float
    accepted: tuple[AcceptedAtPrecision, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return all values for JSON."""
        return asdict(self)


def measure_confidence(model: TaxoExpan, new: Holdout) -> GrowthConfidence | None:
    """Compare a model's confidence in first suggestions with the truth; None without confidence."""
    calibration, measured = model.calibrators.calibration, model.reliability(new)
    if calibration is None or measured is None:
        return None
    thresholds = {target: calibration.reliability.threshold(target) for target in PRECISIONS}
    return GrowthConfidence(
        measured.error,
        tuple(
            AcceptedAtPrecision(target, threshold, *measured.accepted(threshold))
            for target, threshold in thresholds.items()
        ),
    )


def confidence_table(measured: Mapping[str, GrowthConfidence | None]) -> list[list[str]]:
    """Return the header and one row per model."""
    targets = [f"AT {percent(target)} PRECISION" for target in PRECISIONS]
    rows = [["METHOD", "CALIBRATION ERROR", *targets]]
    for name, confidence in measured.items():
        cells = ["no confidence learned"]
        if confidence is not None:
            accepted = map(_accepted_cell, confidence.accepted)
            cells = [f"{confidence.calibration_error:.3f}".removeprefix("0"), *accepted]
        rows.append([name, *cells, *[""] * (1 + len(PRECISIONS) - len(cells))])
    return rows


def _accepted_cell(accepted: AcceptedAtPrecision) -> str:
    if accepted.threshold is None:
        return "no threshold"
    if accepted.precision is None:
        return "none accepted"
    return f"{percent(accepted.coverage)} accepted, {percent(accepted.precision)} right"
