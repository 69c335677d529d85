"""Two processes write one output at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from taxoexpan.cli.main import main
from taxoexpan.errors import FormatError
from taxoexpan.formats.conversion import convert
from taxoexpan.formats.format import Target
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept
from tests.support.command_line import run
from tests.support.expanded_files import write_file
from tests.support.forked_processes import fork

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


def by_processes(*runs: Callable[[], int]) -> list[int]:
    """Run functions in child processes at once, and return their statuses."""
    processes = [fork(run) for run in runs]
    return [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]


def by_threads(*runs: Callable[[], int]) -> list[int]:
    """Run functions in threads at once, and return their statuses."""
    with ThreadPoolExecutor(len(runs)) as threads:
        return [started.result() for started in [threads.submit(run) for run in runs]]


@pytest.mark.parametrize("run_all", [by_processes, by_threads])
@pytest.mark.parametrize("name", ["food.csv", "food.xlsx"])
def test_no_addition_is_lost_if_several_write_one_taxonomy(
    name: str, run_all: Callable[..., list[int]], tmp_path: Path
) -> None:
    table = write_file(tmp_path / "table.csv", "child,parent\nfruit,food\napple,fruit\n")
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / name
        convert(table, Target(path))

        def add(label: str, path: Path = path) -> int:
            new = Additions([Concept(label, label)], [("fruit", label)])
            try:
                TaxonomyFile.open(path).write(new, path, force=True)
            except FormatError:
                return 2
            return 0

        labels = ["kiwi", "plum", "pear"]
        statuses = run_all(*(partial(add, label) for label in labels))
        added = {label for label, status in zip(labels, statuses, strict=True) if status == 0}
        assert added
        assert set(TaxonomyFile.open(path).taxonomy.labels) == {"food", "fruit", "apple", *added}


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
