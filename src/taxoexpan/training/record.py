"""The epochs of a training or fine-tuning, and the record that is saved with the model."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

from taxoexpan.features.encoder import Encoder
from taxoexpan.model_directory import Count
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.storage import taxonomy_digest
from taxoexpan.training.metrics import Metrics


@dataclass(frozen=True)
class TrainingRecord:
    """The record of how a model was trained: sizes, results, versions and machine.

    `epochs` and `loss` are of the network. `validation` is of all signals together, or else of the
    network's best epoch. `tower_best_epoch` is 0 if the original encoder was kept.
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
        """Return the fields in the form that JSON can store."""
        return asdict(self)


def training_record(
    taxonomy: Taxonomy,
    encoder: Encoder,
    history: History,
    tower_history: History | None,
    validation: Metrics | None,
    seconds: float,
) -> TrainingRecord:
    """Return the record of a training, with the best epoch's validation if none is given."""
    best = history.best_epoch
    tuned = tower_history
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
        tower_epochs=None if tuned is None else len(tuned.epochs),
        tower_best_epoch=None if tuned is None else tuned.best,
    )


@dataclass(frozen=True)
class Epoch:
    """The result of one pass over the relations."""

    number: int
    loss: float
    learning_rate: float
    validation: Metrics | None
    seconds: float = field(default=0.0, compare=False)
    """The duration, including validation; not compared, since it is not part of the result."""


@dataclass
class History:
    """The epochs, the number of the best epoch, and whether the user stopped the training.

    In a fine-tuning, `best` is 0 if the original encoder was kept.
    """

    epochs: list[Epoch] = field(default_factory=list)
    best: int = 0
    interrupted: bool = False
    skipped_fine_tuning: bool = False

    @property
    def best_epoch(self) -> Epoch:
        """The epoch whose weights were kept; its number is 0 if nothing was trained."""
        return self.epochs[self.best - 1] if self.best else Epoch(0, 0.0, 0.0, None)
