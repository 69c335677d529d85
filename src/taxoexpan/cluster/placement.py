"""Placement of blocks of new concepts with Ray Data.

Ray Data keeps the order of the blocks, restarts actors that have died, and repeats their blocks.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from taxoexpan.cluster.session import ray_session
from taxoexpan.errors import ConfigurationError, ModelError
from taxoexpan.explain import Evidence
from taxoexpan.explain.explanation import QUERY_BLOCK, SuggestedBlock, query_blocks
from taxoexpan.features.corpus.parallel import available_cores
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Concept, Taxonomy

MAX_WORKERS = 8
"""The default number of workers is at most this, because each holds a copy of the model."""
NO_PROGRESS_SECONDS = 1800.0
"""Workers that finish no block for so long have probably been killed again and again."""

BLOCKS_PER_WORKER = 2
"""One block is computed while the next one waits."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The number of workers, and the address of a Ray cluster (HOST:PORT; None is this machine).

    The model directory must have the same path on all machines of a cluster.
    """

    workers: int | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class WorkerPool:
    """A number of workers, and the threads and GPUs of each worker."""

    workers: int
    threads: int
    gpus: int = 0

    @classmethod
    def plan(cls, workers: int | None, nodes: list[int], gpus: int = 0) -> WorkerPool:
        """Divide the cores of the nodes, or the GPUs if there are any, among the workers."""
        cores = sum(nodes)
        if gpus:
            return cls(min(workers or gpus, gpus), max(1, cores // gpus), 1)
        workers = workers or min(cores, MAX_WORKERS * len(nodes))
        return cls(workers, max(1, min(cores // workers, *nodes)))


def check_ray() -> None:
    """Refuse to start if Ray or Arrow is not installed."""
    missing = [name for name in ("ray", "pyarrow") if find_spec(name) is None]
    if missing:
        message = f"the engine ray needs {' and '.join(missing)}"
        raise ConfigurationError(message, fix="pip install 'taxoexpan[cluster]'")


def suggest_on_cluster(
    directory: Path,
    taxonomy: Taxonomy,
    concepts: Sequence[Concept],
    options: ClusterOptions,
    *,
    top_k: int = 5,
    explain: bool = False,
    device: str = "auto",
    features: str | None = None,
) -> Iterator[SuggestedBlock]:
    """Yield the blocks of suggestions, computed by several processes.

    `taxonomy` is the taxonomy of the model in `directory`; the concepts must be new and have ids.
    """
    check_ray()
    from taxoexpan.cluster.worker import WorkerTask
    from taxoexpan.model_directory import model_digest

    blocks = list(query_blocks(concepts))
    if not blocks:
        return
    local = WorkerPool.plan(options.workers, [available_cores()])
    digest = model_digest(directory)
    placed = 0
    with ray_session(options.address, local.workers * local.threads) as ray:
        pool = local if options.address is None else _cluster_pool(ray, options.workers, device)
        if pool.gpus and device == "auto":
            device = "cuda"
        task = WorkerTask(
            directory.resolve(), digest, device, features, top_k, explain, pool.threads
        )
        for table in _placed(ray, blocks, task, pool):
            yield read_block(taxonomy, concepts, table.to_pylist())
            placed += len(table)
    if placed != len(concepts):
        message = f"only {placed:,} of {len(concepts):,} concepts came back"
        raise ModelError(message, fix="use the engine local, and report this error")


def read_block(
    taxonomy: Taxonomy, concepts: Sequence[Concept], rows: Sequence[dict[str, Any]]
) -> SuggestedBlock:
    """Return the suggestions in the rows of one table."""
    block = SuggestedBlock([], [])
    for row in rows:
        content = json.loads(row["content"])
        if "error" in content:
            raise ModelError(content["error"])
        for values in content["suggestions"]:
            suggestion = Suggestion.restored(concepts[row["number"]], values)
            parent = taxonomy.concept(suggestion.parent.id)
            block.suggestions.append(replace(suggestion, parent=parent))
        if "evidence" in content:
            block.evidence.append(Evidence.from_dict(content["evidence"]))
        for message in content.get("warnings", ()):
            warnings.warn(message, stacklevel=3)
    return block


def _cluster_pool(ray: Any, workers: int | None, device: str) -> WorkerPool:
    """Plan the workers of a cluster by the cores and GPUs of its machines."""
    alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    cores = [int(resources["CPU"]) for resources in alive if resources.get("CPU", 0) >= 1]
    gpus = 0
    if device == "auto" or device.startswith("cuda"):
        gpus = int(sum(resources.get("GPU", 0) for resources in alive))
    return WorkerPool.plan(workers, cores or [1], gpus)


def _placed(ray: Any, blocks: Sequence[Sequence[Concept]], task: Any, pool: WorkerPool) -> Any:
    """Yield a table of placements for every block, in order."""
    from taxoexpan.cluster.worker import PlacementWorker, concepts_table

    with warnings.catch_warnings(action="ignore"):
        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.execution_no_progress_timeout_s = NO_PROGRESS_SECONDS
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        tables = [concepts_table(i * QUERY_BLOCK, block) for i, block in enumerate(blocks)]
        placements = ray.data.from_arrow(tables).map_batches(
            PlacementWorker,
            fn_constructor_args=[task],
            # The tables have this size, so every batch is one of them.
            batch_size=QUERY_BLOCK,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(
                size=min(pool.workers, len(blocks)),
                max_tasks_in_flight_per_actor=BLOCKS_PER_WORKER,
            ),
            num_cpus=pool.threads,
            num_gpus=pool.gpus,
        )
        tables_back = iter(placements.iter_batches(batch_size=None, batch_format="pyarrow"))
    while (table := _next(tables_back)) is not None:
        yield table


def _next(tables: Iterator[Any]) -> Any:
    """Return the next table, or None at the end; convert an error of Ray into one message."""
    with warnings.catch_warnings(action="ignore"):
        try:
            return next(tables, None)
        except Exception as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            message = f"the workers failed ({lines[-1] if lines else type(error).__name__})"
            fix = "install the same taxoexpan everywhere and, if memory is short, use fewer workers"
            raise ModelError(message, fix=fix) from None
