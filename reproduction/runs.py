"""A stored run: its record (`run.json`), its arrays (`ranks.npz`), and how to find both."""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from reproduction.experiments import Experiment
from reproduction.task import Task
from taxoexpan.errors import FormatError
from taxoexpan.evaluation.methods import source_file
from taxoexpan.training.metrics import Metrics, compute_metrics

RECORD, RANKS, LOG = "run.json", "ranks.npz", "log.jsonl"

_DAMAGE = (
    OSError, EOFError, ValueError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error
)  # fmt: skip


@dataclass(frozen=True)
class TaskInfo:
    """The task that a run was made on."""

    name: str
    features: str
    sha256: str


@dataclass(frozen=True)
class RunRecord:
    """Everything about a run except its ranks; `seconds_to_place` is by device.

    `test_ties_as_best` are the metrics of the test queries as the authors count ties.
    """

    experiment: Experiment
    seed: int
    task: TaskInfo
    concepts: int
    relations: int
    test: Metrics
    test_ties_as_best: Metrics
    validation: Metrics
    best_epoch: int | None
    epochs: int | None
    seconds_to_fit: float
    seconds_to_place: dict[str, float]
    device: str
    versions: dict[str, str]

    @classmethod
    def from_json(cls, text: str) -> RunRecord:
        """Read a record; a missing field or a wrong type is a ValueError."""
        try:
            return _adapter().validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "content"
            raise ValueError(f"{RECORD}: {field}: {first['msg']}") from None

    def as_json(self) -> str:
        """Return the record as indented JSON."""
        return _adapter().dump_json(self, indent=1).decode() + "\n"


@cache
def _adapter() -> TypeAdapter[RunRecord]:
    """Return the reader and writer of records; making one takes longer than using it."""
    return TypeAdapter(RunRecord)


@dataclass(frozen=True)
class Run:
    """One training of one experiment, as it is stored in a folder."""

    folder: Path
    record: RunRecord

    def metric(self, name: str, ties_as_best: bool = False) -> float:
        """Return a metric of the test queries by its name."""
        record = self.record
        return float(getattr(record.test_ties_as_best if ties_as_best else record.test, name))

    def ranks(self, part: str = "test") -> list[NDArray[np.floating]]:
        """Return the ranks of every query's true parents."""
        arrays = self._arrays(part, f"{part}_counts")
        if len(arrays) < 2:
            raise ValueError(f"{RANKS} has no ranks of the {part} queries")
        ranks, counts = arrays[part], arrays[f"{part}_counts"]
        if counts.sum() != len(ranks) or counts.min() < 1:
            raise ValueError(f"{RANKS} has ranks and counts that do not match")
        return np.split(ranks, np.cumsum(counts)[:-1])

    def best_ranks(self) -> NDArray[np.float64]:
        """Return the rank of every test query's best true parent [Q].

        A rank between two whole ones, which ties cause, is rounded up, as in Hit@k.
        """
        return np.ceil([ranks.min() for ranks in self.ranks()])

    def labels(self) -> list[str]:
        """Return the labels of the test queries, if they are stored."""
        arrays = self._arrays("labels")
        return arrays["labels"].tolist() if arrays else []

    def best(self, part: str = "test") -> tuple[NDArray[np.str_], NDArray[np.floating]]:
        """Return the ids of every query's best anchors, best first, and their scores: [Q, 10]."""
        ids, scores = self._pair(*best_array_names(part))
        if not len(ids):
            raise damaged_run(self.folder, "it has no best anchors")
        return ids, scores

    def duplicates(self, part: str = "test") -> tuple[NDArray[np.str_], NDArray[np.floating]]:
        """Return the id that each query may be a synonym of, and the log-odds of that: [Q].

        Both are empty if the taxonomy had too few synonyms to learn from.
        """
        return self._pair(*duplicate_array_names(part))

    def _pair(self, first: str, second: str) -> tuple[NDArray[np.str_], NDArray[np.floating]]:
        arrays = self._arrays(first, second)
        return arrays.get(first, np.zeros(0, np.str_)), arrays.get(second, np.zeros(0))

    def _arrays(self, *names: str) -> dict[str, NDArray[Any]]:
        """Return those of the named arrays that are stored."""
        # Numpy leaves a file that it cannot read open, and takes other content for a pickle.
        with (self.folder / RANKS).open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise ValueError(f"{RANKS} is not an .npz file")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in names if name in arrays}

    @cached_property
    def metrics(self) -> Metrics:
        """The metrics of the test queries, computed from the stored ranks."""
        return compute_metrics(self.ranks())


RunIndex = dict[str, dict[str, list[Run]]]
"""Stored runs, by the name of the experiment and then by the folder of the task."""


def best_array_names(part: str) -> tuple[str, str]:
    """Return the names of the arrays with the best anchors and their scores."""
    return f"{part}_best", f"{part}_best_scores"


def duplicate_array_names(part: str) -> tuple[str, str]:
    """Return the names of the arrays with the duplicate candidates and their log-odds."""
    return f"{part}_duplicates", f"{part}_duplicate_odds"


def run_folder(runs: Path, task: Task, experiment: Experiment, seed: int) -> Path:
    """Return the folder of a run; experiments with equal settings share their runs."""
    return runs / task_folder(task) / _settings_folder(experiment) / str(seed)


def task_folder(task: Task) -> str:
    """Return the name of the folder with a task's runs."""
    return safe_name(f"{task.name} {task.features}")


def find_runs(runs: Path, experiments: Sequence[Experiment]) -> RunIndex:
    """Return all stored runs of these experiments; those that are only quoted have none."""
    return {e.name: runs_of(runs, e) if e.method else {} for e in experiments}


def runs_of(runs: Path, experiment: Experiment) -> dict[str, list[Run]]:
    """Return all stored runs of an experiment by the folder of their task, sorted by seed."""
    found: dict[str, list[Run]] = {}
    for folder in folders_of(runs, _settings_folder(experiment)):
        found.setdefault(folder.parent.parent.name, []).append(read_run(folder))
    return found


def folders_of(runs: Path, settings: str) -> list[Path]:
    """Return the folders of all stored runs with these settings, sorted by task and seed."""
    # The folder of a run is its seed. Unfinished runs start with a dot, and copies end in .bak.
    folders = runs.glob(f"[!.]*/{settings}/*")
    numbered = [f for f in folders if f.name.isascii() and f.name.isdigit()]
    return sorted(numbered, key=lambda f: (f.parent.parent.name, int(f.name)))


@contextmanager
def whole_run(folder: Path) -> Iterator[Path]:
    """Give a folder to store a run in; it gets its name when it is complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    # A name with a dot is not taken for a run.
    with TemporaryDirectory(prefix=".", dir=folder.parent, ignore_cleanup_errors=True) as name:
        staging = Path(name) / folder.name
        staging.mkdir()
        yield staging
        staging.rename(folder)


def read_run(folder: Path, digest: str | None = None) -> Run:
    """Read a stored run; if the digest of a task is given, the run must be of that task."""
    try:
        record = RunRecord.from_json((folder / RECORD).read_text(encoding="utf-8"))
        run = Run(folder, record)
        if not all(map(math.isfinite, record.test.as_dict().values())):
            raise ValueError(f"{RECORD} has a figure that is not finite")
        if len(run.labels()) not in (0, len(run.ranks())):
            raise ValueError(f"{RANKS} has labels and ranks of different queries")
    except _DAMAGE as error:
        raise damaged_run(folder, str(error)) from None
    if digest is not None:
        refuse_other_task(folder, record.task, digest)
    return run


def refuse_other_task(folder: Path, task: TaskInfo, digest: str) -> None:
    """Raise an error if a stored run is not of the task with this digest."""
    if task.sha256 != digest:
        message = "this run is of another task with the same name and vectors"
        raise FormatError(folder, message, fix="use another folder of runs for this task")


def damaged_run(folder: Path, reason: str) -> FormatError:
    """Return the error for a run that is damaged, or that an earlier version stored."""
    return FormatError(
        folder, f"not a complete run ({reason})", fix="delete the folder and run again"
    )


def safe_name(name: str) -> str:
    """Return the text as the name of a file or folder."""
    return "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in name).strip("-.")


def _settings_folder(experiment: Experiment) -> str:
    """Name a folder by everything that determines the scores, also the code of your own file."""
    settings = experiment.make_method().settings or experiment.settings
    parts: list[Any] = [settings, experiment.noise, experiment.leaf_fraction]
    name = experiment.method
    if source := source_file(name):
        parts += [experiment.settings, hashlib.sha256(source.read_bytes()).hexdigest()]
        name = f"{source.stem}-{name.rpartition(':')[2]}"
    identity = json.dumps(parts, sort_keys=True, default=str)
    return f"{safe_name(name)}-{hashlib.sha256(identity.encode()).hexdigest()[:10]}"
