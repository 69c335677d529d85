"""Run experiments, once per seed if it matters, and store each run in its own folder."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from reproduction.experiments import Experiment
from reproduction.runs import (
    LOG,
    RANKS,
    RECORD,
    Run,
    RunRecord,
    TaskInfo,
    best_array_names,
    duplicate_array_names,
    read_run,
    run_folder,
    whole_run,
)
from reproduction.task import Task, rewire_relations, sample_leaves
from taxoexpan.evaluation.methods import (
    Method,
    TrainedMethod,
    fit_method,
    name_in_errors,
    score_anchors,
)
from taxoexpan.evaluation.results import true_ranks_by
from taxoexpan.network.concept_vectors import LabeledQueries
from taxoexpan.progress import Progress
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.log import TrainingLog
from taxoexpan.training.metrics import compute_metrics
from taxoexpan.training.true_ranks import TIES_AS_BEST, rank_true_parents

STORED_ANCHORS = 10
"""The number of best anchors that are stored for each query."""


@dataclass(frozen=True)
class MethodRanking:
    """How a method ranks queries: the ranks of the true parents, and the best anchors [Q, K].

    `ranks_ties_as_best` are the ranks as the authors count them, with equal scores not counted.
    """

    ranks: list[NDArray[np.floating]]
    ranks_ties_as_best: list[NDArray[np.floating]]
    best: Indices
    scores: NDArray[np.floating]


def run_experiments(
    experiments: Sequence[Experiment],
    task: Task,
    seeds: int,
    runs: Path,
    begin: Callable[[Experiment, int, int], None] | None = None,
    progress: bool = False,
    fail: Callable[[Experiment, int, Exception], None] | None = None,
) -> Iterator[tuple[Experiment, Run]]:
    """Yield one run per experiment and seed; runs that are not stored yet are made first.

    All experiments are run with one seed before the next seed. Those whose result does not depend
    on the seed are run only with the first one. `begin` is called before each new run with the
    experiment, the seed, and the number of new runs that remain after this one. `fail` is called
    after the first run of an experiment that raises an error; without it, the error ends all.
    """
    digest = task.digest()
    wanted = [
        (experiment, seed, run_folder(runs, task, experiment, seed))
        for seed in range(seeds)
        for experiment in experiments
        if experiment.method and (seed == 0 or depends_on_seed(experiment))
    ]
    missing = {folder for _, _, folder in wanted if not folder.exists()}
    failed = set()
    for experiment, seed, folder in wanted:
        if experiment.name in failed:
            missing.discard(folder)
            continue
        if folder.exists():
            yield experiment, read_run(folder, digest)
            continue
        missing.discard(folder)
        if begin is not None:
            begin(experiment, seed, len(missing))
        try:
            run = run_experiment(experiment, task, seed, folder, digest, progress)
        except Exception as error:
            if fail is None:
                raise
            failed.add(experiment.name)
            fail(experiment, seed, error)
            continue
        yield experiment, run


def run_experiment(
    experiment: Experiment,
    task: Task,
    seed: int,
    folder: Path,
    digest: str | None = None,
    progress: bool = False,
) -> Run:
    """Train with one seed, rank all queries, and store the run completely or not at all.

    `digest` is that of the task, if it was computed before.
    """
    info = TaskInfo(task.name, task.features, digest or task.digest())
    task = _task_of(experiment, task, seed)
    problem = task.problem
    with whole_run(folder) as staging, name_in_errors(experiment.method):
        method = experiment.make_method()
        (staging / LOG).touch()
        began = time.perf_counter()
        history = fit_method(method, problem, seed, TrainingLog(progress, staging / LOG))
        seconds_to_fit = time.perf_counter() - began
        seconds_to_place = _seconds_to_place(method, task, experiment.timed)
        ranked = _rank_both(method, task, progress)
        record = RunRecord(
            experiment=experiment,
            seed=seed,
            task=info,
            concepts=len(problem.taxonomy),
            relations=len(problem.taxonomy.relations),
            test=compute_metrics(ranked["test"].ranks),
            test_ties_as_best=compute_metrics(ranked["test"].ranks_ties_as_best),
            validation=compute_metrics(ranked["validation"].ranks),
            best_epoch=history.best if history else None,
            epochs=len(history.epochs) if history else None,
            seconds_to_fit=round(seconds_to_fit, 2),
            seconds_to_place=seconds_to_place,
            device=_device_name(problem.vectors.device),
            versions=installed_versions(),
        )
        (staging / RECORD).write_text(record.as_json(), encoding="utf-8")
        np.savez_compressed(staging / RANKS, **_run_arrays(task, ranked))
    return Run(folder, record)


def depends_on_seed(experiment: Experiment) -> bool:
    """Return whether the method or a change of the taxonomy is random."""
    is_changed = experiment.noise > 0 or experiment.leaf_fraction < 1
    method = experiment.make_method()
    return is_changed or isinstance(method, TrainedMethod)


def _task_of(experiment: Experiment, task: Task, seed: int) -> Task:
    """Return the task with the wrong relations, or the fewer leaves, of an experiment."""
    if experiment.noise:
        task = rewire_relations(task, experiment.noise, seed)
    if experiment.leaf_fraction < 1:
        task = sample_leaves(task, experiment.leaf_fraction, seed)
    return task


def _rank_both(method: Method, task: Task, progress: bool) -> dict[str, MethodRanking]:
    """Rank the test queries and the validation queries of a task."""
    anchors = len(task.problem.taxonomy)
    count = min(STORED_ANCHORS, anchors)
    return {
        part: rank_queries(method, queries, anchors, count, progress)
        for part, queries in (("test", task.test), ("validation", task.problem.validation))
    }


def rank_queries(
    method: Method, queries: LabeledQueries, anchors: int, count: int, progress: bool = False
) -> MethodRanking:
    """Return the ranks of the true parents and the `count` best anchors, scoring only once."""
    ranks: list[NDArray[np.floating]] = []
    ranks_ties_as_best: list[NDArray[np.floating]] = []
    indices, scores = [np.zeros((0, count), dtype=np.int64)], [np.zeros((0, count))]
    with Progress("ranking", len(queries), "queries", shown=progress) as bar:
        for _, block in queries.blocks(anchors):
            block_scores = score_anchors(method, block, anchors)
            best = block_scores.topk(count, dim=0)
            indices.append(best.indices.T.cpu().numpy())
            scores.append(best.values.T.cpu().numpy())
            ranks += rank_true_parents(block_scores, block.parents)
            ranks_ties_as_best += rank_true_parents(block_scores, block.parents, TIES_AS_BEST)
            bar.update(len(block))
    best_anchors = np.concatenate(indices)
    return MethodRanking(ranks, ranks_ties_as_best, best_anchors, np.concatenate(scores))


def _run_arrays(task: Task, ranked: dict[str, MethodRanking]) -> dict[str, Any]:
    """Return all arrays of a run by the names they are stored under."""
    ids = np.array(task.problem.taxonomy.ids, dtype=np.str_)
    arrays: dict[str, Any] = {"labels": np.array(task.labels, dtype=np.str_)}
    for part, queries in ranked.items():
        arrays[part] = np.concatenate(queries.ranks)
        arrays[f"{part}_counts"] = np.array([len(ranks) for ranks in queries.ranks])
        arrays |= zip(best_array_names(part), (ids[queries.best], queries.scores), strict=True)
    for part, candidates in task.duplicates.items():
        both = (ids[candidates.indices], candidates.log_odds)
        arrays |= zip(duplicate_array_names(part), both, strict=True)
    return arrays


def _seconds_to_place(method: Method, task: Task, also_cpu: bool) -> dict[str, float]:
    """Time the encoding of all anchors and the ranking of all test queries, by device.

    The method stays on the task's own device.
    """
    own = task.problem.vectors.device
    devices = [torch.device("cpu"), own] if also_cpu and own.type != "cpu" else [own]
    seconds = {}
    for device in devices:
        moved = task.to(device)
        for _ in range(2 if also_cpu else 1):  # the first pass also pays for warming up
            began = time.perf_counter()
            method.set_anchors(moved.problem.taxonomy, moved.problem.vectors)
            true_ranks_by(method, moved.test, len(moved.problem.taxonomy))
            seconds[_device_name(device)] = round(time.perf_counter() - began, 3)
    return seconds


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} ({platform.machine()}, {torch.get_num_threads()} threads)"


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that determine results."""
    found = {"python": platform.python_version()}
    for package in ("taxoexpan", "torch", "numpy", "xgboost-cpu"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
