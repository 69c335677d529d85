"""Two processes write one output at the same time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_line import run
from expanded_files import write_file
from forked_processes import fork

from taxoexpan.cli.main import main

ROUNDS = int(os.environ.get("TAXOEXPAN_FAULT_ROUNDS", "3"))


def run_at_once(*commands: list[str]) -> list[int]:
    """Run commands in child processes, and return their exit statuses in ascending order."""
    processes = [fork(lambda command=command: main(command)) for command in commands]
    return sorted(os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in processes)


@pytest.mark.parametrize("force", [False, True])
def test_one_of_two_conversions_wins_and_nothing_is_lost(
    force: bool, pantry: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = write_file(tmp_path / "other.csv", pantry.read_text().replace("milk", "drink"))
    run("convert", pantry, tmp_path / "first.ttl")
    run("convert", other, tmp_path / "second.ttl")
    whole = {(tmp_path / name).read_bytes() for name in ("first.ttl", "second.ttl")}
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        output = folder / "out.ttl"
        options = ["--force"] if force else []
        capfd.readouterr()
        commands = [["convert", str(each), str(output), *options] for each in (pantry, other)]
        statuses = run_at_once(*commands)
        assert statuses == [0, 2] or (force and statuses == [0, 0])
        errors = capfd.readouterr().err
        assert "Traceback" not in errors
        is_told = "already exists" in errors or "another process works on this output" in errors
        assert is_told == (statuses == [0, 2])
        assert [path.name for path in folder.iterdir()] == ["out.ttl"]
        assert output.read_bytes() in whole


@pytest.mark.slow
def test_the_second_of_two_trainings_is_refused(
    pantry: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    command = [
        "train",
        str(pantry),
        "-o",
        str(model),
        "--preset",
        "fast",
        "--features",
        "static",
        "--quiet",
    ]
    command += ["--device", "cpu", "--epochs", "2"]
    seeds = (["--seed", "1"], ["--seed", "2"])
    assert run_at_once(*([*command, *seed] for seed in seeds)) == [0, 2]
    assert f"{model}: another process works on this output" in capfd.readouterr().err
    run("info", model)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
