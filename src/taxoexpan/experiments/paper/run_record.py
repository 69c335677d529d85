"""The record of one run: reading, checking and finding it."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import FormatError
from taxoexpan.experiments.methods.method_registry import make_method
from taxoexpan.experiments.paper.experiment import FIGURES, Experiment
from taxoexpan.experiments.paper.task import Task
from taxoexpan.training.metrics import Metrics, compute_metrics

BEST = {
    "test": ("best", "best_scores"),
    "validation": ("validation_best", "validation_best_scores"),
}
"""What these and their scores are called."""
DOUBLES = {part: (f"{part}_doubles", f"{part}_double_odds") for part in BEST}
"""And so what a query may be another name of, and the log-odds of that."""
RECORD, RANKS, LOG = "run.json", "ranks.npz", "log.jsonl"
OWN = (RECORD, RANKS, LOG)

READ: dict[str, type | tuple[type, ...]] = {
    "experiment.name": str,
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

RunIndex = dict[str, dict[str, list["Run"]]]
"""The runs that are kept, by the experiment's name and then by the folder of their task."""

_DAMAGE = (
    OSError, EOFError, ValueError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """What one training of one experiment came to, as it is kept in a folder."""

    folder: Path
    record: dict[str, Any]

    @property
    def group(self) -> str:
        """The table or figure that it was made for."""
        return str(self.record["experiment"]["name"]).partition("/")[0]

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
            raise damaged_run(self.folder, "it does not tell the best anchors")
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
        return compute_metrics(self.ranks())


def run_folder(runs: Path, task: Task, experiment: Experiment, seed: int) -> Path:
    """Where a run is kept; experiments that are the same by another name share it."""
    return runs / task_folder(task) / _folder_name(experiment) / str(seed)


def task_folder(task: Task) -> str:
    """The name of the folder that keeps a task's runs."""
    return plain(f"{task.name} {task.features}")


def find_runs(runs: Path, experiments: Sequence[Experiment]) -> RunIndex:
    """All runs of these experiments that are kept."""
    return {experiment.name: runs_of(runs, experiment) for experiment in experiments}


def runs_of(runs: Path, experiment: Experiment) -> dict[str, list[Run]]:
    """All runs of an experiment by the folder of their task, sorted by seed."""
    found: dict[str, list[Run]] = {}
    # A seed is a number. What is not whole yet begins with a dot, and a copy may be called 0.bak.
    folders = [f for f in runs.glob(f"[!.]*/{_folder_name(experiment)}/*") if _is_number(f.name)]
    for folder in sorted(folders, key=lambda f: (f.parent.parent.name, int(f.name))):
        found.setdefault(folder.parent.parent.name, []).append(read_run(folder))
    return found


def read_run(folder: Path) -> Run:
    """A run that is kept, with all that is ever asked of it."""
    try:
        run = Run(folder, _checked(json.loads((folder / RECORD).read_text(encoding="utf-8"))))
        if len(run.labels()) not in (0, len(run.ranks())):
            raise ValueError(f"{RANKS} has other queries than labels")
    except _DAMAGE as error:
        raise damaged_run(folder, str(error)) from None
    return run


def damaged_run(folder: Path, why: str) -> FormatError:
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


def _folder_name(experiment: Experiment) -> str:
    settings = make_method(experiment.method, **experiment.settings).settings
    identity = json.dumps([settings, experiment.noise, experiment.share], sort_keys=True)
    return f"{experiment.method}-{hashlib.sha256(identity.encode()).hexdigest()[:10]}"


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def plain(name: str) -> str:
    """A name that can be a folder's."""
    return "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in name).strip("-.")
