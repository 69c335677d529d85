from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reproduction.__main__ import main
from reproduction.experiments import MEASURED, Experiment, all_experiments, find_experiments
from reproduction.measurements.runner import MEASUREMENTS, run_measurements, tables_text
from reproduction.measurements.trial import Data, Trial
from taxoexpan.errors import ConfigurationError, FormatError
from tests.support.builders import pantry_csv

SMALL = {
    "preset": "best",
    "features": "static",
    "epochs": 2,
    "hidden_dim": 8,
    "embedding_dim": 32,
    "num_negatives": 64,
    "batch_size": 32,
}
CHANGED: dict[str, dict[str, Any]] = {
    "calibration/leaves": {"count": 16},
    "calibration/split": {},
    "calibration/growth": {},
    "calibration/branch": {"count": 8},
    "cleaning/random": {"fraction": 0.1, "folds": 2},
    "recovery/subtrees": {"subtrees": 3, "in_order": True},
    "review/held-out": {"held_out": 20, "answers": [5], "orders": ["parent"], "anew": True},
    "review/releases": {"answers": [5], "orders": ["random"]},
    "signals/best": {"count": 16, "each_feature": False},
    "small/fast": {"count": 1, "min_size": 60, "max_size": 73},
    "updating/held-out": {"percentages": [10], "tested": 10},
    "updating/releases": {},
}
"""Parameters for a tiny taxonomy."""
ON_FOODS = ("calibration/split", "calibration/branch")
"""The measurements that need more leaves."""
LONG = (
    *ON_FOODS,
    "recovery/subtrees",
    "review/releases",
    "updating/held-out",
    "updating/releases",
)
"""The measurements that take seconds, or that others resemble."""


def tiny(name: str) -> Experiment:
    """Return an experiment with a model that is trained at once."""
    (experiment,) = find_experiments([name])
    settings, parameters = experiment.settings | SMALL, experiment.parameters | CHANGED[name]
    settings["validation_fraction"] = 0.1 if name in ON_FOODS else 0.9
    return replace(experiment, settings=settings, parameters=parameters)


@pytest.fixture
def releases(tmp_path: Path) -> tuple[Path, Path]:
    """An older and a newer release."""
    lines = (pantry_csv() + "food,all\n").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(("green ", "black "))]
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("".join(kept), encoding="utf-8")
    new.write_text("".join(lines), encoding="utf-8")
    return old, new


def test_every_measurement_can_be_made() -> None:
    experiments = [experiment for experiment in all_experiments() if experiment.measurement]
    assert {experiment.measurement for experiment in experiments} == set(MEASUREMENTS)
    assert {experiment.group for experiment in experiments} == set(MEASURED)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else []) for name in CHANGED]
)
def test_the_runs_of_a_measurement_become_a_table(
    name: str, releases: tuple[Path, Path], tmp_path: Path
) -> None:
    experiment = tiny(name)
    data = Data.read(None, None) if name in ON_FOODS else Data.read(*releases)
    [made] = run_measurements([Trial(experiment, data, 0, device="cpu")], tmp_path)
    text = tables_text([experiment], tmp_path)
    assert text == MEASUREMENTS[experiment.measurement].tables([made]) + "\n"
    assert "| --- |" in text
    assert data.name in text


def test_runs_are_stored_and_not_repeated(releases: tuple[Path, Path], tmp_path: Path) -> None:
    experiment, data = tiny("calibration/leaves"), Data.read(*releases)
    trials = [Trial(experiment, data, seed, device="cpu") for seed in range(2)]
    began: list[int] = []
    made = [*run_measurements(trials, tmp_path, lambda _, left: began.append(left))]
    assert [run.seed for run in made] == [0, 1]
    assert made[0].figures["queries"] != made[1].figures["queries"]
    assert [*run_measurements(trials, tmp_path, lambda _, left: began.append(left))] == made
    assert began == [1, 0]


def test_a_run_of_other_data_is_refused(releases: tuple[Path, Path], tmp_path: Path) -> None:
    experiment, old = tiny("calibration/leaves"), Data.read(releases[0], None)
    [*_] = run_measurements([Trial(experiment, old, 0, device="cpu")], tmp_path / "runs")
    other = replace(Data.read(releases[1], None), name=old.name)
    with pytest.raises(FormatError, match="another task"):
        [*_] = run_measurements([Trial(experiment, other, 0, device="cpu")], tmp_path / "runs")


def test_a_missing_release_is_refused_before_the_first_run(releases: tuple[Path, Path]) -> None:
    data = Data.read(releases[0], None)
    trials = [Trial(tiny(name), data, 0) for name in ("calibration/leaves", "calibration/growth")]
    with pytest.raises(ConfigurationError, match="--newer"):
        next(run_measurements(trials, releases[0].parent / "runs"))
    assert not (releases[0].parent / "runs").exists()


def test_the_command_runs_measurements_and_shows_the_stored_ones(
    releases: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = releases
    stored = ["--runs", str(old.parent / "runs")]
    given = ["--taxonomy", str(old), "--newer", str(new), "--features", "static"]
    options = [*given, "--device", "cpu", "--seeds", "1"]
    assert main(["run", "updating/releases", *options, *stored]) == 0
    printed = capsys.readouterr()
    assert "the growth of a release, seed 0: " in printed.err
    assert "| trained anew |" in printed.out
    assert main(["run", "updating/releases", *options, *stored, "--quiet"]) == 0
    assert capsys.readouterr() == (printed.out, "")
    assert main(["table", "updating", *stored]) == 0
    assert capsys.readouterr().out == printed.out
    assert main(["table", "review", *stored]) == 2
    assert main(["figure", "calibration", *stored, "-o", str(old.parent)]) == 2


def test_calibration_is_drawn_from_runs(releases: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from reproduction.figures import image_bytes
    from reproduction.measurements.calibration_plots import draw_confidence

    experiment, data = tiny("calibration/leaves"), Data.read(*releases)
    trial = Trial(experiment, data, 0, device="cpu")
    [run] = run_measurements([trial], tmp_path)
    assert b"<svg" in image_bytes(draw_confidence([run]), Path("a.svg"))
