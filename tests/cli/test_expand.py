"""What `expand` writes, what it leaves undecided, and how `apply` adds the rest."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from taxoexpan import TaxoExpan, read_taxonomy
from tests.support.command_line import run
from tests.support.messy_pantry import large_pantry

QUICK = ["--preset", "fast", "--features", "static", "--device", "cpu", "--seed", "1"]
CALIBRATED = ["--epochs", "25", "--set", "validation=leaves", "--set", "validation_fraction=0.35"]
NEW = [
    *("yak cheese", "cashew milk", "rice milk", "lime sauce", "pea soup", "corn bread"),
    *("gadget", "quantum field theory", "steam locomotive"),
]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A taxonomy that is large enough to learn a confidence, expanded with default options."""
    folder = tmp_path_factory.mktemp("expand")
    relations = (f"{child},{parent}\n" for parent, child in large_pantry().relations)
    (folder / "old.csv").write_text("child,parent\nfood,\n" + "".join(relations))
    (folder / "new.txt").write_text("\n".join(NEW) + "\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        command = ["expand", "old.csv", "new.txt", "-o", "out.csv", "--model", "model"]
        run(*command, "--report", "report.html", *QUICK, *CALIBRATED)
    return folder


def first_rows(folder: Path) -> dict[str, dict[str, str]]:
    rows = rows_of(folder / "out.suggestions.csv")
    return {row["query"]: row for row in rows if row["rank"] == "1"}


def added(path: Path, old: Path) -> set[str]:
    return set(read_taxonomy(path)) - set(read_taxonomy(old))


def test_only_concepts_with_a_sure_place_are_written(folder: Path) -> None:
    first = first_rows(folder)
    assert set(first) == set(NEW)
    good = added(folder / "out.csv", folder / "old.csv")
    assert 0 < len(good) < len(NEW)
    sure = {
        query: float(row["levels"].split(" > ")[1])
        for query, row in first.items()
        if row["place"] != "none"
    }
    assert good <= set(sure)
    least = min(sure[query] for query in good)
    assert all(level < least for query, level in sure.items() if query not in good)
    undecided = {query for query, row in first.items() if row["decision"] == "undecided"}
    assert undecided == set(NEW) - good
    accepted = [
        row for row in rows_of(folder / "out.suggestions.csv") if row["decision"] == "accepted"
    ]
    assert sorted(row["query"] for row in accepted) == sorted(good)
    grown = read_taxonomy(folder / "out.csv")
    assert {row["query"]: (row["parent_id"],) for row in accepted} == {
        query: grown.parents(query) for query in good
    }
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert f"{len(good)} added; {len(NEW) - len(good)} undecided" in report


def test_applying_the_suggestions_as_written_gives_the_same_file(
    folder: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again.csv"
    table = folder / "out.suggestions.csv"
    messages = run("apply", folder / "old.csv", table, "-o", again).err
    assert again.read_bytes() == (folder / "out.csv").read_bytes()
    undecided = sum(row["decision"] == "undecided" for row in first_rows(folder).values())
    assert f"{undecided} concepts left out: " in messages
    assert "to add one, write accepted into the column decision" in messages


def test_suggestions_that_nobody_decided_are_applied_as_by_expand(
    folder: Path, tmp_path: Path
) -> None:
    table, out, everything = (tmp_path / name for name in ("s.csv", "out.csv", "all.csv"))
    run("suggest", folder / "model", folder / "new.txt", "-o", table)
    messages = run("apply", folder / "old.csv", table, "-o", out).err
    assert out.read_bytes() == (folder / "out.csv").read_bytes()
    left = len(NEW) - len(added(out, folder / "old.csv"))
    assert f"{left} concepts left out: " in messages
    run("apply", folder / "old.csv", table, "-o", everything, "--all")
    assert added(everything, folder / "old.csv") == set(NEW)


def test_an_undecided_row_that_a_person_accepts_is_applied_to_the_expanded_file(
    folder: Path, tmp_path: Path
) -> None:
    rows = rows_of(folder / "out.suggestions.csv")
    chosen = next(row for row in rows if row["decision"] == "undecided" and row["rank"] == "2")
    chosen["decision"] = "Accepted"
    table, out = write_rows(tmp_path / "edited.csv", rows), tmp_path / "out.csv"
    messages = run("apply", folder / "out.csv", table, "-o", out).err
    assert added(out, folder / "out.csv") == {chosen["query_id"]}
    assert read_taxonomy(out).parents(chosen["query_id"]) == (chosen["parent_id"],)
    assert "1 concept and 1 relation added" in messages


@pytest.mark.parametrize("option", [["--all"], ["--min-confidence", "0"]])
def test_all_applies_the_undecided_concepts_too(
    folder: Path, tmp_path: Path, option: list[str]
) -> None:
    table, out = folder / "out.suggestions.csv", tmp_path / "out.csv"
    run("apply", folder / "old.csv", table, "-o", out, *option)
    assert added(out, folder / "old.csv") == set(NEW)


def test_a_threshold_decides_about_undecided_rows(folder: Path, tmp_path: Path) -> None:
    first = first_rows(folder)
    undecided = {q: row for q, row in first.items() if row["decision"] == "undecided"}
    least = max(float(row["confidence"]) for row in undecided.values())
    reaching = {q for q, row in undecided.items() if float(row["confidence"]) >= least}
    table, out = folder / "out.suggestions.csv", tmp_path / "out.csv"
    run("apply", folder / "out.csv", table, "-o", out, "--min-confidence", least)
    assert added(out, folder / "out.csv") == reaching


def test_an_unknown_decision_is_refused_with_its_line(folder: Path, tmp_path: Path) -> None:
    rows = rows_of(folder / "out.suggestions.csv")
    rows[1]["decision"] = "maybe"
    table = write_rows(tmp_path / "edited.csv", rows)
    messages = run("apply", folder / "old.csv", table, "-o", tmp_path / "out.csv", status=2).err
    message = "decision is 'maybe'; it must be one of accepted, undecided, rejected, or blank"
    assert f"{table}, line 3: {message}" in messages


def test_expand_all_writes_every_concept_and_says_nothing_of_undecided_ones(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    command = ["expand", folder / "old.csv", folder / "new.txt", "-o", out, "--all"]
    messages = run(*command, *QUICK, *CALIBRATED, "--epochs", "2").err
    assert added(out, folder / "old.csv") == set(NEW)
    assert "undecided" not in messages


def test_a_precision_replaces_the_rule_for_branches(folder: Path, tmp_path: Path) -> None:
    command = ["expand", folder / "old.csv", folder / "new.txt", "-o", tmp_path / "out.csv"]
    precision = ["--accept-at-precision", "0.2"]
    messages = run(*command, *precision, *QUICK, *CALIBRATED).err
    assert "(20% precision on held-out concepts)" in messages
    assert "branch" not in messages


def test_the_message_says_how_many_are_undecided_why_and_how_to_add_them(
    folder: Path, tmp_path: Path
) -> None:
    new, out = tmp_path / "my new.txt", tmp_path / "out.csv"
    new.write_text("gadget\nsteam locomotive\n")
    command = ["expand", str(folder / "old.csv"), str(new), "-o", str(out), *QUICK, *CALIBRATED]
    command += ["--format", "edges", "--columns", "child=1,parent=2"]
    messages = run(*command, "--epochs", "2", "--min-confidence", "1").err
    table = tmp_path / "out.suggestions.csv"
    undecided = sum(row["decision"] == "undecided" for row in first_rows(tmp_path).values())
    assert undecided
    (line,) = (each for each in messages.splitlines() if "undecided" in each)
    assert line.startswith(f"{undecided} of 2 new concepts ")
    assert "without a suitable parent; to review them, write accepted" in line
    assert line.endswith(
        f"into the column decision of {table}, then run: taxoexpan apply {out} {table} "
        f"--concepts '{new}' -o {out} --force --format edges --columns "
        '\'child="1",parents="2"\' (with --all, it writes all of them)'
    )
    printed = shlex.split(line.partition("then run: taxoexpan ")[2].partition(" (with")[0])
    run(*printed, "--all")
    assert added(out, folder / "old.csv") == {"gadget", "steam locomotive"}


def test_without_a_confidence_all_placements_are_written_and_a_message_says_so(
    pantry: Path, tmp_path: Path
) -> None:
    few, new, out = tmp_path / "few.csv", tmp_path / "new.txt", tmp_path / "out.csv"
    few.write_text("".join(pantry.read_text().splitlines(keepends=True)[:29]))
    new.write_text("cashew milk\nwhite tea\n")
    messages = run("expand", few, new, "-o", out, "--epochs", "2", *QUICK).err
    assert messages.count("28 concepts are too few for a confidence; it takes 30") == 1
    text = "without a confidence, all concepts that have a suitable parent are written; review them"
    assert messages.count(f"{text}\n") == 1
    assert added(out, few) == {"cashew milk", "white tea"}
    assert {row["decision"] for row in first_rows(tmp_path).values()} == {"accepted"}
    assert {row["confidence"] for row in rows_of(tmp_path / "out.suggestions.csv")} == {""}


def test_the_confidence_of_a_small_taxonomy_rests_on_others_and_a_message_says_so(
    pantry: Path, tmp_path: Path
) -> None:
    new, out, model = tmp_path / "new.txt", tmp_path / "out.csv", tmp_path / "model"
    new.write_text("cashew milk\nwhite tea\n")
    command = ["expand", pantry, new, "-o", out, "--epochs", "2", *QUICK, "--model", model]
    messages = run(*command).err
    warning = "warning: the confidence rests mostly on other taxonomies"
    assert messages.count(warning) == 1
    assert "calibration error" not in messages  # it cannot be measured
    assert "" not in {row["confidence"] for row in rows_of(tmp_path / "out.suggestions.csv")}
    assert run("suggest", model, new).err.count(warning) == 1


@pytest.mark.parametrize("option", ["--min-confidence", "--accept-at-precision"])
@pytest.mark.parametrize(
    ("leaves", "settings", "advice"),
    [
        (28, [], "(option --min-score)"),
        (129, ["learn_fusion=false"], "the setting validation_fraction=0.24"),
        (60, ["learn_fusion=false"], "the setting validation_fraction=0.5"),
        (59, ["learn_fusion=false"], "(option --min-score)"),
    ],
)
def test_a_threshold_without_a_confidence_is_refused_with_the_same_advice(
    tmp_path: Path, option: str, leaves: int, settings: list[str], advice: str
) -> None:
    old, new = tmp_path / "old.csv", tmp_path / "new.txt"
    old.write_text("child,parent\n" + "".join(f"thing {n},things\n" for n in range(leaves)))
    new.write_text("thing x\n")
    command = ["expand", old, new, "-o", tmp_path / "out.csv", option, "0.6"]
    changes = [word for setting in settings for word in ("--set", setting)]
    assert advice in run(*command, *QUICK, *changes, "--epochs", "2", status=2).err


@pytest.mark.slow
def test_concepts_that_are_placed_together_are_all_written_and_a_message_says_so(
    pantry: Path, tmp_path: Path
) -> None:
    new, out = tmp_path / "new.txt", tmp_path / "out.csv"
    new.write_text("nut milk\nhazel nut milk\n")
    command = ["expand", pantry, new, "-o", out, "--together", "--epochs", "2"]
    assert "placed together, so all placements are written" in run(*command, *QUICK).err
    assert added(out, pantry) == {"nut milk", "hazel nut milk"}


def test_an_existing_file_of_suggestions_is_refused_before_training(
    pantry: Path, tmp_path: Path
) -> None:
    new, table = tmp_path / "new.txt", tmp_path / "out.suggestions.csv"
    new.write_text("nut milk\n")
    table.write_text("precious")
    messages = run("expand", pantry, new, "-o", tmp_path / "out.csv", "--epochs", "1", status=2).err
    assert f"{table}: already exists, and the suggestions would be written there" in messages
    assert "(option --suggestions)" in messages
    assert "training" not in messages
    assert table.read_text() == "precious"


@pytest.mark.parametrize("taken", ["model", "out.csv", "out.suggestions.csv"])
def test_an_output_that_is_created_during_the_training_stays(
    taken: str, pantry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = TaxoExpan.fit

    def fit_and_create(*given: Any, **options: Any) -> TaxoExpan:
        (tmp_path / taken).write_text("theirs")
        return fit(*given, **options)

    monkeypatch.setattr(TaxoExpan, "fit", fit_and_create)
    (tmp_path / "new.txt").write_text("cashew milk\n")
    outputs = ["-o", str(tmp_path / "out.csv"), "--model", str(tmp_path / "model")]
    command = ["expand", pantry, tmp_path / "new.txt", *outputs, *QUICK]
    messages = run(*command, "--epochs", "1", "--set", "hidden_dim=8", status=2).err
    assert f"{tmp_path / taken}: already exists" in messages
    assert (tmp_path / taken).read_text() == "theirs"
    kept = len(list(tmp_path.glob("out.suggestions-*.csv")))
    assert kept == (taken == "out.suggestions.csv")  # the training is not lost
