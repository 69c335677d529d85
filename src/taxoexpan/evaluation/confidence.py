"""The reliability of a model's confidence for the concepts that a taxonomy really added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from taxoexpan.model import TaxoExpan
from taxoexpan.phrasing import percent
from taxoexpan.placement.adding.acceptance import DEFAULT_ACCEPTANCE, decide
from taxoexpan.placement.suggesting.suggestions import Verdict
from taxoexpan.training.holdout import Holdout

PRECISIONS = (0.9, 0.8, 0.7)
"""The precisions that thresholds are chosen for."""


@dataclass(frozen=True)
class AcceptedAtPrecision:
    """The new concepts that a model accepts at its threshold for the precision `target`.

    `threshold` is None if the concepts held out of the old release do not reach the target, and
    `precision` is None if no new concept is accepted.
    """

    target: float
    threshold: float | None
    coverage: float
    precision: float | None


@dataclass(frozen=True)
class WrittenByDefault:
    """The fraction of the new concepts that `expand` writes by default, and their precision."""

    coverage: float
    precision: float | None


@dataclass(frozen=True)
class GrowthConfidence:
    """The calibration error on new concepts, and the concepts accepted by threshold or default."""

    calibration_error: float
    accepted: tuple[AcceptedAtPrecision, ...]
    by_default: WrittenByDefault


def measure_confidence(model: TaxoExpan, new: Holdout) -> GrowthConfidence | None:
    """Measure the confidence of first suggestions; return None if the model has no confidence."""
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
        _written_by_default(model, new),
    )


def _written_by_default(model: TaxoExpan, new: Holdout) -> WrittenByDefault:
    """Decide about the new concepts as `expand` does by default."""
    decided = decide(model.suggest(new.concepts, top_k=1), DEFAULT_ACCEPTANCE)
    parents = {
        concept.id: {new.taxonomy.ids[parent] for parent in own}
        for concept, own in zip(new.concepts, new.parents, strict=True)
    }
    right = [s.parent.id in parents[s.query.id] for s in decided if s.decision == Verdict.ACCEPTED]
    precision = sum(right) / len(right) if right else None
    return WrittenByDefault(len(right) / len(new.concepts), precision)


def confidence_table(measured: Mapping[str, GrowthConfidence | None]) -> list[list[str]]:
    """Return the header and one row per model."""
    targets = [f"AT {percent(target)} PRECISION" for target in PRECISIONS]
    rows = [["METHOD", "CALIBRATION ERROR", "BY DEFAULT", *targets]]
    for name, confidence in measured.items():
        cells = ["no confidence learned"]
        if confidence is not None:
            cells = [f"{confidence.calibration_error:.3f}".removeprefix("0")]
            cells += [_accepted_cell(confidence.by_default)]
            cells += [_accepted_cell(each) for each in confidence.accepted]
        rows.append([name, *cells, *[""] * (2 + len(PRECISIONS) - len(cells))])
    return rows


def _accepted_cell(accepted: WrittenByDefault | AcceptedAtPrecision) -> str:
    if isinstance(accepted, AcceptedAtPrecision) and accepted.threshold is None:
        return "no threshold"
    if accepted.precision is None:
        return "none accepted"
    return f"{percent(accepted.coverage)} accepted, {percent(accepted.precision)} right"
