"""The training loop: batches, loss, optimizer steps, validation, and a checkpoint every epoch.

On a GPU, the gradients of a step are a CUDA graph, for batches of a fixed `PaddedShape`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import torch
from torch import Tensor

from taxoexpan.config import Config
from taxoexpan.device import CPU, fast_matmul, keep_freed_memory, random_state, set_random_state
from taxoexpan.errors import ModelError, is_out_of_memory
from taxoexpan.network.batch import PaddedShape, TrainingBatch
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.progress import Progress
from taxoexpan.training.log import SILENT, TrainingLog
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.record import Epoch, History
from taxoexpan.training.run import Checkpoint, Run, State, without_compiler
from taxoexpan.training.sampling import TrainingSampler

Validate = Callable[[MatchingNetwork], Metrics]

ADVICE = "query; train a smaller network, or with fewer anchors (negative_sampling, num_negatives)"
"""What to do if the memory is too small."""
WARM_UP = 2
"""Steps before the recording, so that libraries allocate what they need."""
MAX_MISSES = 3
"""Batches that do not fit, before a graph of a larger shape is recorded."""
MAX_GRAPHS = 4
"""Graphs that are recorded in one training; then batches differ too much."""


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

    Ctrl-C ends the training with the best epoch so far, or raises in the first epoch. An existing
    checkpoint is continued; on a CPU, the result is the same bit for bit. Without `validate`, the
    loss selects the best epoch.
    """
    run = TrainingRun(network, sampler, config)
    graph = None
    if can_be_graphed(config, vectors.device) and not vectors.streamed_to:
        graph = GraphedGradients(network, vectors, config.batch_size)
    run.resume(checkpoint)
    batches = sampler.batch_count
    total = config.epochs * batches
    done = run.finished_epochs * batches
    try:
        with Progress("network", total, "batches", shown=log.progress, done=done) as bar:
            while not run.is_done():
                started = time.monotonic()
                with fast_matmul(vectors.device), keep_freed_memory(vectors.device):
                    loss = _train_epoch(run, vectors, graph, bar)
                metrics = None if validate is None else validate(network)
                epoch, is_best = run.finish_epoch(loss, metrics, time.monotonic() - started)
                if checkpoint is not None:
                    checkpoint.save(run.state())
                log.write(epoch, is_best)
    except KeyboardInterrupt:
        if not run.history.epochs:
            raise
        run.history.interrupted = True
    return run.finish()


def _train_epoch(
    run: TrainingRun, vectors: ConceptVectors, graph: GraphedGradients | None, bar: Progress
) -> float:
    """Train on every relation once, and return the mean loss."""
    number = run.finished_epochs + 1
    batch_count = run.sampler.batch_count
    run.network.train()
    total = torch.zeros((), device=vectors.device)
    batches = run.sampler.epoch(vectors.device if graph is None else CPU)
    updated = time.monotonic()
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
        raise ModelError(f"the loss became {mean} in epoch {number}", fix=fix)
    return mean


def train_batch(
    run: TrainingRun,
    vectors: ConceptVectors,
    batch: TrainingBatch,
    graph: GraphedGradients | None = None,
) -> Tensor:
    """Make one optimizer step, in as many parts as memory requires, and return the loss."""
    loss = None if graph is None or run.parts > 1 else graph.compute(batch)
    if loss is not None:
        run.optimizer.step()
        return loss
    whole = batch.to(vectors.device)
    loss = run.compute_in_parts(
        lambda: compute_gradients(run, vectors, whole), len(batch.queries), ADVICE
    )
    run.optimizer.step()
    return loss


def compute_gradients(run: TrainingRun, vectors: ConceptVectors, batch: TrainingBatch) -> Tensor:
    """Compute the gradients of the batch's mean loss, and return this loss."""
    if run.parts == 1:
        loss = run.network.loss(vectors, batch)
        loss.backward()
        return loss.detach()
    state = random_state(vectors.device)
    total = vectors.names.new_zeros((), device=vectors.device)
    count = 0
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


class TrainingRun(Run):
    """The state of the network's training between two epochs."""

    def __init__(self, network: MatchingNetwork, sampler: TrainingSampler, config: Config) -> None:
        fused = next(network.parameters()).device.type in ("cpu", "cuda")
        optimizer = without_compiler(torch.optim.Adam)(
            network.parameters(), config.learning_rate, amsgrad=True, fused=fused
        )
        super().__init__(network, optimizer, sampler.rng)
        self.network = network
        self.sampler = sampler
        self.config = config
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
            # Any decrease counts as better: a relative threshold is misleading below zero.
            optimizer,
            factor=0.5,
            patience=3,
            threshold=0.0,
            threshold_mode="abs",
        )

    def is_done(self) -> bool:
        """Return whether the epochs or the patience are used up."""
        done = self.finished_epochs
        return done >= self.config.epochs or (
            done - self.history.best >= self.config.patience and done > 0
        )

    def finish_epoch(
        self, loss: float, validation: Metrics | None, seconds: float
    ) -> tuple[Epoch, bool]:
        """Record an epoch; return the record, and whether the epoch is the best so far."""
        rate = self.optimizer.param_groups[0]["lr"]
        epoch = Epoch(self.finished_epochs + 1, loss, rate, validation, round(seconds, 3))
        self.history.epochs.append(epoch)
        monitored = loss  # lower is better
        if validation is not None:
            by_rank = self.config.monitor == "mean_rank"
            monitored = validation.mr if by_rank else -validation.reciprocal_rank
        self.scheduler.step(monitored)
        return epoch, self.keep_best(monitored)

    def state(self) -> State:
        """Return the state that the next epochs depend on."""
        state = super().state()
        return State(state.tensors, state.values | {"scheduler": self.scheduler.state_dict()})

    def restore(self, state: State) -> None:
        """Restore the state from a checkpoint."""
        super().restore(state)
        self.scheduler.load_state_dict(state.values["scheduler"])


def can_be_graphed(config: Config, device: torch.device) -> bool:
    """Return whether a training step can be recorded as a CUDA graph."""
    shared = config.negative_sampling == "shared" and config.loss == "infonce"
    return device.type == "cuda" and shared and not config.quirks.double_exp


class GraphedGradients:
    """CUDA graphs that compute the gradients of CPU batches with exactly `batch_size` queries."""

    def __init__(self, network: MatchingNetwork, vectors: ConceptVectors, batch_size: int) -> None:
        self.network = network
        self.vectors = vectors
        self.batch_size = batch_size
        self._recorded: _Recorded | None = None
        self._misses = self._graphs = 0

    def compute(self, batch: TrainingBatch) -> Tensor | None:
        """Compute the gradients of a batch and return its mean loss, or None if no graph fits."""
        if len(batch.queries) != self.batch_size:
            return None
        if self._recorded is None or not self._recorded.shape.holds(batch):
            self._misses += 1
            if self._graphs and (self._misses < MAX_MISSES or self._graphs == MAX_GRAPHS):
                return None
            self._record(batch)
        return None if self._recorded is None else self._recorded.replay(batch)

    def _record(self, batch: TrainingBatch) -> None:
        """Record a graph for batches of about this size, if the batch and the memory allow it."""
        shape = PaddedShape.with_margin(batch)
        if not shape.holds(batch):
            self._graphs = MAX_GRAPHS
            return
        self._recorded = None
        self._misses = 0
        self._graphs += 1
        try:
            self._recorded = _Recorded(self.network, self.vectors, shape, batch)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            self._graphs = MAX_GRAPHS


class _Recorded:
    """A graph that reads its batch from a buffer, and writes the loss and the gradients."""

    def __init__(
        self,
        network: MatchingNetwork,
        vectors: ConceptVectors,
        shape: PaddedShape,
        batch: TrainingBatch,
    ) -> None:
        self.shape = shape
        self.parameters = list(network.parameters())
        self._device = shape.buffer(vectors.device)
        self._host = [shape.buffer(torch.device("cpu"), pinned=True) for _ in range(2)]
        self._copied = [torch.cuda.Event() for _ in self._host]
        self._turn = 0
        self._load(batch)
        static = shape.view(self._device)

        def compute() -> Tensor:
            for parameter in self.parameters:
                parameter.grad = None
            loss = network.loss(vectors, static)
            loss.backward()
            return loss.detach()

        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                compute()
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._loss = compute()
        self._gradients = [parameter.grad for parameter in self.parameters]

    def replay(self, batch: TrainingBatch) -> Tensor:
        """Compute the gradients of a batch that fits, and return its loss."""
        self._load(batch)
        self._graph.replay()
        for parameter, gradient in zip(self.parameters, self._gradients, strict=True):
            parameter.grad = gradient
        return self._loss.clone()

    def _load(self, batch: TrainingBatch) -> None:
        """Copy a batch to the device, possibly while the previous step still runs there."""
        self._turn = 1 - self._turn
        self._copied[self._turn].synchronize()
        self.shape.fill(self._host[self._turn], batch)
        self._device.copy_(self._host[self._turn], non_blocking=True)
        self._copied[self._turn].record()
