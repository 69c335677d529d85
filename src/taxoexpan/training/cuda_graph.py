"""The gradients of a training step as a CUDA graph, for batches of a fixed `PaddedShape`."""

from __future__ import annotations

import torch
from torch import Tensor

from taxoexpan.config import Config
from taxoexpan.errors import is_out_of_memory
from taxoexpan.network.batch import PaddedShape, TrainingBatch
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork

WARM_UP = 2
"""Steps before the recording, so that libraries allocate what they need."""
MAX_MISSES = 3
"""Batches that do not fit, before a graph of a larger shape is recorded."""
MAX_GRAPHS = 4
"""Graphs that are recorded in one training; then batches differ too much."""


def can_be_graphed(config: Config, device: torch.device) -> bool:
    """Return whether a training step can be recorded as a CUDA graph."""
    shared = config.negative_sampling == "shared" and config.loss == "infonce"
    return device.type == "cuda" and shared and not config.quirks.double_exp


class GraphedGradients:
    """CUDA graphs that compute the gradients of CPU batches with exactly `batch_size` queries."""

    def __init__(self, network: MatchingNetwork, vectors: ConceptVectors, batch_size: int) -> None:
        self.network, self.vectors, self.batch_size = network, vectors, batch_size
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
        self._recorded, self._misses = None, 0
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
        self.shape, self.parameters = shape, list(network.parameters())
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
