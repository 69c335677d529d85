"""The command export: its tables and changes, its arguments, and backups."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from taxoexpan import read_taxonomy
from taxoexpan.taxonomy import Concept
from tests.support.command_line import run
from tests.support.desk_cases import (
    NEW,
    Action,
    DecisionStore,
    accept,
    append,
    cells,
    decide,
    exported,
    first_proposals,
    history,
    insert,
    merge,
    queued,
    reject,
    undo,
)
from tests.support.expanded_files import write_file
from tests.support.kgcl_grammar import rule_of
from tests.support.postgresql_server import PostgresqlServer

FORMULAS = ("=SUM(A1)", "@cmd", "-5 degrees", "'=quoted", "+plus", "'t plain")
TAXONOMY = """id,label,parent
FOOD,food,
DAIRY,dairy,FOOD
MILK,milk,DAIRY
BREAD,bread,FOOD
TOAST,toast,BREAD
"""


@pytest.fixture
def taxonomy(tmp_path: Path) -> Path:
    return write_file(tmp_path / "food.csv", TAXONOMY)


@pytest.fixture
def decisions(tmp_path: Path) -> Path:
    """A store in which oat milk is accepted, rye bread rejected, and havremjölk merged."""
    path = tmp_path / "reviews.db"
    with DecisionStore.open(str(path)) as store:
        store.add_concepts([*NEW, Concept("n9", "Toasted rye"), Concept("n8", "Mjölk")])
        store.set_proposals("model 1", first_proposals())
        append(store, "Ada", accept(queued(store, "oat milk")))
        append(store, "Ada", reject(queued(store, "rye bread")))
        append(store, "Ada", insert(queued(store, "toasted rye"), "bread", "TOAST"))
        append(store, "Bob", merge(queued(store, "mjölk"), "milk"))
    return path


def test_a_list_does_not_replace_texts_that_were_edited(
    decisions: Path, taxonomy: Path, tmp_path: Path
) -> None:
    old = tmp_path / "food.json"
    table = tmp_path / "decisions.csv"
    out = tmp_path / "out.json"
    text = "label,definition,synonyms\noat milk,from the list,oat juice\nmjölk,,\n"
    listed = write_file(tmp_path / "new.csv", text)
    with DecisionStore.open(str(decisions)) as store:
        oat_milk = queued(store, "oat milk")
        edited = Concept("n1", "Oat Milk", ("oat beverage",), "a drink")
        append(store, "Ada", decide(oat_milk, Action.EDIT, edited=edited))
    run("convert", taxonomy, old)
    assert "3 accepted concepts" in run("export", decisions, "-o", table).err
    run("apply", old, table, "-o", out, "--concepts", listed)
    (new,) = [each for each in read_taxonomy(out).concepts if each.label == "Oat Milk"]
    assert (new.definition, new.synonyms) == ("a drink", ("oat beverage",))


def test_a_new_name_that_the_taxonomy_has_causes_a_warning(
    decisions: Path, taxonomy: Path, tmp_path: Path
) -> None:
    table = tmp_path / "decisions.csv"
    with DecisionStore.open(str(decisions)) as store:
        edited = Concept("n1", "Bread")
        append(store, "Ada", decide(queued(store, "oat milk"), Action.EDIT, edited=edited))
    warning = "warning: 'Bread' is added, although 'bread' (BREAD) has the same name"
    changes = "-o", tmp_path / "changes.kgcl", "--taxonomy", taxonomy
    assert warning in run("export", decisions, *changes).err
    run("export", decisions, "-o", table)
    printed = run("apply", taxonomy, table, "-o", tmp_path / "out.csv", "--json")
    assert warning in printed.err
    assert '"same_name"' in printed.out
    assert read_taxonomy(tmp_path / "out.csv").labels.count("Bread") == 1


def test_labels_like_formulas_survive_export_and_apply(taxonomy: Path, tmp_path: Path) -> None:
    store_path = tmp_path / "reviews.db"
    table = tmp_path / "decisions.csv"
    with DecisionStore.open(str(store_path)) as store:
        store.add_concepts([Concept("", label) for label in FORMULAS])
        append(store, "=Ada", *(accept(each, "milk") for each in store.queue().concepts))
    run("export", store_path, "-o", table)
    written = [cell for row in exported(store_path) for cell in (row["query"], row["curator"])]
    assert not [text for text in written if text.startswith(("=", "@", "-", "+"))]
    out = tmp_path / "out.json"
    typed = tmp_path / "taxonomy.json"
    run("convert", taxonomy, typed)
    run("apply", typed, table, "-o", out)
    assert set(FORMULAS) < {concept.label for concept in read_taxonomy(out).concepts}


def test_labels_like_formulas_are_applied_again_without_a_change(tmp_path: Path) -> None:
    text = "id,label,parent,synonyms\n1,food,,\n2,milk,1,\n"
    taxonomy = write_file(tmp_path / "food.csv", text)
    rows = (
        "query,query_id,rank,parent_id,kind,decision,curator\n"
        "'=1+1,n1,1,1,attach,accepted,Ada\n'=2+2,,,1,,,\n'=3+3,n3,1,2,merge,accepted,Ada\n"
    )
    decisions = write_file(tmp_path / "d.csv", rows)
    first = tmp_path / "food-v2.csv"
    changes = tmp_path / "d.kgcl"
    run("apply", taxonomy, decisions, "-o", first, "--changes", changes)
    assert "'=1+1" in first.read_text(encoding="utf-8")
    assert "create node n1 '=1+1'" in changes.read_text(encoding="utf-8")
    second = tmp_path / "food-v3.csv"
    assert "0 concepts" in run("apply", first, decisions, "-o", second).err
    assert second.read_bytes() == first.read_bytes()


def test_the_changes_are_written_as_kgcl_and_sssom(
    decisions: Path, taxonomy: Path, tmp_path: Path
) -> None:
    summaries = {
        "changes.kgcl": "2 new concepts, 1 new synonym and 1 move written",
        "changes.sssom.tsv": "1 mapping written",
        "changes.md": "2 new concepts, 1 new synonym and 1 move written",
    }
    for name, summary in summaries.items():
        assert (
            summary in run("export", decisions, "-o", tmp_path / name, "--taxonomy", taxonomy).err
        )
    kgcl = (tmp_path / "changes.kgcl").read_text(encoding="utf-8").splitlines()
    assert all(rule_of(line) for line in kgcl)
    assert any(line.startswith("create") and "'Oat Milk'" in line for line in kgcl)
    assert "create exact synonym 'Mjölk' for MILK" in kgcl
    assert any("TOAST" in line and "BREAD" in line for line in kgcl)
    lines = (tmp_path / "changes.sssom.tsv").read_text(encoding="utf-8").splitlines()
    body = [line for line in lines if not line.startswith("#")]
    (mapping,) = csv.DictReader(body, delimiter="\t")
    assert (mapping["subject_label"], mapping["object_label"]) == ("Mjölk", "milk")
    assert mapping["mapping_justification"] == "semapv:ManualMappingCuration"
    assert "**Oat Milk**" in (tmp_path / "changes.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.db"], "missing.db: does not exist"),
        (["-o", "x.kgcl"], "--taxonomy"),
        (["-o", "x.txt", "--taxonomy", "f.csv"], ".kgcl"),
        (["-o", "x.txt"], ".csv"),
        (["--taxonomy", "f.csv"], "--taxonomy"),
        (["--history", "-o", "x.kgcl"], "--history"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: list[str],
    message: str,
    decisions: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    store = [] if arguments[0].endswith(".db") else [str(decisions)]
    assert message in run("export", *store, *arguments, status=2).err
    assert not (tmp_path / "missing.db").exists()


@pytest.mark.parametrize("arguments", [[], ["--backup", "backup.db"]])
def test_an_empty_file_is_not_made_a_store(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    empty = write_file(tmp_path / "empty.db", "")
    message = run("export", empty, *arguments, status=2).err
    assert "empty.db: is empty" in message
    assert empty.read_bytes() == b""
    assert [path.name for path in tmp_path.iterdir()] == ["empty.db"]


def test_a_backup_is_made_while_the_store_is_in_use(decisions: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    with DecisionStore.open(str(decisions)) as store:
        before = history(decisions)
        run("export", decisions, "--backup", backup)
        undo(store, "Ada")
        assert history(backup) == before
        now = history(decisions)
    assert len(now) == len(before) + 1
    assert cells(now, "undone")[2] == ("yes",)
    with DecisionStore.open(str(backup)) as copied:
        undo(copied, "Ada")  # it is a store that can be used
    content = backup.read_bytes()
    assert "already exists" in run("export", decisions, "--backup", backup, status=2).err
    assert backup.read_bytes() == content
    run("export", decisions, "--backup", backup, "--force")
    assert history(backup) == now
    assert {path.name for path in tmp_path.iterdir()} == {"reviews.db", "backup.db"}


def test_a_backup_is_not_an_export_too(decisions: Path, tmp_path: Path) -> None:
    arguments = decisions, "--backup", tmp_path / "backup.db", "--history"
    assert "second command" in run("export", *arguments, status=2).err
    onto_itself = "export", decisions, "--backup", decisions, "--force"
    assert "its own name" in run(*onto_itself, status=2).err
    assert [path.name for path in tmp_path.iterdir()] == ["reviews.db"]


def test_a_backup_of_postgresql_names_its_own_program(
    postgresql: PostgresqlServer, tmp_path: Path
) -> None:
    url = postgresql.new_schema()
    backup = tmp_path / "backup.db"
    DecisionStore.open(url).close()
    assert "pg_dump" in run("export", url, "--backup", backup, status=2).err
    assert not backup.exists()
