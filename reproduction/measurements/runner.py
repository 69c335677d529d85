"""Makes missing runs of measurements, and prints the tables of the stored ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduction.experiments import Experiment
from reproduction.measurements import (
    calibration,
    calibration_results,
    placements,
    planted_errors,
    recovery,
    review,
    signals,
    small_taxonomies,
    updating,
)
from reproduction.measurements.runs import MeasuredRun, read_run, run_folder, runs_of
from reproduction.measurements.trial import Figures, Trial
from reproduction.runner import installed_versions
from reproduction.runs import RECORD, TaskInfo, whole_run
from taxoexpan.device import choose_device
from taxoexpan.errors import FormatError


@dataclass(frozen=True)
class Measurement:
    """How a measurement is made, and how its stored runs become tables."""

    measure: Callable[[Trial], Figures]
    tables: Callable[[Sequence[MeasuredRun]], str]


MEASUREMENTS = {
    "confidence": Measurement(calibration.measure_confidence, calibration_results.confidence_text),
    "abstention": Measurement(calibration.measure_abstention, calibration_results.abstention_text),
    "errors": Measurement(planted_errors.measure, planted_errors.tables),
    "placements": Measurement(placements.measure, placements.tables),
    "recovery": Measurement(recovery.measure, recovery.tables),
    "review": Measurement(review.measure, review.tables),
    "signals": Measurement(signals.measure, signals.tables),
    "small-taxonomies": Measurement(small_taxonomies.measure, small_taxonomies.tables),
    "updating": Measurement(updating.measure, updating.tables),
}


def run_measurements(
    trials: Sequence[Trial], runs: Path, begin: Callable[[Trial, int], None] | None = None
) -> Iterator[MeasuredRun]:
    """Yield one run per trial; runs that are not stored yet are made first.

    `begin` is called before each new run with the number of new runs that remain after it.
    """
    for trial in trials:
        trial.check()
    missing = {run_folder(runs, trial) for trial in trials}
    missing = {folder for folder in missing if not folder.exists()}
    for trial in trials:
        folder, digest = run_folder(runs, trial), trial.data.digest()
        if folder.exists():
            yield read_run(folder, digest)
            continue
        missing.discard(folder)
        if begin is not None:
            begin(trial, len(missing))
        yield run_measurement(trial, folder, digest)


def run_measurement(trial: Trial, folder: Path, digest: str) -> MeasuredRun:
    """Measure with one seed, and store the run completely or not at all."""
    experiment = trial.experiment
    began = time.perf_counter()
    figures = MEASUREMENTS[experiment.measurement].measure(trial)
    run = MeasuredRun(
        experiment=experiment,
        seed=trial.seed,
        task=TaskInfo(trial.data.name, trial.features or "", digest),
        figures=figures,
        seconds=round(time.perf_counter() - began, 2),
        device=str(choose_device(trial.device)),
        versions=installed_versions(),
    )
    with whole_run(folder) as staging:
        (staging / RECORD).write_text(run.as_json(), encoding="utf-8")
    return run


def tables_text(experiments: Sequence[Experiment], runs: Path) -> str:
    """Return the tables of all stored runs of these measurements."""
    by_kind: dict[str, list[MeasuredRun]] = {}
    for run in stored_runs(experiments, runs):
        by_kind.setdefault(run.experiment.measurement, []).append(run)
    texts = [MEASUREMENTS[kind].tables(stored) for kind, stored in by_kind.items()]
    return "\n\n".join(texts) + "\n"


def stored_runs(experiments: Sequence[Experiment], runs: Path) -> list[MeasuredRun]:
    """Return all stored runs of these measurements; there must be some."""
    found = [run for experiment in experiments for run in runs_of(runs, experiment)]
    if not found:
        raise FormatError(runs, "no runs of these experiments", fix="run them first")
    return found
