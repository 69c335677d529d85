"""A stored run of a measurement: its figures in `run.json`, and how to find them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from reproduction.experiments import Experiment
from reproduction.measurements.trial import Figures, Trial
from reproduction.runs import (
    RECORD,
    TaskInfo,
    damaged_run,
    folders_of,
    refuse_other_task,
    safe_name,
)


@dataclass(frozen=True)
class MeasuredRun:
    """The figures of one seed, and everything to repeat it; `task` is the data with its encoder."""

    experiment: Experiment
    seed: int
    task: TaskInfo
    figures: Figures
    seconds: float
    device: str
    versions: dict[str, str]

    @property
    def title(self) -> str:
        """The experiment, the data with its encoder, and the seed."""
        parts = (self.experiment.title, self.task.name, self.task.features, f"seed {self.seed}")
        return f"**{', '.join(filter(None, parts))}**"

    def as_json(self) -> str:
        """Return the run as indented JSON."""
        return _adapter().dump_json(self, indent=1).decode() + "\n"


@cache
def _adapter() -> TypeAdapter[MeasuredRun]:
    """Return the reader and writer of runs; making one takes longer than using it."""
    return TypeAdapter(MeasuredRun)


def run_folder(runs: Path, trial: Trial) -> Path:
    """Return the folder of a run; experiments with equal settings share their runs."""
    task = safe_name(f"{trial.data.name} {trial.features or ''}".strip())
    return runs / task / _settings_folder(trial.experiment) / str(trial.seed)


def runs_of(runs: Path, experiment: Experiment) -> list[MeasuredRun]:
    """Return all stored runs of a measurement, sorted by data and seed."""
    return [read_run(folder) for folder in folders_of(runs, _settings_folder(experiment))]


def read_run(folder: Path, digest: str | None = None) -> MeasuredRun:
    """Read a stored run; if the digest of the data is given, the run must be of that data."""
    try:
        run = _adapter().validate_json((folder / RECORD).read_text(encoding="utf-8"))
    except ValidationError as error:
        raise damaged_run(folder, error.errors()[0]["msg"]) from None
    except (OSError, ValueError) as error:
        raise damaged_run(folder, str(error)) from None
    if digest is not None:
        refuse_other_task(folder, run.task, digest)
    return run


def _settings_folder(experiment: Experiment) -> str:
    parts: list[object] = [experiment.settings, experiment.parameters]
    if experiment.method:
        parts.append(experiment.method)
    identity = json.dumps(parts, sort_keys=True)
    return f"{experiment.measurement}-{hashlib.sha256(identity.encode()).hexdigest()[:10]}"
