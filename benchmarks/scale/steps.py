"""Steps of training and ranking at several sizes: time, memory, growth exponents.

Times are CPU seconds, or seconds on the clock with `--device cuda`. The network is that of the
preset `thorough`. Every size runs in a process of its own, so that its peak memory is its own.
Where an epoch or a ranking is long, a part of it is measured and multiplied; the output says which
part. A growth exponent of 1 is linear time.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice, pairwise
from typing import Any

import numpy as np
import torch

from benchmarks.scale.mag_shaped_taxonomy import (
    DIMENSION,
    NOISE,
    generate_vectors,
    mag_shaped_taxonomy,
    unit_rows,
)
from benchmarks.scale.measures import (
    MEBIBYTE,
    Clock,
    describe_machine,
    in_own_process,
    peak_memory,
)
from taxoexpan import Taxonomy
from taxoexpan.config import Config, load_preset
from taxoexpan.device import CPU, fast_matmul
from taxoexpan.network.concept_vectors import ConceptVectors, Queries
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.fitting.calibrator_learning import prior_for
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Concept
from taxoexpan.training.loop import GraphedGradients, TrainingRun, can_be_graphed, train_batch
from taxoexpan.training.sampling import TrainingSampler

SIZES = (10_000, 100_000, 1_000_000)
QUERIES = 1_000
WARM_UP = 3
"""Batches before those that are measured."""


@dataclass
class Measurement:
    """The seconds of every step at one size, the peak memory in MiB, and what was multiplied."""

    concepts: int
    relations: int
    device: str
    seconds: dict[str, float] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Task:
    """A generated taxonomy with vectors, and queries that belong near random concepts."""

    taxonomy: Taxonomy
    vectors: ConceptVectors
    queries: Queries


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("--concepts", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batches", type=int, default=30, help="batches to measure per epoch")
    parser.add_argument("--queries", type=int, default=64, help="queries to rank, and multiply")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all sizes, and print a table."""
    found = [in_own_process(measure, size, options) for size in options.concepts]
    print(table(found))
    return {
        "machine": describe_machine(options.device),
        "torch": torch.__version__,
        "threads": options.threads,
        "time": "seconds on the clock" if options.device.startswith("cuda") else "CPU seconds",
        "sizes": [asdict(each) for each in found],
        "growth": growth(found),
    }


def measure(size: int, options: argparse.Namespace) -> Measurement:
    """Measure all steps at one size."""
    torch.set_num_threads(options.threads)
    device, config = torch.device(options.device), load_preset("thorough")
    task = make_task(size, options.queries, device)
    found = Measurement(size, len(task.taxonomy.relations), options.device)
    clock = Clock(device)
    network = MatchingNetwork(config, DIMENSION)
    network.reset(torch.Generator().manual_seed(0))
    network.to(device)
    found.memory["vectors and taxonomy"] = peak_memory()
    if clock.is_gpu:
        torch.cuda.reset_peak_memory_stats()
    measure_epoch(task, network, config, options.batches, clock, found)
    measure_ranking(task, network, config, clock, found)
    found.memory["peak"] = peak_memory()
    if clock.is_gpu:
        found.memory["peak of the GPU"] = torch.cuda.max_memory_allocated() / MEBIBYTE
    return found


def make_task(size: int, query_count: int, device: torch.device) -> Task:
    """Generate a taxonomy with vectors; each query lies near a random concept."""
    taxonomy = mag_shaped_taxonomy(size)
    rng = np.random.default_rng(1)
    last_words = [label.split()[-1] for label in taxonomy.labels]
    rows = {word: row for row, word in enumerate(dict.fromkeys(last_words))}
    head_of = np.array([rows[word] for word in last_words])
    heads = unit_rows(rng.standard_normal((len(rows), DIMENSION), dtype=np.float32))
    names = generate_vectors(taxonomy)
    near = rng.integers(0, size, query_count)
    noise = rng.standard_normal((query_count, DIMENSION), dtype=np.float32)
    own = unit_rows(names[near] + noise * (NOISE / math.sqrt(DIMENSION)))
    concepts = [
        Concept(f"Q{number}", f"new {taxonomy.labels[row]}")
        for number, row in enumerate(near.tolist())
    ]
    both = torch.from_numpy(np.stack([own, heads[head_of[near]]])).to(device)
    tensors = (torch.from_numpy(array).to(device) for array in (names, heads, head_of))
    return Task(taxonomy, ConceptVectors(*tensors), Queries(both, concepts=concepts))


def measure_epoch(
    task: Task,
    network: MatchingNetwork,
    config: Config,
    batches: int,
    clock: Clock,
    found: Measurement,
) -> None:
    """Measure some batches of an epoch, and multiply them to a whole one."""
    began = clock.now()
    sampler = TrainingSampler(task.taxonomy, config, 0)
    graph = None
    if can_be_graphed(config, task.vectors.device):
        graph = GraphedGradients(network, task.vectors, config.batch_size)
    stream = sampler.epoch(task.vectors.device if graph is None else CPU)
    next(stream)
    found.seconds["setup of the training"] = clock.now() - began
    run = TrainingRun(network, sampler, config)
    network.train()

    def train_some(count: int) -> None:
        for batch in islice(stream, count):
            train_batch(run, task.vectors, batch, graph)

    with fast_matmul(task.vectors.device):
        train_some(WARM_UP)
        measured = min(batches, sampler.batch_count - WARM_UP - 1)
        _, seconds = clock.timed(lambda: train_some(measured))
    found.seconds["one epoch"] = seconds / measured * sampler.batch_count
    found.notes.append(f"epoch: {measured} of {sampler.batch_count:,} batches measured")
    network.eval()


def measure_ranking(
    task: Task, network: MatchingNetwork, config: Config, clock: Clock, found: Measurement
) -> None:
    """Measure the keys of all anchors, and rankings of some queries, multiplied to a thousand."""
    seconds = found.seconds
    texts, seconds["words of all labels"] = clock.timed(lambda: AnchorTexts.of(task.taxonomy, None))
    anchors = Anchors(task.taxonomy, task.vectors, config.max_siblings, texts=texts)
    keys, seconds["keys of all anchors"] = clock.timed(lambda: anchors.encode(network))
    _, seconds["keys again, as in validation"] = clock.timed(lambda: anchors.encode(network))
    ranker = Ranker(network, anchors, keys)
    few = task.queries[: max(1, len(task.queries) // 8)]
    for name, fusion in (("network", None), ("all signals", prior_for(ranker).fusion.mean)):
        ranker = ranker.with_fusion(fusion)
        ranker.rank(few, 10)
        _, taken = clock.timed(partial(ranker.rank, task.queries, 10))
        seconds[f"1,000 queries by {name}"] = taken / len(task.queries) * QUERIES
    found.notes.append(f"ranking: {len(task.queries)} of {QUERIES:,} queries measured")


def growth(found: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Return the exponent of every step's time between neighboring sizes."""
    return [
        {
            "from": one.concepts,
            "to": other.concepts,
            "exponents": {
                step: round(exponent(one, other, step), 3)
                for step in one.seconds
                if one.seconds[step] > 0 and other.seconds[step] > 0
            },
        }
        for one, other in pairwise(found)
    ]


def exponent(one: Measurement, other: Measurement, step: str) -> float:
    """Return the power of the number of concepts by which the time of a step grows."""
    return math.log(other.seconds[step] / one.seconds[step]) / math.log(
        other.concepts / one.concepts
    )


def table(found: Sequence[Measurement]) -> str:
    """Return the figures as a table in Markdown: one row per step, one column per size."""
    steps = growth(found)
    header = ["", *(f"{each.concepts:,}" for each in found)]
    header += [f"exponent to {each['to']:,}" for each in steps]
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    for step in found[0].seconds:
        cells = [step, *(f"{each.seconds[step]:,.2f} s" for each in found)]
        cells += [f"{each['exponents'].get(step, math.nan):.2f}" for each in steps]
        lines.append("| " + " | ".join(cells) + " |")
    for kind in found[0].memory:
        cells = [f"memory: {kind}", *(f"{each.memory[kind]:,.0f} MiB" for each in found)]
        lines.append("| " + " | ".join([*cells, *[""] * len(steps)]) + " |")
    notes = [f"{each.concepts:,}: {'; '.join(each.notes)}" for each in found]
    return "\n".join([*lines, "", *notes])
