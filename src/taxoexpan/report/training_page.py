"""The report about a trained model."""

from __future__ import annotations

from datetime import datetime

from taxoexpan.config import Config, load_preset
from taxoexpan.model import TaxoExpan
from taxoexpan.phrasing import join_words, percent
from taxoexpan.report.html import (
    Chart,
    ChartSection,
    KeyFigure,
    KeyFigures,
    Page,
    Section,
    TextSection,
    creation_note,
    training_chart,
)
from taxoexpan.report.reliability import (
    missing_calibrators,
    reliability_charts,
    threshold_table,
)
from taxoexpan.training.history import History
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.record import TrainingRecord


def training_page(model: TaxoExpan, title: str, created: datetime) -> Page:
    """Return a page about a model's training, its validation and its reliability.

    A loaded model has no training curves, because they are not saved.
    """
    record, calibrators = model.training, model.calibrators
    validation = record.validation
    sections: list[Section] = [_key_figures(record), TextSection("Training setup", _setup(model))]
    if model.history is not None:
        sections.append(ChartSection("Training", _training_chart(model.history)))
    if validation is not None:
        sections.append(_validation(validation, record.concepts))
    sections += reliability_charts(calibrators)
    if calibrators.calibration is not None:
        sections.append(threshold_table(calibrators.calibration.reliability))
    missing = missing_calibrators(model)
    if missing:
        sections.append(TextSection("What could not be learned", missing))
    subtitle = f"Trained on {record.concepts:,} concepts and {record.relations:,} relations"
    return Page(title, subtitle, sections, creation_note(created))


def _key_figures(record: TrainingRecord) -> KeyFigures:
    """Count what the model was trained on, and the epochs and time it took."""
    best = f"the best was epoch {record.best_epoch}" if record.validation else ""
    interrupted = "stopped by Ctrl-C" if record.interrupted else ""
    return KeyFigures(
        "",
        [
            KeyFigure("Concepts", record.concepts),
            KeyFigure("Relations", record.relations),
            KeyFigure("Epochs", record.epochs, "; ".join(filter(None, (best, interrupted)))),
            KeyFigure("Time", _duration(record.seconds), "including vectors and validation"),
        ],
    )


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _setup(model: TaxoExpan) -> list[str]:
    """Describe the settings and the machine."""
    record, config = model.training, model.config
    versions = [f"{name} {number}" for name, number in record.versions.items()]
    return [
        f"Preset {model.preset}{_changed_settings(model.preset, config)}; seed {model.seed}; "
        f"vectors: {config.features} ({record.encoder}).",
        f"Trained on {model.device} ({record.machine}) with Python {record.python}, "
        f"{join_words(versions)}. The SHA-256 of the taxonomy starts with "
        f"{record.taxonomy_sha256[:16]}.",
    ]


def _changed_settings(preset: str, config: Config) -> str:
    """List the settings that differ from the preset, except those that it leaves open."""
    defaults, own = load_preset(preset).model_dump(), config.model_dump()
    changed = [
        f"{name} {value}"
        for name, value in own.items()
        if value != defaults[name] and name not in ("features", "use_mentions")
    ]
    return f" with {join_words(changed)}" if changed else ""


def _validation(metrics: Metrics, concepts: int) -> KeyFigures:
    """Show how well the model ranked the parents of held-out leaves."""
    mrr = f"MRR {metrics.reciprocal_rank:.2f}, scaled as in the paper {metrics.mrr:.2f}"
    return KeyFigures(
        f"Validation on {metrics.queries:,.0f} held-out leaves",
        [
            KeyFigure("Right parent ranked first", percent(metrics.hit_at_1), "Hit@1"),
            KeyFigure("Right parent in the top 3", percent(metrics.hit_at_3), "Hit@3"),
            KeyFigure("Right parent in the top 10", percent(metrics.hit_at_10), "Hit@10"),
            KeyFigure("Mean rank", f"{metrics.mr:,.1f}", f"of {concepts:,}; {mrr}"),
        ],
    )


def _training_chart(history: History) -> Chart:
    """Plot the loss and the validation MRR of every epoch."""
    losses = [epoch.loss for epoch in history.epochs]
    mrrs = [
        epoch.validation.reciprocal_rank if epoch.validation else None for epoch in history.epochs
    ]
    has_validation = any(mrr is not None for mrr in mrrs)
    return training_chart(losses, mrrs, history.best if has_validation else None)
