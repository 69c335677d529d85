"""The report about a trained model: training, validation and reliability."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from taxoexpan.config import load_preset
from taxoexpan.model import TaxoExpan
from taxoexpan.phrasing import join_words, percent
from taxoexpan.placement.learned.calibrators import Calibrators, missing_confidence
from taxoexpan.placement.learned.confidence import CoveragePoint, Reliability
from taxoexpan.progress import spell_duration
from taxoexpan.report.charts import coverage_chart, reliability_chart, training_chart
from taxoexpan.report.page import (
    ChartSection,
    Column,
    KeyFigure,
    KeyFigures,
    Page,
    Row,
    Section,
    Table,
    TextSection,
    paragraphs,
)
from taxoexpan.thresholds import MIN_FOR_ABSTENTION, MIN_FOR_CONFIDENCE, MIN_FOR_DUPLICATES
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.record import TrainingRecord

PRECISIONS = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
"""The target precisions in the table of thresholds."""
MARKED = (0.9, 0.8, 0.7)
"""The first of these precisions that is reached is marked in the chart."""


def training_page(model: TaxoExpan, title: str, created: datetime) -> Page:
    """Return a page about a model; training curves are not saved, so a loaded model has none."""
    record = model.training
    calibration = model.calibrators.calibration
    sections: list[Section] = [_key_figures(record), TextSection("Training setup", _setup(model))]
    if model.history is not None:
        epochs = model.history.epochs
        metrics = [each.validation for each in model.history.epochs]
        mrrs = [each.reciprocal_rank if each else None for each in metrics]
        best = model.history.best if any(metrics) else None
        chart = training_chart([epoch.loss for epoch in epochs], mrrs, best)
        sections.append(ChartSection("Training", chart))
    if record.validation is not None:
        sections.append(_validation(record.validation, record.concepts))
    sections += reliability_charts(model.calibrators)
    if calibration is not None and calibration.reliability.is_measured:
        sections.append(_threshold_table(calibration.reliability))
    if missing := _missing_calibrators(model):
        sections.append(TextSection("What could not be learned", missing))
    subtitle = f"Trained on {record.concepts:,} concepts and {record.relations:,} relations"
    return Page(title, subtitle, sections, created)


def reliability_charts(calibrators: Calibrators) -> list[ChartSection]:
    """Return the reliability diagram and the coverage chart, if they can be measured."""
    if calibrators.calibration is None or not calibrators.calibration.reliability.is_measured:
        return []
    reliability = calibrators.calibration.reliability
    reached = (threshold_for(reliability, precision) for precision in MARKED)
    marked = next(filter(None, reached), None)
    branches = calibrators.calibration.branches
    safe = branches.placements if branches else ()
    chart = coverage_chart(reliability.coverage(), marked, safe)
    if marked is None:
        note = f"No threshold reaches {percent(MARKED[-1])} precision reliably on these leaves."
        chart = replace(chart, caption=f"{chart.caption} {note}")
    return [
        ChartSection("Is the confidence reliable?", reliability_chart(reliability.bins)),
        ChartSection("How many suggestions to accept?", chart),
    ]


def threshold_for(reliability: Reliability, precision: float) -> CoveragePoint | None:
    """Return the lowest confidence with this precision, its coverage and its measured precision."""
    minimum = reliability.threshold(precision)
    return next((point for point in reliability.coverage() if point.confidence == minimum), None)


def _key_figures(record: TrainingRecord) -> KeyFigures:
    """Return the numbers of concepts, relations and epochs, and the training time."""
    best = f"the best was epoch {record.best_epoch}" if record.validation else ""
    interrupted = "stopped by Ctrl-C" if record.interrupted else ""
    figures = [
        KeyFigure("Concepts", record.concepts),
        KeyFigure("Relations", record.relations),
        KeyFigure("Epochs", record.epochs, "; ".join(filter(None, (best, interrupted)))),
        KeyFigure("Time", spell_duration(record.seconds), "including vectors and validation"),
    ]
    return KeyFigures("", figures)


def _setup(model: TaxoExpan) -> list[str]:
    """Describe the machine, and the settings that differ from the preset."""
    record = model.training
    config = model.config
    defaults = load_preset(model.preset).model_dump()
    versions = [f"{name} {number}" for name, number in record.versions.items()]
    changed = [
        f"{name} {value}"
        for name, value in config.model_dump().items()
        # The preset leaves these two open.
        if value != defaults[name] and name not in ("features", "use_mentions")
    ]
    preset = f"{model.preset} with {join_words(changed)}" if changed else model.preset
    return paragraphs(
        "setup", model=model, record=record, preset=preset, versions=join_words(versions)
    )


def _validation(metrics: Metrics, concepts: int) -> KeyFigures:
    """Return metrics of how the model ranked the parents of held-out leaves."""
    mrr = f"MRR {metrics.reciprocal_rank:.2f}, scaled as in the paper {metrics.mrr:.2f}"
    figures = [
        KeyFigure("Right parent ranked first", percent(metrics.hit_at_1), "Hit@1"),
        KeyFigure("Right parent in the top 3", percent(metrics.hit_at_3), "Hit@3"),
        KeyFigure("Right parent in the top 10", percent(metrics.hit_at_10), "Hit@10"),
        KeyFigure("Mean rank", f"{metrics.mr:,.1f}", f"of {concepts:,}; {mrr}"),
    ]
    return KeyFigures(f"Validation on {metrics.queries:,.0f} held-out leaves", figures)


def _threshold_table(reliability: Reliability) -> Table:
    """Return a table of the confidence thresholds for some target precisions."""
    rows = [
        Row((percent(each), *(threshold_for(reliability, each) or (None,) * 3)))
        for each in PRECISIONS
    ]
    names = ("Minimum confidence", "Fraction accepted", "Fraction right")
    columns = [Column("Target precision"), *(Column(name, "number") for name in names)]
    (introduction,) = paragraphs("thresholds", leaves=len(reliability.right))
    return Table("Confidence thresholds", columns, rows, introduction)


def _missing_calibrators(model: TaxoExpan) -> list[str]:
    """Describe the calibrators that could not be learned, with the reasons."""
    return paragraphs(
        "missing",
        calibrators=model.calibrators,
        reason=missing_confidence(model.taxonomy, model.config),
        min_confidence=MIN_FOR_CONFIDENCE,
        min_leaves=MIN_FOR_ABSTENTION,
        min_synonyms=MIN_FOR_DUPLICATES,
    )
