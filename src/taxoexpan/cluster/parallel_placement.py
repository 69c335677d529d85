"""Placing blocks of new concepts with Ray Data.

Ray Data streams the blocks through a pool of actors, keeps their order, restarts an actor that has
died, and gives its unfinished blocks to an actor again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from taxoexpan.cluster.cluster_options import ClusterOptions, WorkerPool, check_ray
from taxoexpan.cluster.ray_session import ray_session
from taxoexpan.errors import ModelError
from taxoexpan.explain.suggested_block import QUERY_BLOCK, SuggestedBlock, query_blocks
from taxoexpan.features.corpus.parallel import available_cores
from taxoexpan.taxonomy import Concept, Taxonomy

NO_PROGRESS_SECONDS = 1800.0
"""Workers that finish no block for so long have probably been killed again and again."""

BLOCKS_PER_WORKER = 2
"""One block is computed while the next one waits."""


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
    """Yield what `TaxoExpan.suggest_blocks` yields, computed by several processes.

    `taxonomy` is that of the model in `directory`, and the concepts are new and have ids.
    """
    check_ray()
    from taxoexpan.cluster.placement_columns import PlacementReader
    from taxoexpan.cluster.placement_worker import WorkerTask
    from taxoexpan.model_directory import model_digest

    blocks = list(query_blocks(concepts))
    if not blocks:
        return
    local = WorkerPool.plan(options.workers, [available_cores()])
    digest = model_digest(directory)
    reader = PlacementReader(taxonomy, concepts)
    with ray_session(options.address, local.workers * local.threads) as ray:
        pool = local if options.address is None else _cluster_pool(ray, options.workers, device)
        if pool.gpus and device == "auto":
            device = "cuda"
        task = WorkerTask(
            directory.resolve(), digest, device, features, top_k, explain, pool.threads
        )
        for table in _placed(ray, blocks, task, pool):
            block, messages = reader.read(table)
            for message in messages:
                warnings.warn(message, stacklevel=2)
            yield block
    if reader.placed != len(concepts):
        message = f"only {reader.placed:,} of {len(concepts):,} concepts came back"
        raise ModelError(f"{message}; use the engine local, and report this error")


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
    from taxoexpan.cluster.placement_columns import concepts_table
    from taxoexpan.cluster.placement_worker import PlacementWorker

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
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
    """Return the next table, or None at the end; an error of Ray becomes one message."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return next(tables, None)
        except Exception as error:
            raise ModelError(_message(error)) from None


def _message(error: Exception) -> str:
    """Say what to do about an error of Ray; its own text may have pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    last = lines[-1] if lines else type(error).__name__
    if "No module named" in str(error):
        return (
            f"a worker cannot import what it needs ({last}); install the same taxoexpan everywhere"
        )
    if "made no progress" in str(error):
        last = f"no worker has finished a block for {NO_PROGRESS_SECONDS / 60:.0f} minutes"
    return f"the workers failed ({last}); if memory is short, use fewer workers"
