from __future__ import annotations

from pathlib import Path

import pytest

from reproduction.__main__ import main
from reproduction.experiments import FIGURES, all_experiments
from reproduction.task_file import load_task
from tests.support.splits import write_split

CHEAP = ["main/popularity", "main/closest-*"]


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    return write_split(tmp_path)


def run(terms: Path, *arguments: str) -> int:
    where = ["--mag-cs", str(terms), "--runs", str(terms.parent / "runs"), "--device", "cpu"]
    return main(["run", *arguments, *where])


def test_every_experiment_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [experiment.name for experiment in all_experiments()]
    assert [line.split()[0] for line in lines] == names
    (ours,) = [line for line in lines if line.startswith("main/taxoexpan ")]
    assert ours.endswith("MR 80.33, Hit@1 0.2121, Hit@3 0.3823, MRR 0.6929")


def test_a_task_is_prepared_for_another_machine(terms: Path) -> None:
    prepare = ["prepare", "--mag-cs", str(terms), "-o", str(terms.parent)]
    assert main(prepare) == 0
    task = terms.with_name("pantry.npz")
    made = load_task(task)
    assert (made.name, made.features) == ("pantry", "static")
    assert main([*prepare, "--half"]) == 0
    assert load_task(task).digest() != made.digest()
    given = ["--task", str(task), "--runs", str(terms.parent / "runs"), "--device", "cpu"]
    assert main(["run", "main/popularity", *given]) == 0


def test_experiments_run_once_and_are_shown(
    terms: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(terms, *CHEAP, "--seeds", "2") == 0
    first = capsys.readouterr()
    titles = ["popularity", "Closest-Parent", "Closest-Neighbor"]
    began, results = first.err.splitlines()[::2], first.err.splitlines()[1::2]
    assert began[0] == "popularity, seed 0: started, 2 more to run"
    assert [line.split(": MR")[0] for line in results] == [f"{each}, seed 0" for each in titles]
    assert run(terms, *CHEAP, "--seeds", "2") == 0
    again = capsys.readouterr()
    assert (again.err.splitlines(), again.out) == (results, first.out)
    assert main(["table", "main", "--runs", str(terms.parent / "runs")]) == 0
    table = capsys.readouterr().out.splitlines()
    for title in titles:
        (row,) = [line for line in table if line.startswith(f"| {title} |")]
        assert row in first.out.splitlines()
        assert row.endswith("| 1 |")  # rules do not depend on the seed
    (never,) = [line for line in table if line.startswith("| TaxoExpan |")]
    assert never.startswith("| TaxoExpan | – | – | 80.3 ± 5.5 |  | – |")


def test_without_data_the_food_taxonomy_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "main/closest-parent", "--runs", str(tmp_path)]) == 0
    assert "**food**, vectors `static`" in capsys.readouterr().out


def test_stored_runs_make_a_figure_and_a_page(terms: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(FIGURES, "cases", "main/closest-*")  # which is quick to run
    assert run(terms, "main/closest-*") == 0
    folder, stored = terms.parent / "a" / "b", ["--runs", str(terms.parent / "runs")]
    assert main(["figure", "cases", *stored, "-o", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["cases.png", "cases.svg"]
    assert main(["page", *stored, "-o", str(folder / "page.md")]) == 0
    assert "## Overall results (Table 2)" in (folder / "page.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "key_word"),
    [
        (["figure", "loss"], "no run of loss/"),
        (["table", "ablation"], "run them first"),
        (["run", "tables"], "no experiment matches 'tables'"),
        (["run", "main/popularity", "--task", "x.npz"], "x.npz: the file does not exist"),
        (["run", "main/popularity", "--mag-cs", "x.terms"], "x.terms"),
        (["page"], "no runs"),
    ],
)
def test_impossible_steps_are_refused(
    arguments: list[str],
    key_word: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert key_word in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
