"""The training loop: batches, loss, optimizer steps, validation, and a checkpoint every epoch."""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from taxoexpan.config import Config
from taxoexpan.device import fast_matmul, keep_freed_memory, random_state, set_random_state
from taxoexpan.errors import ModelError, is_out_of_memory
from taxoexpan.network.batch import TrainingBatch
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.phrasing import pluralize
from taxoexpan.progress import Progress, tell_at_most
from taxoexpan.training.checkpoint import (
    Checkpoint,
    State,
    add_prefix,
    optimizer_tensors,
    restore_optimizer,
    with_prefix,
)
from taxoexpan.training.cuda_graph import GraphedGradients, can_be_graphed
from taxoexpan.training.log import SILENT, TrainingLog
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.record import Epoch, History
from taxoexpan.training.sampling import CPU, TrainingSampler

Validate = Callable[[MatchingNetwork], Metrics]


def train(
    network: MatchingNetwork,
    vectors: ConceptVectors,
    sampler: TrainingSampler,
    validate: Validate | None,
    config: Config,
    log: TrainingLog = SILENT,
    checkpoint: Checkpoint | None = None,
) -> History:
    """Train until validation stops improving, and leave the best weights in the network.

    Ctrl-C ends the training with the best epoch so far; before the end of the first epoch it is
    passed on. If the file of the checkpoint exists, the training continues from it. On a CPU, the
    result is the same bit for bit.

    Args:
        network: the network, with its initial weights, on the device of the vectors.
        vectors: the vectors of all concepts of the sampler's taxonomy.
        sampler: the source of batches.
        validate: returns the metrics of the network after an epoch. Without it, the loss selects
            the best epoch.
        config: the settings.
        log: where to report every epoch.
        checkpoint: where to store the state after every epoch.
    """
    run = TrainingRun(network, sampler, config)
    graph = None
    if can_be_graphed(config, vectors.device) and not vectors.streamed_to:
        graph = GraphedGradients(network, vectors, config.batch_size)
    if checkpoint is not None and checkpoint.path.exists():
        checkpoint.restore(run)
    before = run.finished_epochs
    try:
        while not run.is_done():
            started = time.monotonic()
            with fast_matmul(vectors.device), keep_freed_memory(vectors.device):
                loss = _train_epoch(run, vectors, graph, log.progress)
            metrics = None if validate is None else validate(network)
            epoch, is_best = run.finish_epoch(loss, metrics, time.monotonic() - started)
            if checkpoint is not None:
                checkpoint.save_if_possible(run.state())
            log.write(epoch, is_best)
            if log.progress and run.finished_epochs == before + 1:
                left = config.epochs - run.finished_epochs
                tell_at_most(
                    f"up to {pluralize(left, 'more epoch')}", left * epoch.seconds, log.following
                )
    except KeyboardInterrupt:
        if not run.history.epochs:
            raise
        run.history.interrupted = True
    network.load_state_dict(run.best_weights)
    network.eval()
    return run.history


def _train_epoch(
    run: TrainingRun, vectors: ConceptVectors, graph: GraphedGradients | None, progress: bool
) -> float:
    """Train on every relation once, and return the mean loss."""
    number, batch_count = run.finished_epochs + 1, run.sampler.batch_count
    run.network.train()
    total = torch.zeros((), device=vectors.device)
    batches = run.sampler.epoch(vectors.device if graph is None else CPU)
    updated = time.monotonic()
    with Progress(f"epoch {number}", batch_count, "batches", shown=progress) as bar:
        for step, batch in enumerate(bar.each(batches), start=1):
            total += train_batch(run, vectors, batch, graph)
            # Reading the loss makes the host wait for the device, so it is not done at every step.
            if bar.shown and time.monotonic() - updated > 1:
                bar.remark(f"loss {total.item() / step:.3f}")
                updated = time.monotonic()
    mean = total.item() / batch_count
    if not math.isfinite(mean):
        fix = "train again with a lower learning_rate or less dropout"
        if run.config.quirks.double_exp:
            fix += ", or without the quirk double_exp"
        raise ModelError(f"the loss became {mean} in epoch {number}; {fix}")
    return mean


def train_batch(
    run: TrainingRun,
    vectors: ConceptVectors,
    batch: TrainingBatch,
    graph: GraphedGradients | None = None,
) -> Tensor:
    """Make one optimizer step, with the batch in as many parts as memory requires; its loss."""
    loss = None if graph is None or run.parts > 1 else graph.compute(batch)
    if loss is not None:
        run.optimizer.step()
        return loss
    batch, state = batch.to(vectors.device), random_state(vectors.device)
    while True:
        try:
            run.optimizer.zero_grad(set_to_none=True)
            loss = compute_gradients(run, vectors, batch)
            break
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if run.parts >= len(batch.queries):
                raise ModelError(
                    f"the memory of {vectors.device} is too small for a single query; train a "
                    "smaller network, or with fewer anchors (negative_sampling, num_negatives)"
                ) from None
        # Outside the handler, so that the memory of the failed attempt has been released.
        run.split_batches_further()
        set_random_state(vectors.device, state)
    run.optimizer.step()
    return loss


def compute_gradients(run: TrainingRun, vectors: ConceptVectors, batch: TrainingBatch) -> Tensor:
    """Compute the gradients of the batch's mean loss, and return that loss."""
    if run.parts == 1:
        loss = run.network.loss(vectors, batch)
        loss.backward()
        return loss.detach()
    state = random_state(vectors.device)
    total, count = vectors.names.new_zeros((), device=vectors.device), 0
    for part in batch.split(min(run.parts, len(batch.queries))):
        set_random_state(vectors.device, state)  # every part drops the same of the anchors
        part_loss, instances = run.network.total_loss(vectors, part)
        part_loss.backward()
        total += part_loss.detach()
        count += instances
    for parameter in run.network.parameters():
        if parameter.grad is not None:
            parameter.grad /= count
    return total / count


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
