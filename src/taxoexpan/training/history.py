"""The epochs of a training and of a fine-tuning."""

from __future__ import annotations

from dataclasses import dataclass, field

from taxoexpan.training.metrics import Metrics


@dataclass(frozen=True)
class Epoch:
    """The result of one pass over the relations."""

    number: int
    loss: float
    learning_rate: float
    validation: Metrics | None
    seconds: float = field(default=0.0, compare=False)
    """The duration, including validation; not compared, since it is no part of the result."""


@dataclass
class History:
    """All epochs, the number of the best one, and whether the user stopped the training.

    `skipped_fine_tuning` means that a fine-tuning of the encoder would have followed.
    """

    epochs: list[Epoch] = field(default_factory=list)
    best: int = 0
    interrupted: bool = False
    skipped_fine_tuning: bool = False

    @property
    def best_epoch(self) -> Epoch:
        """The epoch whose weights were kept; number 0 if nothing was trained."""
        return self.epochs[self.best - 1] if self.epochs else Epoch(0, 0.0, 0.0, None)


@dataclass
class TowerHistory:
    """The epochs of a fine-tuning: the loss and the validation metrics of each, and the best one.

    `best` is 0 if no epoch was better than the encoder as it came.
    """

    losses: list[float] = field(default_factory=list)
    validation: list[Metrics] = field(default_factory=list)
    best: int = 0
    interrupted: bool = False
