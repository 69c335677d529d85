"""Running cells: each with each seed once, and everything about a run kept in its own folder."""

from __future__ import annotations

import hashlib
import json
import platform
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from taxoexpan.baselines.catalogue import make_method
from taxoexpan.baselines.method import Method, Placed, placed_by, ranks_by
from taxoexpan.errors import FormatError
from taxoexpan.files import whole_directory
from taxoexpan.metrics import Metrics, metrics_of
from taxoexpan.reproduce.cells import FIGURES, Cell
from taxoexpan.reproduce.changes import rewired, sampled
from taxoexpan.reproduce.tasks import Task
from taxoexpan.training import Report

RECORD, RANKS, LOG = "run.json", "ranks.npz", "log.jsonl"
OWN = (RECORD, RANKS, LOG)
SHOWN = 10
"""Of every query's anchors so many are kept by name."""
BEST = {
    "test": ("best", "best_scores"),
    "validation": ("validation_best", "validation_best_scores"),
}
"""What these and their scores are called."""
DOUBLES = {part: (f"{part}_doubles", f"{part}_double_odds") for part in BEST}
"""And so what a query may be another name of, and the log-odds of that."""

READ: dict[str, type | tuple[type, ...]] = {
    "cell.name": str,
    "task.name": str,
    "task.features": str,
    "task.sha256": str,
    "seed": int,
    "relations": int,
    "seconds_to_fit": (int, float),
    "device": str,
    "versions": dict,
    **{f"test.{figure}": (int, float) for figure in FIGURES},
}
"""What is read from every record, and its type."""

Found = dict[str, dict[str, list["Run"]]]
"""The runs that are kept, by the cell's name and then by the folder of their task."""

_DAMAGE = (
    OSError, EOFError, ValueError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """What one training of one cell came to, as it is kept in a folder."""

    folder: Path
    record: dict[str, Any]

    @property
    def group(self) -> str:
        """The table or figure that it was made for."""
        return str(self.record["cell"]["name"]).partition("/")[0]

    def ranks(self, which: str = "test") -> list[NDArray[np.floating]]:
        """The ranks of every query's true parents."""
        kept = self._arrays(which, f"{which}_counts")
        if len(kept) < 2:
            raise ValueError(f"{RANKS} lacks the ranks of the {which} queries")
        ranks, counts = kept[which], kept[f"{which}_counts"]
        if counts.sum() != len(ranks) or counts.min() < 1:
            raise ValueError(f"{RANKS} does not tell which ranks are whose")
        return np.split(ranks, np.cumsum(counts)[:-1])

    def labels(self) -> list[str]:
        """The test queries' names, where they are kept."""
        kept = self._arrays("labels")
        return kept["labels"].tolist() if kept else []

    def best(self, which: str = "test") -> tuple[NDArray[np.str_], NDArray[np.floating]]:
        """The ids of every query's best anchors, and their scores, best first: [Q, 10]."""
        ids, scores = self._pair(BEST[which])
        if not len(ids):
            raise not_whole(self.folder, "it does not tell the best anchors")
        return ids, scores

    def doubles(self, which: str = "test") -> tuple[NDArray[np.str_], NDArray[np.floating]]:
        """The id of what each query may be another name of, and the log-odds of that: [Q].

        Both are empty where the task had too few synonyms to learn that from.
        """
        return self._pair(DOUBLES[which])

    def _pair(self, names: tuple[str, str]) -> tuple[NDArray[np.str_], NDArray[np.floating]]:
        kept = self._arrays(*names)
        ids, figures = (kept.get(name, np.zeros(0)) for name in names)
        return ids, figures

    def _arrays(self, *names: str) -> dict[str, NDArray[Any]]:
        """Those of these arrays that are kept."""
        # Numpy leaves a file open that it opened and cannot read, and takes junk for a pickle.
        with (self.folder / RANKS).open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise ValueError(f"{RANKS} is no .npz file")
            file.seek(0)
            with np.load(file, allow_pickle=False) as kept:
                return {name: kept[name] for name in names if name in kept}

    @cached_property
    def metrics(self) -> Metrics:
        """The paper's figures of the test queries."""
        return metrics_of(self.ranks())


def run_cells(
    cells: Sequence[Cell],
    task: Task,
    seeds: int,
    runs: Path,
    begin: Callable[[Cell, int, int], None] | None = None,
    progress: bool = False,
) -> Iterator[tuple[Cell, Run]]:
    """Run what was not run yet, seed by seed, so that every cell has one run before two.

    `begin` hears of each run before it is made: its cell, its seed, and how many come after it.
    """
    digest = task.digest()
    cells = [cell for cell in cells if cell.method]
    wanted = [
        (cell, seed, folder_of(runs, task, cell, seed)) for seed in range(seeds) for cell in cells
    ]
    left = {folder for _, _, folder in wanted if not folder.exists()}
    for cell, seed, folder in wanted:
        if folder.exists():
            yield cell, _run_of(folder, digest)
            continue
        left.discard(folder)
        if begin is not None:
            begin(cell, seed, len(left))
        yield cell, run_cell(cell, task, seed, folder, digest, progress)


def folder_of(runs: Path, task: Task, cell: Cell, seed: int) -> Path:
    """Where a run is kept; cells that are the same by another name share it."""
    return runs / task_folder(task) / _kept_name(cell) / str(seed)


def task_folder(task: Task) -> str:
    """The name of the folder that keeps a task's runs."""
    return plain(f"{task.name} {task.features}")


def find_runs(runs: Path, cells: Sequence[Cell]) -> Found:
    """All runs of these cells that are kept."""
    return {cell.name: runs_of(runs, cell) for cell in cells}


def runs_of(runs: Path, cell: Cell) -> dict[str, list[Run]]:
    """All runs of a cell that are kept, by the folder of their task, and in the seeds' order."""
    found: dict[str, list[Run]] = {}
    # A seed is a number. What is not whole yet begins with a dot, and a copy may be called 0.bak.
    folders = [f for f in runs.glob(f"[!.]*/{_kept_name(cell)}/*") if _is_number(f.name)]
    for folder in sorted(folders, key=lambda f: (f.parent.parent.name, int(f.name))):
        found.setdefault(folder.parent.parent.name, []).append(read_run(folder))
    return found


def mean_of(runs: Sequence[Run], figure: str) -> float:
    """The mean of a figure of the test queries over runs; not a number where there are none."""
    return float(np.mean([run.record["test"][figure] for run in runs])) if runs else float("nan")


def run_cell(
    cell: Cell,
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
        history = method.fit(task.problem, seed, Report(progress, log))
        seconds_to_fit = time.perf_counter() - began
        size = len(task.problem.taxonomy)
        seconds_to_place = _seconds_to_place(method, task, cell.timed)
        queries = {"test": task.test, "validation": task.problem.validation}
        placed = {
            which: placed_by(method, those, size, min(SHOWN, size))
            for which, those in queries.items()
        }
        record = {
            "cell": asdict(cell),
            "seed": seed,
            "task": {"name": task.name, "features": task.features, "sha256": digest},
            "concepts": size,
            "relations": task.problem.taxonomy.relation_count,
            **{which: metrics_of(each.ranks).as_dict() for which, each in placed.items()},
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
            method.place_in(there.problem.taxonomy, there.problem.vectors)
            ranks_by(method, there.test, len(there.problem.taxonomy))
            seconds[_device_name(device)] = round(time.perf_counter() - began, 3)
    return seconds


def read_run(folder: Path) -> Run:
    """A run that is kept, with all that is ever asked of it."""
    try:
        run = Run(folder, _checked(json.loads((folder / RECORD).read_text(encoding="utf-8"))))
        if len(run.labels()) not in (0, len(run.ranks())):
            raise ValueError(f"{RANKS} has other queries than labels")
    except _DAMAGE as error:
        raise not_whole(folder, str(error)) from None
    return run


def not_whole(folder: Path, why: str) -> FormatError:
    """What is said of a folder that is damaged, or of an earlier version."""
    return FormatError(folder, f"is no whole run ({why}); delete it and run again")


def _checked(record: object) -> dict[str, Any]:
    """A record that has everything that is read from it."""
    if not isinstance(record, dict):
        raise ValueError(f"{RECORD} holds no record")
    for key, kind in READ.items():
        value: Any = record
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if not isinstance(value, kind):
            raise ValueError(f"{RECORD} does not tell {key}")
    return record


def _run_of(folder: Path, digest: str) -> Run:
    """A run that is kept, which must be of the task with this digest."""
    run = read_run(folder)
    if run.record["task"]["sha256"] != digest:
        message = "is of another task of the same name and vectors"
        raise FormatError(folder, f"{message}; keep the runs of this one elsewhere, with --runs")
    return run


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
    settings = make_method(cell.method, **cell.settings).settings
    identity = json.dumps([settings, cell.noise, cell.share], sort_keys=True)
    return f"{cell.method}-{hashlib.sha256(identity.encode()).hexdigest()[:10]}"


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def plain(name: str) -> str:
    """A name that can be a folder's."""
    return "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in name).strip("-.")
