"""Messages about a training, and about the confidence that a model has learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taxoexpan.cli.messages import announce, note, warn
from taxoexpan.large_parts import install_command
from taxoexpan.phrasing import pluralize
from taxoexpan.thresholds import (
    MIN_FOR_FINE_CONFIDENCE,
    MIN_FOR_VALIDATION,
)

if TYPE_CHECKING:
    from taxoexpan.archive import ModelSummary
    from taxoexpan.config import Config
    from taxoexpan.model import TaxoExpan
    from taxoexpan.placement.learned.calibrators import Calibrators
    from taxoexpan.taxonomy import Taxonomy

PRECISIONS = (0.95, 0.9, 0.8)
"""Precisions for which `train` prints the confidence threshold and the coverage."""


def begin_training(model: TaxoExpan, taxonomy: Taxonomy) -> None:
    """Load the libraries of the encoder, and print the size of the taxonomy."""
    model.encoder.prepare(["ready"])  # first: its libraries may lose a Ctrl-C while they load
    _print_encoder(model)
    note(f"training on {len(taxonomy):,} concepts, {len(taxonomy.relations):,} relations")


def _print_encoder(model: TaxoExpan) -> None:
    """Print which encoder a preset uses that prefers the large one, if the user chose no other."""
    from taxoexpan.config import load_preset, preset_settings

    preferred = preset_settings(model.preset)["features"]
    used = model.config.features
    if "large" not in preferred or used != load_preset(model.preset).features:
        return
    if used == preferred:
        note(f"the preset {model.preset} uses the encoder large")
    else:
        fix = f"for the large one, which is better and slower: {install_command()}"
        note(f"the preset {model.preset} uses the small encoder; {fix}")


def print_training(model: TaxoExpan, is_continued: bool = False) -> None:
    """Print the confidence that a model has learned, and problems of its training."""
    print_confidence(model.calibrators)
    metrics = model.training.validation
    count = 0 if metrics is None else metrics.queries
    print_confidence_limits(model, count if is_continued else None)
    if count < MIN_FOR_VALIDATION:
        warn(
            f"{pluralize(count, 'leaf', 'leaves')} to validate on; the figures of the validation "
            "say little"
        )
    history = model.history
    if history is not None and history.interrupted:
        skipped = ", and the encoder was not fine-tuned" if history.skipped_fine_tuning else ""
        announce(
            f"stopped by Ctrl-C; the best weights so far are kept (epoch {history.best}){skipped}"
        )
    tuning = model.tower_history
    if tuning is not None and tuning.interrupted:
        kept = f"the best state so far is kept (epoch {tuning.best})"
        if not tuning.best:
            kept = "no epoch was better than the encoder as it came, which is kept"
        announce(f"fine-tuning stopped by Ctrl-C; {kept}")


def print_confidence(calibrators: Calibrators) -> None:
    """Print the calibration error and the confidence thresholds that a model has learned."""
    if calibrators.calibration is None:
        return
    reliability = calibrators.calibration.reliability
    if not reliability.is_measured:
        return
    note(f"confidence: expected calibration error {reliability.error:.3f} (cross-validated)")
    thresholds = {p: reliability.threshold(p) for p in PRECISIONS}
    for precision, threshold in thresholds.items():
        if threshold is not None:
            confidence = reliability.confidence
            coverage = sum(c >= threshold for c in confidence) / len(confidence)
            note(
                f"confidence: at {threshold:.2f} or more, {precision:.0%} of the suggestions are "
                f"right; this accepts {coverage:.0%} of the held-out concepts"
            )
    if not any(threshold is not None for threshold in thresholds.values()):
        note(
            f"confidence: no threshold reaches {PRECISIONS[-1]:.0%} precision on the held-out "
            "concepts"
        )


def print_confidence_limits(model: TaxoExpan | ModelSummary, kept: int | None = None) -> None:
    """Print that a model has no confidence, with the fix, or that few leaves confirm it.

    `kept` is the number of held-out leaves if the training was continued.
    """
    from taxoexpan.placement.learned.calibrators import missing_confidence

    calibration = model.calibrators.calibration
    if calibration is None:
        missing = missing_confidence(model.taxonomy, model.config, kept)
        reason = missing or "the model has no confidence"
        warn(f"{reason}; scores do not say how often suggestions are right")
    elif (count := len(calibration.reliability.right)) < MIN_FOR_FINE_CONFIDENCE:
        leaves = pluralize(count, "held-out leaf", "held-out leaves")
        warn(f"{confidence_source(model.config, leaves)}; review accepted suggestions, too")


def confidence_source(config: Config, leaves: str) -> str:
    """Return what a confidence rests on that was learned from few leaves."""
    if config.learn_fusion:
        return f"the confidence rests mostly on other taxonomies, because there are only {leaves}"
    return f"the confidence is coarse, because it was learned from only {leaves}"


def print_training_advice(model: TaxoExpan | ModelSummary) -> None:
    """Advise more training if updates have added many concepts to the taxonomy."""
    added = len(model.growth.added)
    trained = model.training.concepts
    if model.growth.is_training_advised(trained):
        count = f"{pluralize(added, 'concept')} ({100 * added / trained:.0f} %)"
        fix = "train --from MODEL learns from them, and ranks better"
        note(f"note: updates have added {count} since the training; {fix}")
