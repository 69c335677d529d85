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
    assert ours.endswith("MR 80.33, Hit@1 0.2121, Hit@3 0.3823, scaled MRR 0.6929")


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
    encoding, *messages = first.err.splitlines()
    assert encoding.endswith("encoding with static, finding mentions and duplicates")
    began, results = messages[::2], messages[1::2]
    assert began[0] == "popularity, seed 0: started, 2 more to run"
    assert [line.split(": MR")[0] for line in results] == [f"{each}, seed 0" for each in titles]
    assert run(terms, *CHEAP, "--seeds", "2") == 0
    again = capsys.readouterr()
    assert (again.err.splitlines(), again.out) == ([encoding, *results], first.out)
    assert run(terms, *CHEAP, "--seeds", "2", "--quiet") == 0
    assert capsys.readouterr() == (first.out, "")
    assert main(["table", "main", "--runs", str(terms.parent / "runs")]) == 0
    table = capsys.readouterr().out.splitlines()
    for title in titles:
        (row,) = [line for line in table if line.startswith(f"| {title} |")]
        assert row in first.out.splitlines()
        assert row.endswith("| 1 |")  # rules do not depend on the seed
    (never,) = [line for line in table if line.startswith("| TaxoExpan |")]
    assert never.startswith("| TaxoExpan | – | – | 80.3 ± 5.5 |  | – |")


def test_a_run_prints_its_own_task_with_all_metrics(
    terms: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = ["--runs", str(terms.parent / "runs")]
    assert main(["run", "main/popularity", *runs]) == 0
    assert "**food**" in capsys.readouterr().out
    assert run(terms, "main/popularity") == 0
    shown = capsys.readouterr()
    assert "**pantry**" in shown.out
    assert "**food**" not in shown.out
    for metric in ("MR", "Hit@1", "Hit@3", "Hit@10", "scaled MRR"):
        assert f"| {metric} |" in shown.out
        assert f"{metric} " in shown.err.splitlines()[-1].partition("; validation MR ")[0]
    assert main(["table", "main/popularity", *runs]) == 0
    assert "**food**" in capsys.readouterr().out


OWN = """\
title = "last word"
method = "words.py:last_word"
settings = {bonus = 2}
"""
RULE = """\
def last_word(taxonomy, concepts, bonus=1.0):
    new = [concept.label for concept in concepts]
    return [[bonus * label.endswith(own) for label in new] for own in taxonomy.labels]
"""


def test_an_experiment_of_ones_own_runs_from_its_file(
    terms: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = terms.with_name("mine.toml")
    config.write_text(OWN)
    rule = terms.with_name("words.py")
    rule.write_text(RULE)
    other = terms.with_name("other.toml")
    other.write_text('method = "closest-parent"')
    chosen = ["main/popularity", "--config", str(config), "--config", str(other)]
    assert run(terms, *chosen, "--quiet") == 0
    table = capsys.readouterr().out
    (row,) = [line for line in table.splitlines() if line.startswith("| last word |")]
    assert "| other |" in table
    assert row.split("|")[4:6] == [" .938 ", " 1.000 "]  # green milk is also below tea
    assert "paper" not in table
    stored = ["--runs", str(terms.parent / "runs")]
    assert main(["table", *chosen, *stored]) == 0
    assert capsys.readouterr().out == table
    # A changed setting and a changed file are other runs.
    assert main(["table", *chosen, *stored, "--set", "bonus=0"]) == 0
    assert "| last word, bonus=0 | – |" in capsys.readouterr().out
    assert run(terms, *chosen, "--set", "bonus=0", "--quiet") == 0
    (row,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("| last word, ")]
    assert row.split("|")[4].strip() == ".000"
    rule.write_text(RULE.replace("endswith", "startswith"))
    assert main(["table", *chosen, *stored]) == 0
    assert "| last word | – |" in capsys.readouterr().out


def test_a_failing_method_does_not_end_the_other_experiments(
    terms: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terms.with_name("mine.py").write_text(
        "def failing(taxonomy, concepts):\n"
        "    raise ValueError('of mine')\n"
        "def nans(taxonomy, concepts):\n"
        "    return [[float('nan') for _ in concepts] for _ in taxonomy.labels]\n"
    )
    configs = []
    for name in ("failing", "nans"):
        configs.append(terms.with_name(f"{name}.toml"))
        configs[-1].write_text(f'method = "mine.py:{name}"')
    chosen = [*map(str, configs), str(terms.with_name("popularity.toml"))]
    Path(chosen[-1]).write_text('method = "popularity"')
    assert run(terms, "main/popularity", "--config", *chosen) == 2
    shown = capsys.readouterr()
    assert "Traceback" in shown.err
    assert "This is an error of the method " in shown.err
    *_, failed, first, second, fix = shown.err.splitlines()
    assert failed == "error: 2 experiments failed:"
    assert first == "failing: of mine"
    assert "run again" in fix
    assert second.startswith("nans: nans returned NaN for ")
    # Rows with equal titles are told apart.
    rows = [line.split(" |")[0] for line in shown.out.splitlines() if line.startswith("| ")]
    assert rows[1:] == [
        "| popularity (main/popularity)",
        "| failing",
        "| nans",
        "| popularity (own/popularity)",
    ]
    assert run(terms, "--config", *chosen[:2]) == 2  # nothing to show


def test_too_little_to_learn_from_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "few.csv"
    for rows in ("a,\n", "a,\nb,a\n", "a,\nb,a\nc,b\nd,c\n"):
        file.write_text(f"label,parent\n{rows}")
        command = ["run", "main/popularity", "--taxonomy", str(file), "--runs", str(tmp_path)]
        assert main(command) == 2
        assert "too little to learn from" in capsys.readouterr().err


def test_the_epochs_of_networks_are_changed(
    terms: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = ["--epochs", "1", "--set", "hidden_dim=8", "--set", "embedding_dim=16", "--seeds", "1"]
    assert run(terms, "main/taxoexpan", "main/popularity", *quick) == 0
    title = "TaxoExpan, epochs=1, hidden_dim=8, embedding_dim=16"
    shown = capsys.readouterr()
    rows = [line.split(" | ")[0] for line in shown.out.splitlines() if line.startswith("| ")]
    assert rows[1:] == [f"| {title}", "| popularity"]  # the rule has no such setting
    assert "epoch   1" in shown.err
    assert "epoch   2" not in shown.err
    stored = ["--runs", str(terms.parent / "runs")]
    assert main(["table", "main/taxoexpan", *stored]) == 2
    assert f"other settings: {title}; give" in capsys.readouterr().err


def test_a_taxonomy_of_ones_own_is_split_by_lists_or_by_leaves(
    pantry: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "foods.csv"
    file.write_bytes(pantry.read_bytes())
    command = ["run", "main/popularity", "--taxonomy", str(file), "--device", "cpu"]
    assert main([*command, "--runs", str(tmp_path / "by-leaves")]) == 0
    shown = capsys.readouterr()
    assert "no lists of ids" in shown.err
    assert "**foods**, vectors `static`, 8 test queries" in shown.out
    (tmp_path / "foods.csv.test").write_text("oat milk\nrye bread\n")
    (tmp_path / "foods.csv.validation").write_text("red bread\n")
    assert main([*command, "--runs", str(tmp_path / "by-lists")]) == 0
    shown = capsys.readouterr()
    assert "no lists of ids" not in shown.err
    assert "2 test queries" in shown.out


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
        (["run"], "no experiment is given"),
        (["run", "--config", "nowhere.toml"], "nowhere.toml: the file does not exist"),
        (["run", "--config", "main/popularity"], "come before --config"),
        (["run", "main/popularity", "--set", "epochs=3"], "the setting 'epochs'"),
        (["run", "main/taxoexpan", "--set", "epochs"], "sets nothing"),
        (["run", "main/taxoexpan", "--set", "epochs=3", "--epochs", "4"], "set twice"),
        (["run", "main/popularity", "--newer", "x.csv"], "taxoexpan evaluate"),
        (["figure", "loss", "main/taxoexpan"], "the figure cases"),
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
