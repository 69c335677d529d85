"""Training on a GPU: seconds per epoch, peak memory, a profile, and scaling with size.

    python benchmarks/gpu_training.py export DIRECTORY mag-cs.npz     # needs the whole package
    python benchmarks/gpu_training.py measure mag-cs.npz OUT          # needs a GPU, torch, numpy

DIRECTORY holds the paper's MAG-CS as its authors published it (see README.md). The first command
stores its relations and the static vectors of its names, so that the second can run on a machine
without the encoder. GPU times are absolute; the results name the GPU.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from timing import MatrixProducts, synthetic_taxonomy

from taxoexpan import Taxonomy
from taxoexpan.config import Config, load_preset
from taxoexpan.device import fast_matmul
from taxoexpan.network.concept_vectors import ConceptVectors, LabeledQueries, distinct_rows
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.training.loop import GraphedGradients, train
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.sampling import TrainingSampler


@dataclass(frozen=True)
class Task:
    """A taxonomy with its vectors, and held-out queries with their parents."""

    taxonomy: Taxonomy
    vectors: ConceptVectors
    queries: torch.Tensor
    parents: list[np.ndarray]


def main() -> None:
    """Export or measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["export", "measure"])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument(
        "--parts", nargs="*", default=["products", "profile", "epochs", "memory", "growth"]
    )
    options = parser.parse_args()
    if options.what == "export":
        export(options.source, options.target)
        return
    options.target.mkdir(parents=True, exist_ok=True)
    task = load(options.source)
    found: dict[str, Any] = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
    }
    for part in options.parts:
        found[part] = PARTS[part](task, options.target)
        print(json.dumps({part: found[part]}, indent=1), flush=True)
        (options.target / "figures.json").write_text(json.dumps(found, indent=1))


def export(directory: Path, target: Path) -> None:
    """Store the training taxonomy of MAG-CS, its vectors and the validation queries in one file."""
    from taxoexpan.features.embedding import embed_concepts
    from taxoexpan.features.static import StaticEncoder
    from taxoexpan.training.holdout import hold_out

    base = directory / "computer_science.terms"
    whole = Taxonomy.read(base)
    validation = base.with_suffix(".terms.validation").read_text().split()
    test = base.with_suffix(".terms.test").read_text().split()
    training = whole.without([*validation, *test])
    held = hold_out(whole, validation, training)
    encoder = StaticEncoder()
    parents, children = training.relation_indices
    names, heads = embed_concepts(encoder, training.concepts)
    first, head_of = distinct_rows(heads)
    np.savez(
        target,
        parents=parents,
        children=children,
        names=names,
        heads=heads[first],
        head_of=head_of,
        queries=embed_concepts(encoder, held.concepts),
        truth=np.concatenate(held.parents),
        counts=np.array([len(p) for p in held.parents]),
    )


def load(path: Path) -> Task:
    """Load the file of `export` onto the GPU."""
    arrays = np.load(path)
    vectors = ConceptVectors(
        *(torch.from_numpy(arrays[n]).cuda() for n in ("names", "heads", "head_of"))
    )
    truth = np.split(arrays["truth"], np.cumsum(arrays["counts"])[:-1])
    taxonomy = numbered_taxonomy(len(vectors.names), arrays["parents"], arrays["children"])
    return Task(taxonomy, vectors, torch.from_numpy(arrays["queries"]).cuda(), truth)


def numbered_taxonomy(size: int, parents: np.ndarray, children: np.ndarray) -> Taxonomy:
    """Return a taxonomy with numbers as labels."""
    names = [str(i) for i in range(size)]
    return Taxonomy.from_columns(names, names, parents, children)


def new_network(config: Config, dimension: int) -> MatchingNetwork:
    """Return an untrained network on the GPU."""
    network = MatchingNetwork(config, dimension)
    network.reset(torch.Generator().manual_seed(0))
    return network.cuda()


def run(task: Task, config: Config) -> dict[str, Any]:
    """Train with validation after every epoch; return times, metrics and peak memory."""
    torch.manual_seed(0)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    validated: list[float] = []
    anchors = Anchors(task.taxonomy, task.vectors, config.max_siblings)

    def validate(network: MatchingNetwork) -> Metrics:
        torch.cuda.synchronize()
        began = time.perf_counter()
        queries = LabeledQueries(task.queries, parents=task.parents)
        figures = compute_metrics(Ranker(network, anchors).true_ranks(queries))
        validated.append(time.perf_counter() - began)
        return figures

    network = new_network(config, task.vectors.dimension)
    sampler = TrainingSampler(task.taxonomy, config, 0)
    began = time.perf_counter()
    history = train(network, task.vectors, sampler, validate, config)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    per_epoch = [e.seconds - v for e, v in zip(history.epochs, validated, strict=True)]
    last = history.best_epoch.validation
    return {
        "epochs": len(history.epochs),
        "total_seconds": round(seconds, 2),
        "seconds_per_epoch": round(float(np.median(per_epoch)), 3),
        "first_epoch": round(per_epoch[0], 3),
        "seconds_per_validation": round(float(np.median(validated)), 3),
        "peak_gb": round(torch.cuda.max_memory_allocated() / 1e9, 2),
        "best_epoch": history.best,
        "validation": last.as_dict() if last else None,
    }


def paper(**changes: Any) -> Config:
    """Return the paper's sizes, by default with all anchors as negatives."""
    settings = {
        "negative_sampling": "all",
        "batch_size": 1024,
        "patience": 1000,
        "epochs": 20,
    } | changes
    return load_preset("paper", **settings)


def epochs(task: Task, out: Path) -> dict[str, Any]:
    """Measure the paper's sizes with all anchors, for several batch sizes."""
    del out
    return {f"batch {size}": run(task, paper(batch_size=size)) for size in (512, 1024, 2048)}


def products(task: Task, out: Path) -> dict[str, Any]:
    """Measure the ratio of a training step to its bare matrix products."""
    del out
    found = {}
    for name, config, graphed in (
        ("paper, all, batch 512", paper(batch_size=512), False),
        ("paper, all, batch 1024", paper(), False),
        ("paper, all, batch 4096", paper(batch_size=4096), False),
        ("best, without a graph", load_preset("best"), False),
        ("best", load_preset("best"), True),
    ):
        step, bare = step_and_products(task, config, graphed)
        with fast_matmul(torch.device("cuda")):
            one, other = timed(step), timed(bare)
        found[name] = {"step_ms": one, "products_ms": other, "ratio": round(one / other, 2)}
    return found


def step_and_products(
    task: Task, config: Config, graphed: bool = False
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return one training step on an existing batch, and its matrix products alone.

    With `graphed`, the step copies its batch to the GPU and runs as a CUDA graph.
    """
    network = new_network(config, task.vectors.dimension)
    network.train()
    on_host = next(TrainingSampler(task.taxonomy, config, 0).epoch())
    batch = on_host.to(task.vectors.device)
    bare = MatrixProducts(network, task.vectors, batch)
    graph = GraphedGradients(network, task.vectors, config.batch_size)

    def step() -> None:
        if graphed:
            graph.compute(on_host)
            return
        network.zero_grad(set_to_none=True)
        network.loss(task.vectors, batch).backward()

    return step, bare.run


def timed(function: Callable[[], None], rounds: int = 20) -> float:
    """Return the median time in milliseconds by the clock of the GPU."""
    for _ in range(3):
        function()
    times = []
    for _ in range(rounds):
        began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        began.record()
        function()
        ended.record()
        torch.cuda.synchronize()
        times.append(began.elapsed_time(ended))
    return round(float(np.median(times)), 3)


def profile(task: Task, out: Path) -> dict[str, Any]:
    """Profile the kernels of a step, and check that nothing in it waits for the GPU."""
    step, _ = step_and_products(task, paper())
    with fast_matmul(torch.device("cuda")):
        return {"waits": 0, "gpu_ms": profiled(step, out / "profile.txt")}


def profiled(step: Callable[[], None], target: Path) -> float:
    """Write the table of a step's operations; return the busy time of the GPU in milliseconds."""
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, record_shapes=True) as profiler:
        for _ in range(5):
            step()
        torch.cuda.synchronize()
    averages = profiler.key_averages(group_by_input_shape=True)
    kernels = [event for event in averages if not event.self_cpu_time_total]
    table = averages.table(
        sort_by="self_device_time_total", row_limit=40, max_shapes_column_width=70
    )
    target.write_text(table)
    return round(sum(event.self_device_time_total for event in kernels) / 5e3, 2)


def growth(task: Task, out: Path) -> dict[str, Any]:
    """Measure seconds per epoch on parts of MAG-CS and on synthetic taxonomies."""
    del out
    found = {}
    for name, taxonomy in sizes(task):
        vectors = task.vectors
        if len(taxonomy) != len(vectors.names):
            drawn = torch.randn(2, len(taxonomy), vectors.dimension, device="cuda")
            vectors = ConceptVectors.of(drawn / drawn.norm(dim=2, keepdim=True))
        paper_sizes = load_preset(
            "paper", negative_sampling="uniform", num_negatives=256, batch_size=256
        )
        for preset, settings in (("best", load_preset("best")), ("paper", paper_sizes)):
            few = {"epochs": 1 if len(taxonomy) > 100_000 else 3}
            config = settings.model_copy(update=few)
            network = new_network(config, vectors.dimension)
            sampler = TrainingSampler(taxonomy, config, 0)
            history = train(network, vectors, sampler, None, config)
            seconds = min(epoch.seconds for epoch in history.epochs)
            found[f"{preset}, {name}"] = {
                "relations": len(taxonomy.relations),
                "seconds_per_epoch": seconds,
                "relations_per_second": round(len(taxonomy.relations) / seconds),
            }
    return found


def sizes(task: Task) -> list[tuple[str, Taxonomy]]:
    """Return 25, 50 and 100 % of MAG-CS, and synthetic taxonomies of 10^5 and 10^6 relations."""
    found = []
    rng = np.random.default_rng(0)
    leaves = np.flatnonzero(task.taxonomy.children_of.degrees == 0)
    for fraction in (0.25, 0.5, 1.0):
        gone = rng.permutation(leaves)[: int((1 - fraction) * len(leaves))]
        found.append(
            (f"MAG-CS {fraction:.0%} of leaves", task.taxonomy.without([str(i) for i in gone]))
        )
    for relations in (100_000, 1_000_000):
        concepts = int(relations * 24_754 / 38_524)
        found.append((f"synthetic, {relations:,}", synthetic_taxonomy(concepts, relations)))
    return found


def memory(task: Task, out: Path) -> dict[str, Any]:
    """Measure the same epoch with all memory, and with so little that batches must be halved."""
    del out
    found = {}
    config = paper(matching="mlp", hidden_dim=64, epochs=1)
    for fraction in (1.0, 0.1):
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(fraction)
        with warnings.catch_warnings(record=True) as messages:
            warnings.simplefilter("always")
            torch.manual_seed(0)
            network = new_network(config, task.vectors.dimension)
            sampler = TrainingSampler(task.taxonomy, config, 0)
            torch.cuda.reset_peak_memory_stats()
            history = train(network, task.vectors, sampler, None, config)
        found[f"{fraction:.0%} of the memory"] = {
            "loss": history.epochs[0].loss,
            "peak_gb": round(torch.cuda.max_memory_allocated() / 1e9, 2),
            "warnings": [str(w.message) for w in messages],
        }
    torch.cuda.set_per_process_memory_fraction(1.0)
    return found


PARTS = {
    "products": products,
    "profile": profile,
    "epochs": epochs,
    "memory": memory,
    "growth": growth,
}

if __name__ == "__main__":
    main()
