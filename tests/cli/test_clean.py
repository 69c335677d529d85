from __future__ import annotations

import csv
import html
import json
from pathlib import Path

import pytest

from taxoexpan.cli.messages import note
from taxoexpan.curation.cleaning.folds import SUSPICION_COLUMNS
from tests.support.command_line import run
from tests.support.ctrl_c import press_ctrl_c
from tests.support.small_models import SMALL


def options_of(settings: dict[str, int]) -> list[str]:
    changes = [text for name, value in settings.items() for text in ("--set", f"{name}={value}")]
    return [*changes, "--preset", "fast", "--device", "cpu", "--folds", "2", "--seed", "1"]


QUICK = options_of(SMALL | {"epochs": 2})


@pytest.fixture(scope="module")
def messy(pantry: Path) -> Path:
    """The pantry with oat milk as a tea."""
    path = pantry.with_name("messy.csv")
    text = pantry.read_text(encoding="utf-8").replace("\noat milk,milk", "\noat milk,tea")
    path.write_text(text, encoding="utf-8")
    return path


def test_the_most_suspicious_relations_are_written(messy: Path, tmp_path: Path) -> None:
    before, out = messy.read_bytes(), tmp_path / "suspicious.csv"
    messages = run("clean", messy, "-o", out, "--top", "1", *options_of(SMALL)).err
    assert messages.splitlines()[-1].startswith("80 relations checked; another parent is ")
    assert messages.endswith(f"; the 1 most suspicious are in {out}\n")
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1
    assert tuple(rows[0]) == SUSPICION_COLUMNS
    assert (rows[0]["concept"], rows[0]["parent_label"]) == ("oat milk", "tea")
    assert (rows[0]["better_label"], rows[0]["better_path"]) == ("milk", "food > milk")
    assert all(row["why"] for row in rows)
    assert "It is now under 'tea' (a sibling of 'milk'), where " in rows[0]["why"]
    assert all(0 < float(row["confidence"]) < 1 for row in rows)
    assert messy.read_bytes() == before
    assert list(tmp_path.iterdir()) == [out]


def test_the_output_is_json_if_its_name_ends_so(messy: Path, tmp_path: Path) -> None:
    out = tmp_path / "suspicious.json"
    run("clean", messy, "-o", out, "--inner", "--quiet", "--work", tmp_path / "work", *QUICK)
    relations = json.loads(out.read_text(encoding="utf-8"))["suspicious_relations"]
    assert 0 < len(relations) < 88
    assert all(relation["rank"] > 1 and relation["suspicion"] > 0 for relation in relations)
    assert list(relations[0]) == [*SUSPICION_COLUMNS, "evidence"]
    for relation in relations:
        better, parent = relation["evidence"]["suggestions"]
        assert better["parent"]["id"] == relation["better_id"]
        assert parent["parent"]["id"] == relation["parent_id"]
        assert " > ".join(better["path"]) == relation["better_path"]
        assert " > ".join(parent["path"]) == relation["path"]
        assert 0 < relation["confidence"] < 1
    assert list(tmp_path.iterdir()) == [out]


def test_a_report_can_be_written_in_addition_to_the_table(messy: Path, tmp_path: Path) -> None:
    out, report = tmp_path / "suspicious.csv", tmp_path / "suspicious.html"
    command = ["clean", messy, "-o", out, "--report", report, "--top", "1"]
    assert f"the 1 most suspicious are in {out} and {report}" in run(*command, *QUICK).err
    assert report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    with out.open(encoding="utf-8", newline="") as file:
        whys = [row["why"] for row in csv.DictReader(file)]
    assert len(whys) == 1
    page = html.unescape(report.read_text(encoding="utf-8"))
    assert f"Suspicious relations of {messy.name}" in page
    assert all(why in page for why in whys)
    assert sorted(tmp_path.iterdir()) == [out, report]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("suspicious.txt", [], "the file name must end in .csv or .json"),
        ("there.csv", [], "(option --force)"),
        ("suspicious.csv", ["--set", "hiden=3"], "no setting is called 'hiden'"),
        ("suspicious.csv", ["--folds", "1"], "folds is 1; it must be a whole number, at least 2"),
        ("suspicious.csv", ["--report", "suspicious.csv"], "give each file its own name"),
        ("suspicious.csv", ["--report", "there.csv"], "already exists; choose another name"),
        ("suspicious.csv", ["--work", "there.csv"], "(option --work)"),
    ],
)
def test_invalid_options_are_refused_before_any_training(
    messy: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    options: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.csv").write_text("mine", encoding="utf-8")
    assert message in run("clean", messy, "-o", name, *options, status=2).err
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]


def test_ctrl_c_keeps_finished_folds_and_the_same_command_resumes(
    messy: Path, tmp_path: Path
) -> None:
    out, work = tmp_path / "suspicious.csv", tmp_path / "suspicious.csv.folds"
    command = ["clean", messy, "-o", out, *QUICK]

    def interrupt(message: str) -> None:
        note(message)
        if message.startswith("1 of 2"):
            press_ctrl_c()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("taxoexpan.cli.clean.note", interrupt)
        messages = run(*command, status=130).err
    assert f"saved in {work}; run the same command to resume" in messages
    assert len(list(work.iterdir())) == 1
    assert "1 of 2 folds were finished before" in run(*command).err
    assert list(tmp_path.iterdir()) == [out]
