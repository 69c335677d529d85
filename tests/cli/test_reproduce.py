from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from splits import write_split

from taxoexpan.cli.main import main
from taxoexpan.experiments.paper.experiment import FIGURES, all_experiments
from taxoexpan.experiments.paper.task_file import load_task

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
    assert [line.split()[0] for line in lines] == [
        experiment.name for experiment in all_experiments()
    ]
    (ours,) = [line for line in lines if line.startswith("main/taxoexpan ")]
    assert ours.endswith("MR 80.33, Hit@1 0.2121, Hit@3 0.3823, MRR 0.6929")


def test_a_task_is_prepared(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = load_task(task)
    assert (made.name, made.features) == ("pantry", "static")
    terms = task.with_name("pantry.terms")
    assert main(["reproduce", "prepare", str(terms), "-o", str(task)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["reproduce", "prepare", str(terms), "-o", str(task), "--force", "--half"]) == 0
    assert f"{task} written: 73 concepts and 8 test queries" in capsys.readouterr().err
    assert load_task(task).digest() != made.digest()


def test_experiments_run_once_and_are_shown(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(task, "run", *CHEAP, "--seeds", "2") == 0
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == "3 runs to make; stored runs are not repeated"
    titles = ["popularity", "Closest-Parent", "Closest-Neighbor"]
    began, messages = lines[::2], lines[1::2]
    seeded = [f"{title}, seed 0" for title in titles]  # rules do not depend on the seed
    assert began == [
        f"{one}: started, {left} more to run"
        for one, left in zip(seeded, range(2, -1, -1), strict=True)
    ]
    assert [line.split(": MR")[0] for line in messages] == seeded
    runs = task.parent / "runs"
    stamps = {path: path.stat().st_mtime_ns for path in runs.rglob("*")}
    assert run(task, "run", *CHEAP, "--seeds", "2") == 0
    assert capsys.readouterr().err.splitlines() == messages
    assert {path: path.stat().st_mtime_ns for path in runs.rglob("*")} == stamps
    assert main(["reproduce", "table", "main", "--runs", str(runs)]) == 0
    table = capsys.readouterr().out
    assert "| 1327.2 |" in table  # whose deviation is 0
    for title in titles:
        (row,) = [line for line in table.splitlines() if line.startswith(f"| {title} |")]
        assert row.endswith("| 1 |")
    (never,) = [line for line in table.splitlines() if line.startswith("| TaxoExpan |")]
    assert never.startswith("| TaxoExpan | – | 80.3 ± 5.5 |  | – |")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure", "loss"], "no run of loss/"),
        (["figure", "cases"], "no runs of main/taxoexpan*"),
        (["figure", "loss", "-o", "nowhere"], "no run of loss/"),
        (["figure", "loss", "-o", "/dev/null"], "/dev/null: not a folder; give the name of one"),
        (["figure", "loss", "-o", "/dev/null/x"], "the folder /dev/null does not exist"),
        (["figure", "loss", "--task", "x.npz", "--vectors", "static"], "give one of them"),
        (["table", "ablation"], "no runs of these experiments; run them first"),
        (["run", "tables", "--task", "x.npz"], "no experiment matches 'tables'"),
        (["run", "main", "--task", "x.npz"], "x.npz: the file does not exist; make it with"),
        (["report", "-o", "page.md"], "no runs; make some with `taxoexpan reproduce run`"),
        (["report", "--remarks", "no.md", "-o", "page.md"], "no.md: cannot be read (No such file"),
        (["report", "--remarks", "no.md", "-o", "page.md"], "give --remarks a Markdown file"),
        (["prepare", "x.terms", "-o", "x.npz"], "x.terms"),
    ],
)
def test_impossible_steps_are_refused(
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


def test_a_run_is_printed_with_the_requested_name(
    task: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(task, "run", "main/popularity", "--seeds", "1") == 0
    (file,) = task.parent.glob("runs/*/*/0/run.json")
    record = json.loads(file.read_text(encoding="utf-8"))
    record["experiment"]["title"] = "the title in another table"
    file.write_text(json.dumps(record), encoding="utf-8")
    capsys.readouterr()
    assert run(task, "run", "main/popularity", "--seeds", "1") == 0
    assert capsys.readouterr().err.startswith("popularity, seed 0: MR")


def test_quiet_still_prints_the_results(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(task, "run", "main/popularity", "--seeds", "1", "--quiet") == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("popularity, seed 0: MR")


def test_without_xgboost_the_others_are_run(
    task: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    for names in (["main/dist-xgboost", "main/popularity"], ["main/dist*"]):
        assert run(task, "run", *names, "--seeds", "1") == 2
        assert "pip install 'taxoexpan[boost]'" in capsys.readouterr().err
        assert not (task.parent / "runs").exists()
    assert run(task, "run", "main/dist*", "main/popularity", "--seeds", "1") == 0
    messages = capsys.readouterr().err.splitlines()
    assert messages[0].startswith("note: skipping main/dist-xgboost: dist-XGBoost needs xgboost")
    assert messages[-1].startswith("popularity, seed 0: MR")


def test_without_matplotlib_nothing_is_run_for_a_figure(
    task: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(FIGURES, "cases", "main/closest-*")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(task, "figure", "cases", "-o", str(task.parent)) == 2
    assert "pip install 'taxoexpan[plots]'" in capsys.readouterr().err
    assert not (task.parent / "runs").exists()


def test_a_figure_is_of_the_task_that_is_given(
    task: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(FIGURES, "cases", "main/closest-*")  # which is quick to run
    other, folder = task.parent / "runs" / "other", task.parent / "a" / "b"
    assert run(task, "run", "main/closest-*", "--seeds", "1") == 0
    (task.parent / "runs" / "pantry-static").rename(other)
    capsys.readouterr()
    assert run(task, "figure", "cases", "--seeds", "1", "-o", str(folder)) == 0
    assert capsys.readouterr().err.startswith(
        "2 runs to make; stored runs are not repeated. "
        "Without --task, figure only shows stored runs\n"
    )
    assert sorted(path.name for path in folder.iterdir()) == ["cases.png", "cases.svg"]
    drawn = ["reproduce", "figure", "cases", "--runs", str(other.parent), "-o", str(folder)]
    capsys.readouterr()
    assert main(drawn) == 2
    assert "cases.png: already exists" in capsys.readouterr().err
    assert main([*drawn, "--force"]) == 2
    messages = capsys.readouterr().err
    assert "choose one with --vectors NAME: other (static), pantry-static (static)" in messages
    assert main([*drawn, "--force", "--vectors", "other"]) == 0


def test_a_damaged_run_is_refused_by_every_step(
    task: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(FIGURES, "cases", "main/closest-*")
    assert run(task, "run", "main/closest-parent", "--seeds", "1") == 0
    (file,) = task.parent.glob("runs/*/*/0/run.json")
    file.write_text("{}", encoding="utf-8")
    runs = ["--runs", str(task.parent / "runs")]
    for step in (
        ["run", "main/closest-parent", "--task", str(task)],
        ["table", "main"],
        ["figure", "cases", "-o", str(task.parent)],
        ["report", "-o", str(task.parent / "page.md")],
    ):
        capsys.readouterr()
        assert main(["reproduce", *step, *runs]) == 2
        messages = capsys.readouterr().err
        assert messages.startswith(f"taxoexpan: {file.parent}: not a complete run (")
        assert messages.endswith("; delete the folder and run again\n")


def test_a_page_is_written_with_remarks(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(task, "run", "main/popularity", "--seeds", "1") == 0
    page, remarks = task.with_name("page.md"), task.with_name("remarks.md")
    runs = ["--runs", str(task.parent / "runs"), "--remarks", str(remarks)]
    remarks.write_bytes(b"na\xefve")
    assert main(["reproduce", "report", "-o", str(page), *runs]) == 2
    assert f"{remarks}: byte 0xef is not UTF-8; save the file" in capsys.readouterr().err
    remarks.write_text("naïve\n", encoding="utf-8")
    assert main(["reproduce", "report", "-o", str(page), *runs]) == 0
    assert "\nnaïve\n" in page.read_text(encoding="utf-8")
