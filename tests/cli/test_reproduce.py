from __future__ import annotations

from pathlib import Path

import pytest
from splits import write_split

from taxoexpan.cli.main import main
from taxoexpan.reproduce.cells import all_cells
from taxoexpan.reproduce.tasks import load_task

CHEAP = ["main/popularity", "main/closest-*"]


@pytest.fixture
def task(tmp_path: Path) -> Path:
    path = tmp_path / "task.npz"
    assert main(["reproduce", "prepare", str(write_split(tmp_path)), "-o", str(path)]) == 0
    return path


def run(task: Path, *arguments: str) -> int:
    common = ["--task", str(task), "--runs", str(task.parent / "runs"), "--device", "cpu"]
    return main(["reproduce", *arguments, *common])


def test_every_experiment_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [cell.name for cell in all_cells()]
    (ours,) = [line for line in lines if line.startswith("main/taxoexpan ")]
    assert ours.endswith("MR 80.33, Hit@1 0.2121, Hit@3 0.3823, MRR 0.6929")


def test_a_task_is_prepared(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = load_task(task)
    assert (made.name, made.features) == ("pantry", "static")
    terms = task.with_name("pantry.terms")
    assert main(["reproduce", "prepare", str(terms), "-o", str(task)]) == 2
    assert "is already there" in capsys.readouterr().err
    assert main(["reproduce", "prepare", str(terms), "-o", str(task), "--force", "--half"]) == 0
    assert f"73 concepts and 8 test queries in {task}" in capsys.readouterr().err
    assert load_task(task).digest() != made.digest()


def test_experiments_run_once_and_are_shown(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(task, "run", *CHEAP, "--seeds", "2") == 0
    told = capsys.readouterr().err.splitlines()
    titles = ["popularity", "Closest-Parent", "Closest-Neighbor"]
    assert [line.split(":")[0] for line in told] == [
        f"{title}, seed {seed}" for seed in (0, 1) for title in titles
    ]
    runs = task.parent / "runs"
    stamps = {path: path.stat().st_mtime_ns for path in runs.rglob("*")}
    assert run(task, "run", *CHEAP, "--seeds", "2") == 0
    assert capsys.readouterr().err.splitlines() == told
    assert {path: path.stat().st_mtime_ns for path in runs.rglob("*")} == stamps
    assert main(["reproduce", "table", "main", "--runs", str(runs)]) == 0
    table = capsys.readouterr().out
    assert "| 1327.2 |" in table
    for title in titles:
        (row,) = [line for line in table.splitlines() if line.startswith(f"| {title} |")]
        assert row.endswith("| 2 |")
    (never,) = [line for line in table.splitlines() if line.startswith("| TaxoExpan |")]
    assert never.startswith("| TaxoExpan | – | 80.3 |  | – |")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure", "loss"], "holds no run of loss/"),
        (["figure", "cases"], "holds no run of main/taxoexpan*"),
        (["figure", "loss", "-o", "nowhere"], "nowhere: there is no such folder; make it first"),
        (["table", "ablation"], "holds no run of these; run them first, with --task"),
        (["run", "tables", "--task", "x.npz"], "no experiment is called 'tables'"),
        (["run", "main", "--task", "x.npz"], "x.npz: there is no such file; make it with"),
        (["prepare", "x.terms", "-o", "x.npz"], "x.terms"),
    ],
)
def test_what_cannot_be_done_is_refused(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
