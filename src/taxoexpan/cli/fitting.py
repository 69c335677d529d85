"""Training a model from the command line, with messages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.messages import note, print_confidence, print_confidence_limits
from taxoexpan.phrasing import pluralize

if TYPE_CHECKING:
    from taxoexpan.model import TaxoExpan
    from taxoexpan.taxonomy import Concept, Taxonomy

FEW_QUERIES = 20
"""With fewer held-out concepts, validation figures say little."""


def fit_model(
    model: TaxoExpan,
    taxonomy: Taxonomy,
    quiet: bool = False,
    log: Path | None = None,
    checkpoint: Path | None = None,
    tensorboard: Path | None = None,
    expected: Sequence[Concept] = (),
) -> None:
    """Train a model and print what it has learned."""
    model.encoder.prepare(["ready"])  # first: its libraries may lose a Ctrl-C while they load
    if not quiet:
        note(f"training on {len(taxonomy):,} concepts, {len(taxonomy.relations):,} relations")
    model.fit(
        taxonomy,
        progress=not quiet,
        log=log,
        checkpoint=checkpoint,
        tensorboard=tensorboard,
        expected=expected,
    )
    print_training(model, quiet)


def print_training(model: TaxoExpan, quiet: bool) -> None:
    """Print the confidence that a model has learned, and how its training ended."""
    if not quiet:
        print_confidence(model.calibrators)
    print_confidence_limits(model)
    metrics = model.training.validation
    count = 0 if metrics is None else metrics.queries
    if count < FEW_QUERIES:
        note(
            f"note: {pluralize(count, 'leaf', 'leaves')} to validate on; the taxonomy has too few "
            "for good results"
        )
    history = model.history
    if history is not None and history.interrupted:
        skipped = ", and the encoder was not fine-tuned" if history.skipped_fine_tuning else ""
        note(f"stopped by Ctrl-C; the best weights so far are kept (epoch {history.best}){skipped}")
    tuning = model.tower_history
    if tuning is not None and tuning.interrupted:
        kept = f"the best state so far is kept (epoch {tuning.best})"
        if not tuning.best:
            kept = "no epoch was better than the encoder as it came, which is kept"
        note(f"fine-tuning stopped by Ctrl-C; {kept}")
