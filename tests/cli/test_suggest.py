from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from taxoexpan import read_taxonomy
from tests.support.command_line import run
from tests.support.decisions import read_suggestions
from tests.support.expanded_files import write_file


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return write_file(tmp_path / "new.csv", "label\ncashew milk\nwhite tea\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--engine ray --together", "(option --together)"),
        ("--engine ray --report r.html", "(option --report)"),
        ("--workers 2", "add --engine ray (option --workers)"),
        ("--address ray://host:10001", "add --engine ray (option --address)"),
        (
            "--engine ray --address ray://host:10001",
            "the engine ray does not run through Ray Client",
        ),
        ("-o s.parquet --json", "s.parquet is the name of a Parquet file"),
        ("-o s.parquet --table", "s.parquet is the name of a Parquet file"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    model_directory: Path, new: Path, options: str, message: str
) -> None:
    assert message in run("suggest", model_directory, new, *options.split(), status=2).err


def test_parquet_has_the_rows_of_the_csv_file(model_directory: Path, new: Path) -> None:
    table, typed = new.with_name("s.csv"), new.with_name("s.parquet")
    for path in (table, typed):
        run("suggest", model_directory, new, "-o", path, "--evidence")
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    typed_rows = pq.read_table(typed).to_pylist()
    assert [row["parent_id"] for row in rows] == [row["parent_id"] for row in typed_rows]
    assert [float(row["score"]) for row in rows] == [row["score"] for row in typed_rows]
    assert [row["path"].split(" > ") for row in rows] == [row["path"] for row in typed_rows]
    assert [row["why"] for row in rows] == [row["why"] for row in typed_rows]
    assert rows[0]["why"]


def test_suggest_says_once_that_a_confidence_rests_on_other_taxonomies(
    model_directory: Path, new: Path
) -> None:
    output = run("suggest", model_directory, new, "--json")
    rows = json.loads(output.out)["suggestions"]
    assert rows
    assert None not in {row["confidence"] for row in rows}
    assert output.err.count("rests mostly on other taxonomies, because there are only 16") == 1


def test_suggest_refuses_a_range_before_the_encoder_is_loaded(
    model_directory: Path, tmp_path: Path
) -> None:
    new = write_file(tmp_path / "new.txt", "nut milk\nwhite tea\nyak cheese\n")
    command = ["suggest", model_directory, new, "--features", "vectors:missing.txt"]
    messages = run(*command, "--id-template", "N{number}", "--id-range", "7-8", status=2).err
    needed = "new ids needed: 3; free numbers from 7 to 8: 2"
    assert messages == f"taxoexpan: {needed}; give a larger range of ids\n"
    assert "missing.txt" in run(*command, status=2).err


def test_json_suggestions_go_to_the_requested_output(
    model_directory: Path, new: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    assert run("suggest", model_directory, new, "--json", "-o", out).out == ""
    assert len(json.loads(out.read_text(encoding="utf-8"))["suggestions"]) == 10


def test_new_concepts_may_be_parents_of_new_concepts(
    model_directory: Path, pantry: Path, tmp_path: Path
) -> None:
    new, out = tmp_path / "new.txt", tmp_path / "suggestions.csv"
    new.write_text("nut milk\nhazel nut milk\nwhite tea\n", encoding="utf-8")
    given = ["suggest", model_directory, new, "-o", out, "--together"]
    run(*given)
    suggestions = read_suggestions(out)
    assert [s.query.label for s in suggestions] == ["nut milk", "hazel nut milk", "white tea"]
    assert {s.rank for s in suggestions} == {1}
    larger = tmp_path / "larger.csv"
    run("apply", pantry, out, "-o", larger)
    assert len(read_taxonomy(larger)) == len(read_taxonomy(pantry)) + 3
    for option in (["--evidence"], ["--top-k", "3"]):  # they would change nothing
        assert "(option --together)" in run(*given, "--force", *option, status=2).err
    report = tmp_path / "report.html"
    run(*given, "--force", "--report", report)
    messages = report.read_text(encoding="utf-8")
    assert all(s.query.label in messages and s.parent.label in messages for s in suggestions)
    assert "3 new concepts placed together in a taxonomy of" in messages
    assert "does not say how often they are right" in messages


def test_nothing_is_written_into_the_model_that_is_read(
    model_directory: Path, tmp_path: Path
) -> None:
    new = write_file(tmp_path / "new.txt", "nut milk\n")
    inside = str(model_directory / "calibration.json")
    messages = run("suggest", model_directory, new, "-o", inside, "--force", status=2).err
    assert "is written as a whole; choose another place" in messages


def test_similar_names_are_reported_and_wait_for_a_decision(
    pantry: Path, model_directory: Path, tmp_path: Path
) -> None:
    new = write_file(tmp_path / "new.txt", "Oat Milks\nalnond milk\nnut milk\n")
    table, out = tmp_path / "s.csv", tmp_path / "out.csv"
    messages = run("suggest", model_directory, new, "-o", table).err
    assert "'Oat Milks' and 'oat milk' (oat milk) differ only in singular and plural" in messages
    assert "'alnond milk' and 'almond milk' (almond milk) differ in one letter" in messages
    assert "'nut milk'" not in messages
    for option in ([], ["--all"]):
        messages = run("apply", pantry, table, "-o", out, "--force", *option).err
        assert "2 concepts left out: similar to an existing concept" in messages
        assert "'alnond milk' and 'almond milk' differ in one letter" in messages
        assert set(read_taxonomy(out)) - set(read_taxonomy(pantry)) == {"nut milk"}
    rows = table.read_text(encoding="utf-8").replace(",,attach,", ",accepted,attach,")
    run("apply", pantry, write_file(tmp_path / "decided.csv", rows), "-o", out, "--force")
    assert {"Oat Milks", "alnond milk"} <= set(read_taxonomy(out))
