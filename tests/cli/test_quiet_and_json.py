"""The options --quiet and --json mean the same for all commands."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from taxoexpan import read_taxonomy
from taxoexpan.cli.main import build_parser
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.queue import QueueQuery
from tests.support.command_line import run
from tests.support.desk_cases import accept, first_proposals
from tests.support.discovery_corpus import corpus, texts
from tests.support.expanded_files import write_file

TINY = ["--preset", "fast", "--features", "static", "--set", "epochs=1", "--set", "hidden_dim=4"]
TINY += ["--device", "cpu"]
WITHOUT_NOTES = {"check", "doctor", "completion"}
WITHOUT_RESULTS = {"review", "serve", "mcp", "completion"}
"""Servers, and a command that prints a script."""
TAXONOMY = "id,label,parent\n1,food,\n2,fruit,1\n3,milk,1\n4,apple,2\n"
DECISIONS = "query,parent_id,decision\nkiwi,2,accepted\nApple,2,accepted\nrye,1,rejected\n"


def commands() -> dict[str, dict[str, argparse.Action]]:
    """The options of every command by their names."""
    found = {}
    for action in build_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, parser in action.choices.items():
                found[name] = {option.dest: option for option in parser._actions}
    return found


def test_commands_with_notes_are_quiet_on_request_and_results_are_json_on_request() -> None:
    declared = commands()
    assert {name for name, options in declared.items() if "quiet" not in options} == WITHOUT_NOTES
    assert {name for name, options in declared.items() if "json" not in options} == WITHOUT_RESULTS


def test_quiet_means_the_same_everywhere() -> None:
    declared = {name: o["quiet"] for name, o in commands().items() if "quiet" in o}
    texts = {option.help for option in declared.values()}
    assert texts == {"hide progress and notes; warnings and errors are still shown"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A taxonomy, decisions about it, a newer version, a list, a corpus and a store."""
    monkeypatch.chdir(tmp_path)
    write_file(tmp_path / "food.csv", TAXONOMY)
    write_file(tmp_path / "newer.csv", TAXONOMY + "5,pear,2\n")
    write_file(tmp_path / "decisions.csv", DECISIONS)
    write_file(tmp_path / "new.txt", "oat milk\ncashew milk\n")
    corpus(tmp_path, texts("We like slot filling."))
    write_file(tmp_path / "topics.csv", "child,parent\ngrammar,\nmachine translation,grammar\n")
    with DecisionStore.open("reviews.db") as store:
        store.add_concepts([each.query for each in first_proposals()[::3]])
        store.set_proposals("model 1", first_proposals())
        store.append([accept(store.queue(QueueQuery()).concepts[0])], "Ada")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("apply food.csv decisions.csv -o out.csv --force", 0),
        ("convert food.csv out.json --force", 0),
        ("diff food.csv newer.csv --to kgcl", 1),
        ("discover corpus.txt --taxonomy topics.csv -o out.csv --workers 1 --force", 0),
        ("export reviews.db -o out.csv --force", 0),
    ],
)
def test_notes_are_hidden_and_the_result_is_the_same(
    folder: Path, command: str, status: int
) -> None:
    def printed(*options: str) -> tuple[str, str, bytes]:
        done = run(*command.split(), *options, status=status)
        written = b"".join(path.read_bytes() for path in sorted(folder.glob("out.*")))
        return done.out, done.err, written

    out, err, written = printed()
    assert err
    assert printed("--quiet") == (out, "", written)


@pytest.mark.usefixtures("folder")
def test_a_quiet_suggest_prints_only_its_warnings(model_directory: Path) -> None:
    command = ["suggest", model_directory, "new.txt", "-o", "out.csv", "--force"]
    loud = run(*command).err.splitlines()
    quiet = run(*command, "--quiet").err.splitlines()
    assert quiet == [line for line in loud if line.startswith("warning: ")]
    assert any("confidence" in line for line in quiet)  # few concepts were held out
    assert len(loud) > len(quiet)


def test_a_quiet_info_does_not_say_which_language_it_chose(folder: Path) -> None:
    skos = "@prefix s: <http://www.w3.org/2004/02/skos/core#> ."
    text = f'{skos} <x:a> a s:Concept ; s:prefLabel "milk"@en, "Milch"@de .'
    write_file(folder / "food.ttl", text)
    assert "--language" in run("info", "food.ttl").err
    assert run("info", "food.ttl", "--quiet").err == ""


def test_warnings_and_errors_are_printed_also_if_a_command_is_quiet(folder: Path) -> None:
    text = 'format-version: 1.2\n\n[Term]\nid: A:1\nname: milk\ndef: "white" []\n'
    write_file(folder / "food.obo", text)
    lost = run("convert", "food.obo", "food.md", "--quiet").err
    assert lost.startswith("warning: ")
    assert "food.obo" in run("convert", "food.obo", "food.obo", "--quiet", status=2).err


@pytest.mark.filterwarnings("default:.*heading:UserWarning")
def test_the_python_warnings_of_a_command_are_warnings(folder: Path) -> None:
    write_file(folder / "odd.txt", "# foods\n- rye\n- oat\n")
    suggestions = folder / "s.csv"
    command = ["expand", "newer.csv", "odd.txt", "-o", "out.csv", "--suggestions", suggestions]
    errors = run(*command, *TINY, "--quiet").err.splitlines()
    assert errors
    assert all(line.startswith(("warning: ", "  ")) for line in errors), errors


def as_json(*command: object, status: int = 0) -> Any:
    """Run a command with --json and --quiet, and return the JSON that it prints."""
    return json.loads(run(*command, "--json", "--quiet", status=status).out)


@pytest.mark.usefixtures("folder")
def test_apply_prints_what_was_added_and_what_was_not() -> None:
    figures = as_json("apply", "food.csv", "decisions.csv", "-o", "out.csv")
    (kiwi,) = figures["concepts"]
    assert (kiwi["label"], kiwi["parents"]) == ("kiwi", [{"id": "2", "label": "fruit"}])
    assert figures["relations"] == 1
    assert figures["files"] == ["out.csv"]
    assert figures["already_present"] == [{"query": "Apple", "id": "4", "label": "apple"}]
    assert kiwi["id"] in read_taxonomy("out.csv")


@pytest.mark.usefixtures("folder")
def test_convert_prints_the_size_and_the_losses() -> None:
    figures = as_json("convert", "food.csv", "out.ttl")
    (loss,) = figures["losses"]
    assert "4 ids" in loss
    assert (figures["concepts"], figures["relations"]) == (4, 3)
    assert (figures["files"], figures["ids_with_base"]) == (["out.ttl"], 4)


def test_export_writes_the_decisions_and_the_history(folder: Path) -> None:
    decisions = as_json("export", "reviews.db")["decisions"]
    assert {row["decision"] for row in decisions if row["rank"] == 1} >= {"accepted"}
    assert {"query", "parent_id", "definition", "curator"} <= set(decisions[0])
    (logged,) = as_json("export", "reviews.db", "--history")["history"]
    assert (logged["curator"], logged["action"]) == ("Ada", "accept")
    run("export", "reviews.db", "--json", "-o", "out.json")
    assert json.loads((folder / "out.json").read_text("utf-8"))["decisions"] == decisions
    refused = run("export", "reviews.db", "--json", "--taxonomy", "food.csv", status=2).err
    assert "(option --json)" in refused


@pytest.mark.usefixtures("folder")
def test_expand_prints_what_was_added(pantry: Path) -> None:
    command = ["expand", pantry, "new.txt", "-o", "out.csv", "--suggestions", "s.csv", "--all"]
    figures = as_json(*command, *TINY)
    assert [each["label"] for each in figures["concepts"]] == ["cashew milk"]
    assert [each["query"] for each in figures["already_present"]] == ["oat milk"]


def test_clean_prints_the_suspicious_relations(folder: Path, pantry: Path) -> None:
    figures = as_json("clean", pantry, "-o", "out.json", "--folds", "2", "--top", "3", *TINY)
    written = json.loads((folder / "out.json").read_text("utf-8"))
    assert figures["suspicious_relations"] == written["suspicious_relations"]
    assert len(written["suspicious_relations"]) <= 3
    assert figures["checked"] > 3
    assert figures["files"] == ["out.json"]


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_demo_prints_what_was_added() -> None:
    figures = as_json("demo", "-o", "demo", *TINY)
    assert figures["concepts"]
    assert "table" not in figures


@pytest.mark.parametrize(
    "command",
    ["apply food.csv decisions.csv -o -", "convert food.csv - --to json"],
)
@pytest.mark.usefixtures("folder")
def test_json_is_refused_where_the_taxonomy_is_printed(command: str) -> None:
    done = run(*command.split(), "--json", status=2)
    assert done.out == ""
    assert "(option --json)" in done.err


@pytest.mark.usefixtures("folder")
def test_an_error_prints_no_json() -> None:
    done = run("apply", "missing.csv", "decisions.csv", "-o", "out.csv", "--json", status=2)
    assert done.out == ""
    assert "missing.csv" in done.err
