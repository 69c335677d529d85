"""The record of a training, which is saved with the model."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from taxoexpan.features.encoder import Encoder
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.storage import taxonomy_digest
from taxoexpan.training.history import History, TowerHistory
from taxoexpan.training.metrics import Count, Metrics


@dataclass(frozen=True)
class TrainingRecord:
    """How a model was trained: sizes, figures, versions and machine.

    The epochs and the loss are the figures of the network. `validation` is by all signals together,
    or of the network's best epoch in a model without the learned fusion. `tower_epochs` and
    `tower_best_epoch` describe the fine-tuning; they are None in a model without it. The best epoch
    is 0 if none was better than the encoder as it came.
    """

    concepts: Count
    relations: Count
    taxonomy_sha256: str
    encoder: str
    epochs: Count
    best_epoch: Count
    interrupted: bool
    loss: float
    validation: Metrics | None
    seconds: float
    versions: dict[str, str]
    python: str
    machine: str
    tower_epochs: Count | None = None
    tower_best_epoch: Count | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON stores them."""
        return asdict(self)


def training_record(
    taxonomy: Taxonomy,
    encoder: Encoder,
    history: History,
    tower_history: TowerHistory | None,
    validation: Metrics | None,
    seconds: float,
) -> TrainingRecord:
    """Record how a model was trained, with the figures of its best epoch.

    `validation` is by all signals together, if there are several.
    """
    best, tuned = history.best_epoch, tower_history
    return TrainingRecord(
        concepts=len(taxonomy),
        relations=len(taxonomy.relations),
        taxonomy_sha256=taxonomy_digest(taxonomy),
        encoder=encoder.fingerprint(),
        epochs=len(history.epochs),
        best_epoch=best.number,
        interrupted=history.interrupted or (tuned is not None and tuned.interrupted),
        loss=best.loss,
        validation=validation or best.validation,
        seconds=round(seconds, 1),
        versions={name: version(name) for name in ("taxoexpan", "torch", "numpy", "wordllama")},
        python=platform.python_version(),
        machine=platform.machine(),
        tower_epochs=None if tuned is None else len(tuned.losses),
        tower_best_epoch=None if tuned is None else tuned.best,
    )
