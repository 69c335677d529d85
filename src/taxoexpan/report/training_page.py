"""The page on a training: what was learned, from what, and how well."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from taxoexpan.config import Config, load_preset
from taxoexpan.model import TaxoExpan
from taxoexpan.phrasing import join_words, percent
from taxoexpan.report.html import (
    Chart,
    Figure,
    Figures,
    Page,
    Picture,
    Section,
    Text,
    colophon,
    training,
)
from taxoexpan.report.reliability import acceptance_table, gaps, trust_pictures
from taxoexpan.training.history import History


def training_page(model: TaxoExpan, title: str, made: datetime) -> Page:
    """How a model came about, how it did on leaves that it had not seen, and what it cannot tell.

    A model that was loaded has no curves: only a training knows them.
    """
    record, calibrators = model.training, model.calibrators
    validation = record["validation"]
    sections: list[Section] = [_key_figures(record), Text("How it was trained", _made_from(model))]
    if model.history is not None:
        sections.append(Picture("Training", _curves(model.history)))
    if validation is not None:
        sections.append(_validation(validation, record["concepts"]))
    sections += trust_pictures(calibrators)
    if calibrators.calibration is not None:
        sections.append(acceptance_table(calibrators.calibration.reliability))
    missing = gaps(calibrators, 0 if validation is None else validation["queries"])
    if missing:
        sections.append(Text("What could not be learned", missing))
    told = f"Learned from {record['concepts']:,} concepts and {record['relations']:,} relations"
    return Page(title, told, sections, colophon(made))


def _key_figures(record: Mapping[str, Any]) -> Figures:
    """What it was learned from, and what that took."""
    kept = f"the best was no. {record['best_epoch']}" if record["validation"] else ""
    stopped = "stopped by Ctrl-C" if record["interrupted"] else ""
    return Figures(
        "",
        [
            Figure("Concepts", record["concepts"]),
            Figure("Relations", record["relations"]),
            Figure("Epochs", record["epochs"], "; ".join(filter(None, (kept, stopped)))),
            Figure("Time", _duration(record["seconds"]), "vectors and validation included"),
        ],
    )


def _duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _made_from(model: TaxoExpan) -> list[str]:
    """The settings and the machine, in words."""
    record, c = model.training, model.config
    versions = [f"{name} {number}" for name, number in record["versions"].items()]
    return [
        f"Preset {model.preset}{_changes(model.preset, c)}, seed {model.seed}; vectors by "
        f"{c.features} ({record['encoder']}).",
        f"Computed on {model.device} ({record['machine']}) with Python {record['python']}, "
        f"{join_words(versions)}. The taxonomy's SHA-256 begins with "
        f"{record['taxonomy_sha256'][:16]}.",
    ]


def _changes(preset: str, config: Config) -> str:
    """The settings that are not the preset's; the vectors are told apart from them."""
    usual, own = load_preset(preset).model_dump(), config.model_dump()
    changed = [f"{n} {own[n]}" for n in own if own[n] != usual[n] and n != "features"]
    return f" with {join_words(changed)}" if changed else ""


def _validation(figures: Mapping[str, float], concepts: int) -> Figures:
    """How well leaves that were masked found their parents."""
    leaves = f"{figures['queries']:,.0f}"
    ranks = f"MRR {figures['reciprocal_rank']:.2f}, {figures['mrr']:.2f} by the paper's scale"
    return Figures(
        f"On {leaves} leaves that it had not seen",
        [
            Figure("Parent in first place", percent(figures["hit_at_1"]), "Hit@1"),
            Figure("Among the first 3", percent(figures["hit_at_3"]), "Hit@3"),
            Figure("Among the first 10", percent(figures["hit_at_10"]), "Hit@10"),
            Figure("Mean rank", f"{figures['mr']:,.1f}", f"of {concepts:,}; {ranks}"),
        ],
    )


def _curves(history: History) -> Chart:
    """The loss and the validation's MRR of every epoch."""
    losses = [epoch.loss for epoch in history.epochs]
    ranks = [
        epoch.validation.reciprocal_rank if epoch.validation else None for epoch in history.epochs
    ]
    validated = any(rank is not None for rank in ranks)
    return training(losses, ranks, history.best if validated else None)
