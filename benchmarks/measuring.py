"""How the benchmarks measure, and what they measure against."""

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
ROUNDS, TRIES, MOST_STEAL = 5, 3, 0.03


class Products:
    """The matrix products that a training step cannot do without, forward and backward."""

    def __init__(
        self, network: MatchingNetwork, vectors: ConceptVectors, batch: TrainingBatch
    ) -> None:
        e, device = batch.egonets, vectors.device
        anchors, concepts, queries = e.size, len(e.concepts), len(batch.queries)
        tried = anchors if batch.negatives is None else len(batch.negatives)
        hidden, mixed = network.output.inputs, network.output.matrix().shape[1]
        size, output = vectors.dimension, network.output.size
        shapes = [(concepts, size, hidden)] * 2  # W x and its gradient; x needs none
        shapes += [(queries, size, output)] * 2 + [(queries, output, mixed)] * 3
        shapes += [(tried, mixed, queries)] * 3  # scores
        if network.fusion is not None:
            heads = len(vectors.select(e.concepts[: e.near]).used_heads()[0])
            shapes += [(e.near, size, queries), (heads, size, queries)]  # cosines
        self.operands = [
            tuple(torch.randn(shape, device=device) for shape in ((m, k), (k, n), (m, n)))
            for m, k, n in shapes
        ]

    def run(self) -> None:
        """Do them all."""
        for left, right, out in self.operands:
            torch.mm(left, right, out=out)


def made_up_taxonomy(concepts: int = CONCEPTS, relations: int = RELATIONS) -> Taxonomy:
    """Random relations with hubs: a parent is the more likely the earlier it comes."""
    generator = np.random.default_rng(0)
    children = np.concatenate(
        [np.arange(1, concepts), generator.integers(1, concepts, relations - concepts + 1)]
    )
    parents = (generator.random(len(children)) ** 4 * children).astype(np.int64)
    names = [f"concept {i}" for i in range(concepts)]
    return Taxonomy.from_columns(names, names, parents, children)


def report(what: str, one: Callable[[], object], other: Callable[[], object]) -> None:
    """Print how many times longer the first takes than the second."""
    ratio, seconds, steal = steadily(lambda: measure(one, other))
    print(f"{ratio:6.2f} × {what}  ({seconds * 1e3:,.0f} ms; steal {steal:.1%})", flush=True)


def steadily(measured: Callable[[], tuple[float, float, float]]) -> tuple[float, float, float]:
    """A measurement that the host did not disturb much, or the last of a few."""
    for _ in range(TRIES):
        ratio, seconds, steal = measured()
        if steal <= MOST_STEAL:
            break
    return ratio, seconds, steal


def measure(one: Callable[[], object], other: Callable[[], object]) -> tuple[float, float, float]:
    """The ratio of the best times, the first one's best time, and the stolen share."""
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
    """Ticks stolen by the host, and all ticks; zero where the system does not tell."""
    try:
        ticks = [int(cell) for cell in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    except OSError:
        return 0, 0
    return ticks[7], sum(ticks[:8])
