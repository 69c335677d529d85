"""The state of a training between two epochs: weights, optimizer, schedule and early stopping."""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import asdict
from typing import Any

import torch

from taxoexpan.config import Config
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.training.checkpoint import (
    State,
    add_prefix,
    optimizer_tensors,
    restore_optimizer,
    with_prefix,
)
from taxoexpan.training.history import Epoch, History
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.sampling import TrainingSampler


class TrainingRun:
    """A training between two epochs: weights, optimizer, best weights so far, random numbers."""

    def __init__(self, network: MatchingNetwork, sampler: TrainingSampler, config: Config) -> None:
        self.network, self.sampler, self.config = network, sampler, config
        fused = next(network.parameters()).device.type in ("cpu", "cuda")
        self.optimizer = torch.optim.Adam(
            network.parameters(), config.learning_rate, amsgrad=True, fused=fused
        )
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
            # Any decrease counts as better: a relative threshold is misleading below zero.
            self.optimizer,
            factor=0.5,
            patience=3,
            threshold=0.0,
            threshold_mode="abs",
        )
        self.history, self.lowest = History(), math.inf
        self.parts = 1
        self.best_weights = copy.deepcopy(network.state_dict())

    @property
    def finished_epochs(self) -> int:
        """The number of finished epochs."""
        return len(self.history.epochs)

    def is_done(self) -> bool:
        """Whether the epochs or the patience are used up."""
        done = self.finished_epochs
        return done >= self.config.epochs or (
            done - self.history.best >= self.config.patience and done > 0
        )

    def finish_epoch(
        self, loss: float, validation: Metrics | None, seconds: float
    ) -> tuple[Epoch, bool]:
        """Record an epoch; return the record, and whether it is the best so far."""
        rate = self.optimizer.param_groups[0]["lr"]
        epoch = Epoch(self.finished_epochs + 1, loss, rate, validation, round(seconds, 3))
        self.history.epochs.append(epoch)
        monitored = _monitored(epoch, self.config.monitor)
        self.scheduler.step(monitored)
        is_best = monitored < self.lowest
        if is_best:
            self.best_weights = copy.deepcopy(self.network.state_dict())
            self.history.best, self.lowest = epoch.number, monitored
        return epoch, is_best

    def split_batches_further(self) -> None:
        """Process batches in twice as many parts from now on; the result stays the same."""
        self.parts *= 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        message = f"out of memory: each batch is now processed in {self.parts} parts"
        warnings.warn(message, stacklevel=2)

    def state(self) -> State:
        """Return everything that the next epochs depend on."""
        tensors = add_prefix("weights", self.network.state_dict())
        tensors |= add_prefix("best", self.best_weights) | optimizer_tensors(self.optimizer)
        tensors["rng"] = torch.get_rng_state()
        return State(
            tensors,
            {
                "epochs": [asdict(epoch) for epoch in self.history.epochs],
                "best": self.history.best,
                "lowest": self.lowest,
                "groups": self.optimizer.state_dict()["param_groups"],
                "scheduler": self.scheduler.state_dict(),
                "sampler": self.sampler.rng.bit_generator.state,
                "parts": self.parts,
            },
        )

    def restore(self, state: State) -> None:
        """Restore the state from a checkpoint."""
        tensors, values = state.tensors, state.values
        self.network.load_state_dict(with_prefix("weights", tensors))
        self.best_weights = with_prefix("best", tensors)
        restore_optimizer(self.optimizer, tensors, values["groups"])
        self.scheduler.load_state_dict(values["scheduler"])
        self.sampler.rng.bit_generator.state = values["sampler"]
        torch.set_rng_state(tensors["rng"])
        self.history.epochs = [_read_epoch(epoch) for epoch in values["epochs"]]
        self.history.best, self.lowest = state.count("best"), state.number("lowest")
        if self.history.best > len(self.history.epochs):
            raise ValueError("the best epoch is not among the epochs")
        self.parts = state.count("parts", 1)


def _read_epoch(values: dict[str, Any]) -> Epoch:
    validation = values["validation"]
    return Epoch(**{**values, "validation": Metrics(**validation) if validation else None})


def _monitored(epoch: Epoch, monitor: str) -> float:
    """Return the value that selects the best epoch; lower is better."""
    if epoch.validation is None:
        return epoch.loss
    return epoch.validation.mr if monitor == "mean_rank" else -epoch.validation.reciprocal_rank
