"""Placement of blocks of new concepts with the actors of Ray.

Ray restarts actors that have died, and repeats their blocks.
"""

from __future__ import annotations

import json
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taxoexpan.cluster.session import ray_session
from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.errors import ConfigurationError, ModelError
from taxoexpan.explain import Evidence
from taxoexpan.explain.explanation import SuggestedBlock, query_blocks
from taxoexpan.features.corpus.parallel import available_cores
from taxoexpan.phrasing import pluralize
from taxoexpan.shared_options import SuggestOptions
from taxoexpan.taxonomy import Concept, Taxonomy

if TYPE_CHECKING:
    from taxoexpan.cluster.worker import WorkerTask

MAX_WORKERS = 8
"""The default number of workers is at most this, because each holds a copy of the model."""
NO_PROGRESS_SECONDS = 1800.0
"""Workers that finish no block for so long have probably been killed again and again."""

WAITING_BLOCKS = 8
"""Blocks per worker that are computed while an earlier one is not ready."""


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
    """Refuse to start if Ray is not installed."""
    if find_spec("ray") is None:
        raise ConfigurationError("the engine ray needs ray", fix="pip install 'taxoexpan[cluster]'")


def suggest_on_cluster(
    directory: Path,
    taxonomy: Taxonomy,
    concepts: Sequence[Concept],
    cluster: ClusterOptions,
    options: SuggestOptions,
    *,
    device: str = "auto",
    features: str | None = None,
    report: Callable[[str], object] = lambda _: None,
) -> Iterator[SuggestedBlock]:
    """Yield the blocks of suggestions, computed by several processes.

    `taxonomy` is the taxonomy of the model in `directory`; the concepts must be new and have ids.
    `report` gets a message when Ray starts, and when a worker has died.
    """
    check_ray()
    from taxoexpan.cluster.worker import WorkerTask
    from taxoexpan.model_directory import model_digest

    blocks = list(query_blocks(concepts))
    if not blocks:
        return
    local = WorkerPool.plan(cluster.workers, [available_cores()])
    digest = model_digest(directory)
    start = f"connecting to {cluster.address}" if cluster.address else "starting on this machine"
    report(f"ray: {start}; this can take a minute")
    with ray_session(cluster.address, local.workers * local.threads) as ray:
        pool = local if cluster.address is None else _cluster_pool(ray, cluster.workers, device)
        if pool.gpus and device == "auto":
            device = "cuda"
        task = WorkerTask(directory.resolve(), digest, device, features, options, pool.threads)
        count = min(pool.workers, len(blocks))
        report(f"ray: {pluralize(count, 'worker loads', 'workers load')} the model")
        with closing(_answers(ray, blocks, task, pool, report)) as answers:
            for block, answer in zip(blocks, answers, strict=True):
                yield read_block(taxonomy, block, answer)


def read_block(taxonomy: Taxonomy, concepts: Sequence[Concept], answer: str) -> SuggestedBlock:
    """Return the suggestions in the answer of a worker."""
    block = SuggestedBlock([], [])
    content = json.loads(answer)
    if "error" in content:
        raise ModelError(content["error"])
    for concept, placed in zip(concepts, content["concepts"], strict=True):
        for values in placed["suggestions"]:
            suggestion = Suggestion.restored(concept, values)
            parent = taxonomy.concept(suggestion.parent.id)
            block.suggestions.append(replace(suggestion, parent=parent))
        if "evidence" in placed:
            block.evidence.append(Evidence.from_dict(placed["evidence"]))
    for message in content["warnings"]:
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


def _answers(
    ray: Any,
    blocks: Sequence[Sequence[Concept]],
    task: WorkerTask,
    pool: WorkerPool,
    report: Callable[[str], object],
) -> Generator[str, None, None]:
    """Yield the answers to all blocks in order; a block goes to whichever worker is free."""
    from taxoexpan.cluster.worker import PlacementWorker, query_text

    with warnings.catch_warnings(action="ignore"):
        worker = ray.remote(PlacementWorker).options(
            num_cpus=pool.threads, num_gpus=pool.gpus, max_restarts=-1, max_task_retries=-1
        )
        workers = [worker.remote(task) for _ in range(min(pool.workers, len(blocks)))]
    idle = deque(workers)
    running = dict[Any, tuple[int, Any]]()
    answers: dict[int, str] = {}
    processes: dict[Any, str] = {}
    started = 0
    try:
        for number in range(len(blocks)):
            while number not in answers:
                while idle and started < min(len(blocks), number + WAITING_BLOCKS * len(workers)):
                    free = idle.popleft()
                    answer = free.place_and_sign.remote(query_text(blocks[started]))
                    running[answer] = started, free
                    started += 1
                answer = _finished(ray, list(running))
                place, free = running.pop(answer)
                process, replaces, answers[place] = _content(ray, answer)
                last = processes.get(free)
                if process != last and (last or replaces):
                    again = "its unfinished concepts were placed again"
                    report(f"ray: a worker died ({last or 'while it started'}); {again}")
                processes[free] = process
                idle.append(free)
            yield answers.pop(number)
    finally:
        for each in workers:
            ray.kill(each)


def _finished(ray: Any, running: list[Any]) -> Any:
    """Return an answer that is ready."""
    ready, _ = ray.wait(running, timeout=NO_PROGRESS_SECONDS)
    if not ready:
        minutes = NO_PROGRESS_SECONDS / 60
        raise _workers_failed(f"no block was finished for {minutes:.0f} minutes")
    return ready[0]


def _content(ray: Any, answer: Any) -> tuple[str, bool, str]:
    """Return the parts of an answer; convert an error of Ray into one message."""
    try:
        process, replaces, text = ray.get(answer)
        return str(process), bool(replaces), str(text)
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise _workers_failed(lines[-1] if lines else type(error).__name__) from None


def _workers_failed(reason: str) -> ModelError:
    fix = "install the same taxoexpan everywhere and, if memory is short, use fewer workers"
    return ModelError(f"the workers failed ({reason})", fix=fix)
