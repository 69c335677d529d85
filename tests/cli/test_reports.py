"""Reports and reasons from the command line, on real files."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from taxoexpan import Suggestion, TaxoExpan, read_taxonomy
from taxoexpan.cli.suggestion_output import SuggestionSummary, print_merges, print_no_parent
from taxoexpan.explain import describe
from taxoexpan.taxonomy import Concept
from tests.support.builders import KINDS, SORTS
from tests.support.command_line import run
from tests.support.expanded_files import write_file
from tests.support.full_disk import no_file_larger_than

QUICK = ["--preset", "fast", "--features", "static", "--epochs", "3", "--device", "cpu"]


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return write_file(tmp_path / "new.csv", "label\ncashew milk\nwhite <b>tea\nOat-Milk\n")


@pytest.fixture(scope="module")
def synonyms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pantry, where every second food has its plural as a synonym."""
    lines = [
        "id,label,parents,synonyms",
        "food,food,,",
        *(f"{kind},{kind},food," for kind in KINDS),
    ]
    for place, (kind, sort) in enumerate((kind, sort) for kind in KINDS for sort in SORTS):
        plural = f"{sort} {kind}s" if place % 2 else ""
        lines.append(f"{sort} {kind},{sort} {kind},{kind},{plural}")
    return write_file(tmp_path_factory.mktemp("synonyms") / "pantry.csv", "\n".join(lines) + "\n")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_report_that_cannot_be_written_leaves_no_suggestions(
    model_directory: Path, new: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it would be truncated
    out, report = tmp_path / "out.csv", tmp_path / "report.html"
    with no_file_larger_than(10_000):
        command = ["suggest", model_directory, new, "-o", out, "--report", report]
        message = run(*command, status=2).err
    assert f"{report}: cannot be written: File too large" in message
    assert f"written to {out}" not in message
    assert sorted(tmp_path.iterdir()) == [new]


def test_suggest_writes_a_report_and_the_reasons(
    model_directory: Path, new: Path, tmp_path: Path
) -> None:
    out, report = tmp_path / "out.csv", tmp_path / "report.html"
    command = ["suggest", model_directory, new, "-o", out, "--report", report]
    assert f"report written to {report}" in run(*command).err
    text = report.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert text.endswith("</html>\n")
    assert "Suggestions for new.csv" in text
    assert "white &lt;b&gt;tea" in text
    assert "1 more already in the taxonomy" in text
    first, second, *_ = rows_of(out)
    assert first["why"]
    assert first["why"] in unescape(text)
    assert second["why"] == ""


@pytest.mark.parametrize("top_k", ["1", "3"])
def test_evidence_adds_reasons_and_changes_nothing_else(
    model_directory: Path, new: Path, top_k: str
) -> None:
    command = ["suggest", model_directory, new, "--json", "--top-k", top_k]
    bare = json.loads(run(*command).out)
    messages = json.loads(run(*command, "--evidence").out)
    assert "evidence" not in bare
    assert [{**row, "why": ""} for row in messages["suggestions"]] == bare["suggestions"]
    assert [each["query"]["label"] for each in messages["evidence"]] == [
        "cashew milk",
        "white <b>tea",
    ]
    ranked = [row for row in messages["suggestions"] if row["rank"] == 1]
    for row, each in zip(ranked, messages["evidence"], strict=True):
        assert row["why"]
        assert each["suggestions"][0]["parent"]["id"] == row["parent_id"]
        assert each["comparison"] is not None


def test_the_table_has_each_reason_below_its_line(
    model: TaxoExpan, model_directory: Path, new: Path
) -> None:
    command = ["suggest", model_directory, new, "--table"]
    bare = run(*command).out.splitlines()
    lines = run(*command, "--evidence").out.splitlines()
    assert [line for line in lines if not line.startswith("    ")] == bare
    _, (first, _) = model.suggest_with_evidence(
        [Concept("1", "cashew milk"), Concept("2", "tea, white")]
    )
    messages = " ".join(line.strip() for line in lines[2 : lines.index(bare[2])])
    assert messages == describe(first)


@pytest.fixture
def copied(model_directory: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_directory, tmp_path / "model"))


def files_of(folder: Path) -> Iterator[tuple[Path, bytes]]:
    return ((path, path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("suggest model new.csv --report old.html", "old.html: already exists; choose another"),
        ("suggest model new.csv --report new.csv --force", "new.csv: would overwrite another"),
        ("suggest model new.csv -o x --report x", "x: would overwrite another output"),
        ("suggest model new.csv --report model/r.html", "is inside model, which is written as a"),
        ("suggest model new.csv --report no/r.html", "the folder no does not exist; create it"),
        ("train old.csv -o m --report old.html", "old.html: already exists"),
        ("train old.csv -o m --report old.csv --force", "old.csv: would overwrite another output"),
        ("train old.csv -o m --report m/r.html", "is inside m, which is written as a whole"),
        ("train old.csv -o m --report m", "m: is inside m, which is written as a whole"),
        ("train old.csv -o m --report m.checkpoint", "m.checkpoint: would overwrite another"),
        ("train old.csv -o m --log l --report l", "l: would overwrite another output"),
        ("expand old.csv new.csv -o o.csv --report old.html", "old.html: already exists"),
        ("expand old.csv new.csv -o o.csv --report o.csv", "o.csv: would overwrite another output"),
        ("expand old.csv new.csv -o o.csv --report old.csv --force", "old.csv: would overwrite"),
        ("expand old.csv new.csv -o o --model m --report m/r", "is inside m, which is written"),
    ],
)
def test_a_report_never_overwrites_other_files(
    copied: Path, new: Path, monkeypatch: pytest.MonkeyPatch, command: str, message: str
) -> None:
    folder = new.parent
    assert copied.parent == folder
    monkeypatch.chdir(folder)
    (folder / "old.html").write_text("precious")
    (folder / "old.csv").write_text("child,parent\na,b\nc,b\nd,b\n")
    before = list(files_of(folder))
    captured = run(*command.split(), status=2)
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert list(files_of(folder)) == before


def test_with_force_an_old_report_is_replaced(
    model_directory: Path, new: Path, tmp_path: Path
) -> None:
    report = write_file(tmp_path / "report.html", "old")
    printed = run("suggest", model_directory, new, "--report", report, "--force").out
    assert report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert printed.startswith("query,query_id,rank")


def test_train_reports_what_it_learned(pantry: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    command = ["train", pantry, "-o", tmp_path / "model", "--report", report]
    assert f"report written to {report}" in run(*command, *QUICK).err
    text = unescape(report.read_text(encoding="utf-8"))
    assert "A model of pantry.csv" in text
    assert "Trained on 89 concepts and 88 relations" in text
    assert "What could not be learned" in text
    assert TaxoExpan.load(tmp_path / "model", device="cpu").taxonomy == read_taxonomy(pantry)


def test_expand_reports_synonyms_and_does_not_add_them(synonyms: Path, tmp_path: Path) -> None:
    new, out, kept = tmp_path / "new.csv", tmp_path / "out.csv", tmp_path / "kept.csv"
    new.write_text("label\ncashew milk\nOat-Milk\nred breads\n", encoding="utf-8")
    report = tmp_path / "report.html"
    command = ["expand", synonyms, new, "-o", out, "--suggestions", kept]
    command += ["--set", "learn_fusion=false"]
    messages = run(*command, "--report", report, *QUICK).err
    (merge,) = (row for row in rows_of(kept) if row["kind"] == "merge")
    sure = float(merge["confidence"])
    note = f"'red breads' is probably ({sure:.2f}) a synonym of 'red bread'; not added"
    assert note in messages
    assert "left out" not in messages
    assert "1 concept and 1 relation added" in messages
    assert set(read_taxonomy(out)) - set(read_taxonomy(synonyms)) == {"cashew milk"}
    text = unescape(report.read_text(encoding="utf-8"))
    assert "new.csv in pantry.csv" in text
    assert "1 added; 1 more already in the taxonomy" in text
    assert "It is likely a synonym of 'red bread'" in text
    assert note in run("apply", synonyms, kept, "-o", tmp_path / "again.csv").err


def test_a_report_on_known_names_needs_no_training(pantry: Path, tmp_path: Path) -> None:
    new, report = tmp_path / "new.txt", tmp_path / "report.html"
    new.write_text("Oat Milk\n")
    command = ["expand", pantry, new, "-o", tmp_path / "out.csv"]
    assert "training" not in run(*command, "--report", report).err
    assert "Already in the taxonomy" in report.read_text(encoding="utf-8")


def suggestion(label: str, rank: int = 1, **more: str) -> Suggestion:
    milk = Concept("milk", "milk")
    return Suggestion(Concept(label, label), rank, milk, ("food", "milk"), 0.87, None, **more)


def test_concepts_without_a_suitable_parent_are_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lost = [suggestion(f"thing {i}", place="none") for i in range(6)]
    same = suggestion("soy milk", kind="merge", place="none")
    summary = SuggestionSummary()
    summary.add([suggestion("oat milk"), lost[0], suggestion("thing 0", 2)])
    summary.add([same])
    print_no_parent(summary.without_parent, summary.queries)
    messages = "note: 1 of 3 new concepts has no suitable parent in the taxonomy: 'thing 0'\n"
    assert capsys.readouterr().err == messages
    print_no_parent(lost, 6)
    named = ", ".join(f"'thing {i}'" for i in range(5))
    messages = f"note: 6 of 6 new concepts have no suitable parent in the taxonomy: {named}, …\n"
    assert capsys.readouterr().err == messages
    print_no_parent([], 1)
    assert capsys.readouterr().err == ""


def test_at_most_ten_synonyms_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    print_merges([suggestion(f"milk {i}", kind="merge") for i in range(12)], "; not added")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "'milk 0' is probably (0.87) a synonym of 'milk'; not added"
    assert lines[10:] == ["note: … and 2 more are probably synonyms; not added"]
