"""Timing of two functions against each other, and a synthetic taxonomy to run them on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from taxoexpan import Taxonomy
from taxoexpan.network.batch import TrainingBatch
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork

CONCEPTS, RELATIONS = 24_754, 38_524
"""The size of the paper's MAG-CS."""
ROUNDS, MAX_TRIES, MAX_STEAL = 5, 3, 0.03
"""Rounds per measurement, and repetitions if the host takes more than this fraction of the CPU."""


class MatrixProducts:
    """The matrix products that a training step needs at least, forward and backward."""

    def __init__(
        self, network: MatchingNetwork, vectors: ConceptVectors, batch: TrainingBatch
    ) -> None:
        e = batch.egonets
        anchors, concepts, queries = e.size, len(e.concepts), len(batch.queries)
        tried = anchors if batch.negatives is None else len(batch.negatives)
        hidden, mixed = network.output.inputs, network.output.matrix().shape[1]
        size, output = vectors.dimension, network.output.size
        shapes = [(concepts, size, hidden)] * 2  # W x and its gradient; x needs none
        shapes += [(queries, size, output)] * 2 + [(queries, output, mixed)] * 3
        shapes += [(tried, mixed, queries)] * 3  # scores
        self.operands = [
            tuple(torch.randn(shape) for shape in ((m, k), (k, n), (m, n))) for m, k, n in shapes
        ]

    def run(self) -> None:
        """Compute all products."""
        for left, right, out in self.operands:
            torch.mm(left, right, out=out)


def synthetic_taxonomy(concepts: int = CONCEPTS, relations: int = RELATIONS) -> Taxonomy:
    """Return a random taxonomy with hubs: earlier concepts are more likely to be parents."""
    rng = np.random.default_rng(0)
    children = np.concatenate(
        [np.arange(1, concepts), rng.integers(1, concepts, relations - concepts + 1)]
    )
    parents = (rng.random(len(children)) ** 4 * children).astype(np.int64)
    names = [f"concept {i}" for i in range(concepts)]
    return Taxonomy.from_columns(names, names, parents, children)


def print_ratio(
    what: str, good: float, one: Callable[[], object], other: Callable[[], object]
) -> None:
    """Print the ratio of the time of the first function to that of the second."""
    ratio, seconds, steal = measure_undisturbed(one, other)
    about = f"{seconds * 1e3:,.0f} ms; steal {steal:.1%}"
    print(f"{ratio:6.2f} × {what}  (good: {good} or less; {about})", flush=True)


def measure_undisturbed(
    one: Callable[[], object], other: Callable[[], object]
) -> tuple[float, float, float]:
    """Repeat `measure` until the host takes little of the CPU, or for a few tries."""
    for _ in range(MAX_TRIES):
        ratio, seconds, steal = measure(one, other)
        if steal <= MAX_STEAL:
            break
    return ratio, seconds, steal


def measure(one: Callable[[], object], other: Callable[[], object]) -> tuple[float, float, float]:
    """Return the ratio of the best times, the best time of `one`, and the stolen fraction."""
    one()
    other()
    stolen, total = processor_ticks()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for function, found in zip((one, other), times, strict=True):
            began = time.perf_counter()
            function()
            found.append(time.perf_counter() - began)
    stolen_after, total_after = processor_ticks()
    steal = (stolen_after - stolen) / max(1, total_after - total)
    return min(times[0]) / min(times[1]), min(times[0]), steal


def processor_ticks() -> tuple[int, int]:
    """Return the ticks stolen by the host and all ticks; zeros if the system has no such counts."""
    try:
        ticks = [int(cell) for cell in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    except OSError:
        return 0, 0
    return ticks[7], sum(ticks[:8])
