"""Training and ranking from ten thousand to a million concepts: time, memory, growth exponents.

    python benchmarks/scale.py --json scale.json                 # CPU: CPU seconds, one thread
    python benchmarks/scale.py --device cuda --json scale.json   # GPU: seconds on the clock

The taxonomies are those of `mag_shaped_taxonomy.py` with generated vectors, so neither an encoder
nor the internet is needed. The network is that of the preset `fast`. Every size runs in a process
of its own, so that its peak memory is its own. Where an epoch or a ranking is long, a part of it is
measured and multiplied; the output says which part. A growth exponent of 1 is linear time.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mag_shaped_taxonomy import DIMENSION, NOISE, generate_vectors, mag_shaped_taxonomy, unit_rows

from taxoexpan import Taxonomy
from taxoexpan.config import Config, load_preset
from taxoexpan.device import fast_matmul
from taxoexpan.network.concept_vectors import ConceptVectors, Queries
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.fitting.calibrator_learning import PRIOR_WITHOUT_TOWER
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Concept
from taxoexpan.training.loop import GraphedGradients, TrainingRun, can_be_graphed, train_batch
from taxoexpan.training.sampling import CPU, TrainingSampler

SIZES = (10_000, 100_000, 1_000_000)
QUERIES = 1_000
WARM_UP = 3
"""Batches before those that are measured."""
MEBIBYTE = 2**20


@dataclass
class Measurement:
    """The seconds of every step at one size, the peak memory in MiB, and what was multiplied."""

    concepts: int
    relations: int
    device: str
    seconds: dict[str, float] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class Clock:
    """Measures CPU time on a CPU, and time on the clock with a synchronized GPU."""

    def __init__(self, device: torch.device) -> None:
        self.is_gpu = device.type == "cuda"

    def now(self) -> float:
        """Return the seconds since some moment."""
        if self.is_gpu:
            torch.cuda.synchronize()
            return time.perf_counter()
        return time.process_time()

    def seconds(self, function: Callable[[], object]) -> float:
        """Return the seconds that a function takes."""
        began = self.now()
        function()
        return self.now() - began


@dataclass(frozen=True)
class Task:
    """A generated taxonomy with vectors, and queries that belong near random concepts."""

    taxonomy: Taxonomy
    vectors: ConceptVectors
    queries: Queries


def main() -> None:
    options = parse_arguments()
    if options.one:
        print(json.dumps(asdict(measure(options.one, options))))
        return
    found = [measure_in_own_process(size) for size in options.concepts]
    report = {
        "machine": describe_machine(options.device),
        "torch": torch.__version__,
        "threads": options.threads,
        "time": "seconds on the clock" if options.device.startswith("cuda") else "CPU seconds",
        "sizes": [asdict(each) for each in found],
        "growth": growth(found),
    }
    print(table(found))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--concepts", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batches", type=int, default=30, help="batches to measure per epoch")
    parser.add_argument("--queries", type=int, default=64, help="queries to rank, and multiply")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure_in_own_process(size: int) -> Measurement:
    """Measure one size in a new process with the same options."""
    command = [sys.executable, *sys.argv, "--one", str(size)]
    finished = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    result = Measurement(**json.loads(finished.stdout.splitlines()[-1]))
    print(json.dumps(asdict(result)), file=sys.stderr, flush=True)
    return result


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
        seconds = clock.seconds(lambda: train_some(measured))
    found.seconds["one epoch"] = seconds / measured * sampler.batch_count
    found.notes.append(f"epoch: {measured} of {sampler.batch_count:,} batches measured")
    network.eval()


def measure_ranking(
    task: Task, network: MatchingNetwork, config: Config, clock: Clock, found: Measurement
) -> None:
    """Measure the keys of all anchors, and rankings of some queries, multiplied to a thousand."""
    began = clock.now()
    texts = AnchorTexts.of(task.taxonomy, None)
    found.seconds["words of all labels"] = clock.now() - began
    anchors = Anchors(task.taxonomy, task.vectors, config.max_siblings, texts=texts)
    began = clock.now()
    keys = anchors.encode(network)
    found.seconds["keys of all anchors"] = clock.now() - began
    found.seconds["keys again, as in validation"] = clock.seconds(lambda: anchors.encode(network))
    ranker = Ranker(network, anchors, keys)
    few = task.queries[: max(1, len(task.queries) // 8)]
    for name, fusion in (("network", None), ("all signals", PRIOR_WITHOUT_TOWER)):
        ranker = ranker.with_fusion(fusion)
        ranker.rank(few, 10)
        seconds = clock.seconds(partial(ranker.rank, task.queries, 10))
        found.seconds[f"1,000 queries by {name}"] = seconds / len(task.queries) * QUERIES
    found.notes.append(f"ranking: {len(task.queries)} of {QUERIES:,} queries measured")


def peak_memory() -> float:
    """Return the peak memory of this process in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (MEBIBYTE if sys.platform == "darwin" else 1024)


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


def describe_machine(device: str) -> str:
    """Return the name of the GPU, or the architecture of the CPU."""
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(torch.device(device))
    return f"{platform.machine()}, {platform.system()}"


if __name__ == "__main__":
    main()
