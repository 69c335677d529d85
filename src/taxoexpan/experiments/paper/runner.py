"""Run experiments, once per seed, and store each run in its own folder."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from taxoexpan.experiments.methods.method import Method, Placed, rank_queries, true_ranks_by
from taxoexpan.experiments.methods.method_registry import make_method
from taxoexpan.experiments.paper.experiment import Experiment
from taxoexpan.experiments.paper.perturb import rewire_relations, sample_leaves
from taxoexpan.experiments.paper.run_record import (
    BEST,
    DOUBLES,
    LOG,
    OWN,
    RANKS,
    RECORD,
    Run,
    _run_of,
    run_folder,
)
from taxoexpan.experiments.paper.task import Task
from taxoexpan.files import whole_directory
from taxoexpan.training.metrics import compute_metrics
from taxoexpan.training.training_log import TrainingLog

SHOWN = 10
"""Of every query's anchors so many are kept by name."""


def run_experiments(
    experiments: Sequence[Experiment],
    task: Task,
    seeds: int,
    runs: Path,
    begin: Callable[[Experiment, int, int], None] | None = None,
    progress: bool = False,
) -> Iterator[tuple[Experiment, Run]]:
    """Run what was not run yet, seed by seed, so that every experiment has one run before two.

    `begin` is called before each run with the experiment, the seed and the number of runs left.
    """
    digest = task.digest()
    experiments = [experiment for experiment in experiments if experiment.method]
    wanted = [
        (experiment, seed, run_folder(runs, task, experiment, seed))
        for seed in range(seeds)
        for experiment in experiments
    ]
    left = {folder for _, _, folder in wanted if not folder.exists()}
    for experiment, seed, folder in wanted:
        if folder.exists():
            yield experiment, _run_of(folder, digest)
            continue
        left.discard(folder)
        if begin is not None:
            begin(experiment, seed, len(left))
        yield experiment, run_experiment(experiment, task, seed, folder, digest, progress)


def mean_of(runs: Sequence[Run], figure: str) -> float:
    """The mean of a figure of the test queries over runs; not a number where there are none."""
    return float(np.mean([run.record["test"][figure] for run in runs])) if runs else float("nan")


def run_experiment(
    experiment: Experiment,
    task: Task,
    seed: int,
    folder: Path,
    digest: str | None = None,
    progress: bool = False,
) -> Run:
    """Train with one seed, rank all queries, and keep everything, whole or not at all.

    `digest` is the task's, where it is known already.
    """
    digest = digest or task.digest()
    if experiment.noise:
        task = rewire_relations(task, experiment.noise, seed)
    if experiment.share < 1:
        task = sample_leaves(task, experiment.share, seed)
    method = make_method(experiment.method, **experiment.settings)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with whole_directory(folder, OWN) as staging:
        log = staging / LOG
        log.touch()
        began = time.perf_counter()
        history = method.fit(task.problem, seed, TrainingLog(progress, log))
        seconds_to_fit = time.perf_counter() - began
        size = len(task.problem.taxonomy)
        seconds_to_place = _seconds_to_place(method, task, experiment.timed)
        queries = {"test": task.test, "validation": task.problem.validation}
        placed = {
            which: rank_queries(method, those, size, min(SHOWN, size))
            for which, those in queries.items()
        }
        record = {
            "experiment": asdict(experiment),
            "seed": seed,
            "task": {"name": task.name, "features": task.features, "sha256": digest},
            "concepts": size,
            "relations": task.problem.taxonomy.relation_count,
            **{which: compute_metrics(each.ranks).as_dict() for which, each in placed.items()},
            "best_epoch": history.best if history else None,
            "epochs": len(history.epochs) if history else None,
            "seconds_to_fit": round(seconds_to_fit, 2),
            "seconds_to_place": seconds_to_place,
            "device": _device_name(task.problem.vectors.device),
            "versions": _versions(),
        }
        (staging / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        np.savez_compressed(staging / RANKS, **_arrays_of(task, placed))
    return Run(folder, record)


def _arrays_of(task: Task, placed: dict[str, Placed]) -> dict[str, Any]:
    """All arrays of a run, by the names under which they are kept."""
    ids = np.array(task.problem.taxonomy.ids, dtype=np.str_)
    arrays: dict[str, Any] = {"labels": np.array(task.labels, dtype=np.str_)}
    for which, each in placed.items():
        arrays[which] = np.concatenate(each.ranks)
        arrays[f"{which}_counts"] = np.array([len(ranks) for ranks in each.ranks])
        arrays |= zip(BEST[which], (ids[each.best], each.scores), strict=True)
    for which, doubles in task.doubles.items():
        arrays |= zip(DOUBLES[which], (ids[doubles.indices], doubles.log_odds), strict=True)
    return arrays


def _seconds_to_place(method: Method, task: Task, everywhere: bool) -> dict[str, float]:
    """How long the method takes to encode all anchors and rank all test queries, by device.

    It is left on the task's own device.
    """
    own = task.problem.vectors.device
    devices = [torch.device("cpu"), own] if everywhere and own.type != "cpu" else [own]
    seconds = {}
    for device in devices:
        there = task.to(device)
        for _ in range(2 if everywhere else 1):  # the first time pays for what is kept
            began = time.perf_counter()
            method.set_anchors(there.problem.taxonomy, there.problem.vectors)
            true_ranks_by(method, there.test, len(there.problem.taxonomy))
            seconds[_device_name(device)] = round(time.perf_counter() - began, 3)
    return seconds


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} ({platform.machine()}, {torch.get_num_threads()} threads)"


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("taxoexpan", "torch", "numpy", "xgboost-cpu"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
