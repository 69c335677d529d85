"""The command export: decisions for apply, as changes, and as a history."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from taxoexpan import read_taxonomy
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Action, Decision, Status
from taxoexpan.desk.store.queue import QueueOrder, QueueQuery
from taxoexpan.placement.suggesting.suggestions import SuggestionKind
from taxoexpan.taxonomy import Concept
from tests.support.builders import own
from tests.support.command_line import run
from tests.support.desk_cases import accept, first_proposals, reject
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
        store.add_concepts([each.query for each in first_proposals()[::3]])
        store.add_concepts([Concept("n9", "Toasted rye"), Concept("n8", "Mjölk")])
        store.set_proposals("model 1", first_proposals())
        milk, _, rye, toasted, merged = store.queue(QueueQuery(order=QueueOrder.LISTED)).concepts
        insert = own("", "BREAD", "bread", kind=SuggestionKind.INSERT, moves=("TOAST",))
        merge = own("", "MILK", "milk", kind=SuggestionKind.MERGE)
        store.append([accept(milk), reject(rye)], "Ada")
        store.append([Decision(toasted.key, Action.ACCEPT, 0, (insert,))], "Ada")
        store.append([Decision(merged.key, Action.ACCEPT, 0, (merge,))], "Bob")
    return path


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_decisions_are_applied(decisions: Path, taxonomy: Path, tmp_path: Path) -> None:
    table, old, out = (tmp_path / name for name in ("decisions.csv", "food.json", "out.json"))
    run("convert", taxonomy, old)
    run("export", decisions, "-o", table)
    run("apply", old, table, "-o", out, "--allow-moves", "--allow-merges")
    expanded = read_taxonomy(out)
    by_label = {concept.label: concept for concept in expanded.concepts}
    assert set(by_label) == {"food", "dairy", "milk", "bread", "toast", "Oat Milk", "Toasted rye"}
    assert expanded.parents(by_label["Oat Milk"].id) == ("MILK",)
    assert expanded.parents("TOAST") == (by_label["Toasted rye"].id,)
    assert by_label["milk"].synonyms == ("Mjölk",)
    assert by_label["Oat Milk"].definition == "milk made of oats"
    assert by_label["Oat Milk"].synonyms == ("oat drink",)


def test_a_list_replaces_the_exported_definitions(
    decisions: Path, taxonomy: Path, tmp_path: Path
) -> None:
    table, old, out = (tmp_path / name for name in ("decisions.csv", "food.json", "out.json"))
    listed = tmp_path / "new.csv"
    listed.write_text("label,definition\noat milk,a drink\noat milk,a milk\n", encoding="utf-8")
    run("convert", taxonomy, old)
    run("export", decisions, "-o", table)
    run("apply", old, table, "-o", out, "--allow-moves", "--allow-merges", "--concepts", listed)
    (oat_milk,) = [each for each in read_taxonomy(out).concepts if each.label == "Oat Milk"]
    assert (oat_milk.definition, oat_milk.synonyms) == ("a drink", ("oat drink",))


def test_the_table_has_accepted_and_rejected_rows(decisions: Path) -> None:
    table = rows(run("export", decisions).out)
    found = [(row["query"], row["parent_id"], row["decision"], row["rank"]) for row in table]
    assert found == [
        ("Oat Milk", "MILK", "accepted", "1"),
        ("Rye bread", "BREAD", "rejected", "1"),
        ("Rye bread", "GRAIN", "rejected", "2"),
        ("Toasted rye", "BREAD", "accepted", "0"),
        ("Mjölk", "MILK", "accepted", "0"),
    ]


def test_labels_like_formulas_survive_export_and_apply(taxonomy: Path, tmp_path: Path) -> None:
    store_path, table, out = tmp_path / "reviews.db", tmp_path / "d.csv", tmp_path / "out.json"
    with DecisionStore.open(str(store_path)) as store:
        store.add_concepts([Concept("", label) for label in FORMULAS])
        placement = own("", "MILK", "milk")
        store.append(
            [Decision(each.key, Action.ACCEPT, 0, (placement,)) for each in store.queue().concepts],
            "=Ada",
        )
    run("export", store_path, "-o", table)
    written = [row["query"] for row in rows(table.read_text(encoding="utf-8"))]
    assert not [text for text in written if text.startswith(("=", "@", "-", "+"))]
    typed = tmp_path / "taxonomy.json"
    run("convert", taxonomy, typed)
    run("apply", typed, table, "-o", out)
    assert set(FORMULAS) < {concept.label for concept in read_taxonomy(out).concepts}


def test_the_changes_are_written_as_kgcl_and_sssom(
    decisions: Path, taxonomy: Path, tmp_path: Path
) -> None:
    for name in ("changes.kgcl", "changes.sssom.tsv", "changes.md"):
        run("export", decisions, "-o", tmp_path / name, "--taxonomy", taxonomy)
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


def test_the_history_says_who_decided_what(decisions: Path) -> None:
    with DecisionStore.open(str(decisions)) as store:
        store.undo("Ada")
    history = rows(run("export", decisions, "--history").out)
    assert [row["action"] for row in history] == ["undo", "accept", "accept", "reject", "accept"]
    assert [row["undone"] for row in history] == ["", "", "yes", "", ""]
    assert [row["moves"] for row in history] == ["", "", "TOAST", "", ""]
    reject_row = history[3]
    assert reject_row["parent_id"] == "BREAD|GRAIN"
    assert (reject_row["reason"], reject_row["curator"]) == ("wrong-parents", "Ada")
    assert reject_row["model"] == "model 1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.db"], "missing.db: does not exist; taxoexpan review creates a store"),
        (["-o", "x.kgcl"], "give it with --taxonomy"),
        (["-o", "x.txt", "--taxonomy", "f.csv"], "does not say how to write the changes"),
        (["-o", "x.txt"], ".sssom.tsv (sssom), or in .csv (the decisions for apply, without --"),
        (["--taxonomy", "f.csv"], "needs no --taxonomy"),
        (["--history", "-o", "x.kgcl"], "--history writes CSV"),
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


def test_concepts_with_the_same_proposed_id_are_told_apart(taxonomy: Path, tmp_path: Path) -> None:
    store_path, table, out = tmp_path / "reviews.db", tmp_path / "d.csv", tmp_path / "out.csv"
    with DecisionStore.open(str(store_path)) as store:
        for label in ("Kefir", "Skyr"):
            store.add_concepts([Concept("new-1", label)])
        todo = store.queue(QueueQuery(statuses=(Status.TODO,))).concepts
        placement = own("", "MILK", "milk")
        store.append([Decision(c.key, Action.ACCEPT, 0, (placement,)) for c in todo], "Ada")
    run("export", store_path, "-o", table)
    run("apply", taxonomy, table, "-o", out)
    assert {"Kefir", "Skyr"} < {concept.label for concept in read_taxonomy(out).concepts}


def test_a_backup_is_made_while_the_store_is_in_use(decisions: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    with DecisionStore.open(str(decisions)) as store:
        run("export", decisions, "--backup", backup)
        store.undo("Ada")
        log = store.log()
    with DecisionStore.open(str(backup)) as copied:
        assert copied.log() == [replace(each, undone=False) for each in log[:-1]]
        copied.undo("Ada")
    before = backup.read_bytes()
    assert "already exists" in run("export", decisions, "--backup", backup, status=2).err
    assert backup.read_bytes() == before
    run("export", decisions, "--backup", backup, "--force")
    with DecisionStore.open(str(backup)) as copied:
        assert copied.log() == log
    assert {path.name for path in tmp_path.iterdir()} == {"reviews.db", "backup.db"}


def test_a_backup_is_not_an_export_too(decisions: Path, tmp_path: Path) -> None:
    arguments = decisions, "--backup", tmp_path / "backup.db", "--history"
    assert "second command" in run("export", *arguments, status=2).err
    assert (
        "its own name" in run("export", decisions, "--backup", decisions, "--force", status=2).err
    )
    assert [path.name for path in tmp_path.iterdir()] == ["reviews.db"]


def test_a_backup_of_postgresql_names_its_own_program(
    postgresql: PostgresqlServer, tmp_path: Path
) -> None:
    url, backup = postgresql.new_schema(), tmp_path / "backup.db"
    DecisionStore.open(url).close()
    assert "pg_dump" in run("export", url, "--backup", backup, status=2).err
    assert not backup.exists()
