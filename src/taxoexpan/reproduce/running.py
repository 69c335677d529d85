"""Running cells: each with each seed once, and everything about a run kept in its own folder."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from taxoexpan.baselines.catalogue import make_method
from taxoexpan.baselines.method import Method, ranks_by
from taxoexpan.configuration import load_preset
from taxoexpan.errors import FormatError
from taxoexpan.files import whole_directory
from taxoexpan.metrics import Metrics, metrics_of
from taxoexpan.reproduce.cells import Cell
from taxoexpan.reproduce.changes import rewired, sampled
from taxoexpan.reproduce.tasks import Task
from taxoexpan.training import Report

RECORD, RANKS, LOG = "run.json", "ranks.npz", "log.jsonl"
OWN = (RECORD, RANKS, LOG)


@dataclass(frozen=True)
class Run:
    """What one training of one cell came to, as it is kept in a folder."""

    folder: Path
    record: dict[str, Any]

    def ranks(self, which: str = "test") -> list[NDArray[np.floating]]:
        """The ranks of every query's true parents."""
        with np.load(self.folder / RANKS, allow_pickle=False) as kept:
            places = np.cumsum(kept[f"{which}_counts"])[:-1]
            return np.split(kept[which], places)

    def labels(self) -> list[str]:
        """The test queries' names."""
        with np.load(self.folder / RANKS, allow_pickle=False) as kept:
            return kept["labels"].tolist() if "labels" in kept else []

    @cached_property
    def metrics(self) -> Metrics:
        """The paper's figures of the test queries."""
        return metrics_of(self.ranks())


def run_cells(cells: Sequence[Cell], task: Task, seeds: int, runs: Path) -> Iterator[Run]:
    """Run what was not run yet, seed by seed, so that every cell has one run before two."""
    digest = task.digest()
    for seed in range(seeds):
        for cell in cells:
            folder = folder_of(runs, task, cell, seed)
            if folder.is_dir():
                yield _run_of(folder, digest)
            else:
                yield run_cell(cell, task, seed, folder)


def folder_of(runs: Path, task: Task, cell: Cell, seed: int) -> Path:
    """Where a run is kept; cells that are the same by another name share it."""
    return runs / _plain(f"{task.name} {task.features}") / _kept_name(cell) / str(seed)


def runs_of(runs: Path, cell: Cell) -> dict[str, list[Run]]:
    """All runs of a cell that are kept, by their task and vectors."""
    found: dict[str, list[Run]] = {}
    # Not those whose name begins with a dot, which are not whole yet.
    for folder in sorted(runs.glob(f"*/{_kept_name(cell)}/[0-9]*")):
        if (folder / RECORD).is_file():
            found.setdefault(folder.parent.parent.name, []).append(read_run(folder))
    return found


def mean_of(runs: Sequence[Run], figure: str) -> float:
    """The mean of a figure of the test queries over runs; not a number where there are none."""
    return float(np.mean([run.record["test"][figure] for run in runs])) if runs else float("nan")


def run_cell(cell: Cell, task: Task, seed: int, folder: Path) -> Run:
    """Train with one seed, rank all queries, and keep everything, whole or not at all."""
    task_digest = task.digest()
    if cell.noise:
        task = rewired(task, cell.noise, seed)
    if cell.share < 1:
        task = sampled(task, cell.share, seed)
    method = make_method(cell.method, **cell.settings)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with whole_directory(folder, OWN) as staging:
        log = staging / LOG
        log.touch()
        began = time.perf_counter()
        history = method.fit(task.problem, seed, Report(log=log))
        seconds_to_fit = time.perf_counter() - began
        size = len(task.problem.taxonomy)
        seconds_to_place = _seconds_to_place(method, task, cell.timed)
        ranks = {
            "test": ranks_by(method, task.test, size),
            "validation": ranks_by(method, task.problem.validation, size),
        }
        record = {
            "cell": asdict(cell),
            "seed": seed,
            "task": {"name": task.name, "features": task.features, "sha256": task_digest},
            "concepts": size,
            "relations": task.problem.taxonomy.relation_count,
            "test": metrics_of(ranks["test"]).as_dict(),
            "validation": metrics_of(ranks["validation"]).as_dict(),
            "best_epoch": history.best if history else None,
            "epochs": len(history.epochs) if history else None,
            "seconds_to_fit": round(seconds_to_fit, 2),
            "seconds_to_place": seconds_to_place,
            "device": _device_name(task.problem.vectors.device),
            "versions": _versions(),
        }
        (staging / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        arrays: dict[str, Any] = _rank_arrays(ranks)
        arrays["labels"] = np.array(task.labels, dtype=np.str_)
        np.savez_compressed(staging / RANKS, **arrays)
    return Run(folder, record)


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
            method.place_in(there.problem.taxonomy, there.problem.vectors)
            ranks_by(method, there.test, len(there.problem.taxonomy))
            seconds[_device_name(device)] = round(time.perf_counter() - began, 3)
    return seconds


def read_run(folder: Path) -> Run:
    """A run that is kept."""
    try:
        return Run(folder, json.loads((folder / RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise FormatError(folder, f"is no whole run ({error}); delete it and run again") from None


def _run_of(folder: Path, digest: str) -> Run:
    """A run that is kept, which must be of the task with this digest."""
    run = read_run(folder)
    if run.record["task"]["sha256"] != digest:
        message = "is of another task of the same name and vectors"
        raise FormatError(folder, f"{message}; keep the runs of this one elsewhere, with --runs")
    return run


def _rank_arrays(ranks: dict[str, list[NDArray[np.floating]]]) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for name, those in ranks.items():
        arrays[name] = np.concatenate(those)
        arrays[f"{name}_counts"] = np.array([len(each) for each in those])
    return arrays


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


def _kept_name(cell: Cell) -> str:
    settings = dict(cell.settings)
    if "preset" in settings:
        settings = asdict(load_preset(settings.pop("preset"), **settings))
    identity = json.dumps([settings, cell.noise, cell.share], sort_keys=True)
    return f"{cell.method}-{hashlib.sha256(identity.encode()).hexdigest()[:10]}"


def _plain(name: str) -> str:
    """A name that can be a folder's."""
    return "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in name).strip("-.")
