"""Nothing in a label, an id or a file name can control the terminal."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from taxoexpan import TaxoExpan, Taxonomy, read_taxonomy
from taxoexpan.cli.main import main
from taxoexpan.taxonomy import Concept
from tests.support.builders import pantry_csv
from tests.support.command_line import run
from tests.support.expanded_files import write_file
from tests.support.pseudo_terminal import run_in_terminal

ATTACKS = (
    "\x1b]0;owned\x07",
    "\x1b[2J\x1b[31m",
    "\x9b8m",
    "\u202eefas\u202c",
    "\rtaxoexpan: all is well",
    "\ntaxoexpan: all is well",
    "\x7f\x08\x08",
    "\u2028\u2066",
)
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
VISIBLE = re.compile(r"\\(x|u00)(1b|7f|9b)|\\u20|\\[rn]taxoexpan")
SETTINGS = {"features": "static", "epochs": 1, "hidden_dim": 4, "embedding_dim": 8}


def hostile(text: str, number: int) -> str:
    return f"{text}{ATTACKS[number % len(ATTACKS)]}{number}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions of a hostile taxonomy, new concepts, suggestions, and a corpus."""
    folder = tmp_path_factory.mktemp("attack")
    source = write_file(folder / "pantry.csv", pantry_csv())
    pantry = read_taxonomy(source)
    numbers = {id: hostile(id, number) for number, id in enumerate(pantry)}
    concepts = [
        Concept(numbers[c.id], hostile(c.label, n), (hostile("other", n),), hostile("text", n))
        for n, c in enumerate(pantry.concepts)
    ]
    concepts[16] = replace(concepts[16], label=concepts[0].label)
    relations = [(numbers[parent], numbers[child]) for parent, child in pantry.relations]
    taxonomy = Taxonomy(concepts, relations)
    (folder / "old.json").write_bytes(_json(taxonomy))
    (folder / "new.json").write_bytes(_json(_later_version(taxonomy)))
    names = [f'"{hostile("jam", n)}"' for n in range(8)]
    known = f'"{concepts[8].label}"'
    (folder / "terms.csv").write_text("\n".join(["label", known, *names]) + "\n", newline="")
    rows = [f'{name},"{concepts[n].id}"' for n, name in enumerate(names)]
    text = "\n".join(["query,parent_id", *rows]) + "\n"
    (folder / "suggestions.csv").write_text(text, newline="")
    present = [f'"{c.label}","{concepts[0].id}"' for c in concepts[1:9]]
    text = "\n".join(["query,parent_id", *present]) + "\n"
    (folder / "known.csv").write_text(text, newline="")
    known = " and ".join(pantry.labels[:9])
    sentences = [f"We cook {known} with quince paste. \x1b[2J {ATTACKS[n % 8]}" for n in range(9)]
    (folder / "corpus.txt").write_text("\n".join(sentences), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folder_with_model(folder: Path) -> Path:
    """The same folder with a model."""
    model = TaxoExpan("fast", seed=1, device="cpu", **SETTINGS)
    model.fit(read_taxonomy(folder / "old.json")).save(folder / "model")
    return folder


def _later_version(taxonomy: Taxonomy) -> Taxonomy:
    """Remove, move and relabel concepts, and give one of them another id."""
    gone, moved, other = taxonomy.leaves[:3]
    ids = {id: f"{id}\x1b[1m" if id == other else id for id in taxonomy}
    concepts = [
        replace(c, id=ids[c.id], label=hostile("new", n) if n % 9 == 5 else c.label)
        for n, c in enumerate(taxonomy.concepts)
        if c.id != gone
    ]
    relations = [
        (taxonomy.roots[0] if child == moved else ids[parent], ids[child])
        for parent, child in taxonomy.relations
        if child != gone
    ]
    return Taxonomy(concepts, relations)


def _json(taxonomy: Taxonomy) -> bytes:
    return json.dumps(
        [
            {
                "id": concept.id,
                "label": concept.label,
                "parents": list(taxonomy.parents(concept.id)),
                "synonyms": list(concept.synonyms),
                "definition": concept.definition,
            }
            for concept in taxonomy.concepts
        ]
    ).encode()


COMMANDS = [
    "check old.json",
    "check old.json --json",
    "diff old.json new.json",
    "diff old.json new.json --json",
    "diff old.json new.json --to kgcl",
    "diff old.json new.json --to markdown",
    "diff old.json new.json --to sssom",
    "convert old.json - --to rows",
    "convert old.json - --to json",
    "convert old.json - --to obo",
    "apply old.json suggestions.csv -o -",
]
TINY = "--quiet --preset fast --features static --set epochs=1 --set hidden_dim=4"
MODEL_COMMANDS = [
    "info model",
    "suggest model terms.csv",
    "suggest model terms.csv --table --evidence",
    "suggest model terms.csv --json --evidence",
    "suggest model terms.csv --together --table",
    f"train old.json -o trained {TINY}",
    "update model new.json -o updated --quiet",
    f"expand old.json terms.csv -o - --suggestions placed.csv {TINY}",
    f"clean old.json -o wrong.csv --folds 2 {TINY}",
    "discover corpus.txt --taxonomy pantry.csv --min-count 2 --quiet",
    "discover corpus.txt --taxonomy pantry.csv --min-count 2 --quiet --json",
    "evaluate new.json old.json --methods closest-parent --features static --quiet",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_a_control_character(
    folder: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = run_in_terminal(command.split())
    assert done.status in (0, 1), done.text
    assert VISIBLE.search(done.text)
    assert UNSAFE.findall(done.text) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("default:.*line breaks:UserWarning")  # of the list of terms
@pytest.mark.parametrize("command", MODEL_COMMANDS)
def test_no_command_with_a_model_prints_a_control_character(
    folder_with_model: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder_with_model)
    done = run_in_terminal(command.split())
    assert done.status in (0, 1), done.text
    assert done.text or "--quiet" in command
    assert UNSAFE.findall(done.text) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "\x1b[2J.json"],
        ["info", "old.json", "\x1b[2J"],
        ["convert", "old.json", "\x1b[2J/x.json"],
        ["check", "old.json", "--select", "\x1b[2J"],
        ["diff", "old.json", "terms.csv", "--format", "json"],
        ["apply", "old.json", "terms.csv", "-o", "x.json"],
    ],
)
def test_no_error_prints_a_control_character(
    folder: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = run_in_terminal(arguments)
    assert done.status == 2
    assert UNSAFE.findall(done.text) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "old.json"],
        ["diff", "old.json", "new.json"],
        ["apply", "old.json", "suggestions.csv", "-o", "applied.json", "--force"],
        ["apply", "old.json", "known.csv", "-o", "applied.json", "--force"],
        ["info", "x\ntaxoexpan: all is well"],
    ],
)
def test_no_label_looks_like_another_message(
    folder: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = run_in_terminal(arguments)
    # Programs that read the lines of a log, such as CI runners, ignore spaces at their start.
    assert not re.search(r"^\s*taxoexpan: all is well", done.text, re.MULTILINE)


def test_a_file_gets_the_exact_data(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (folder / "copy.csv").open("w", encoding="utf-8") as output:
        monkeypatch.setattr("sys.stdout", output)
        assert main(["convert", str(folder / "old.json"), "-", "--to", "rows"]) == 0
    assert read_taxonomy(folder / "copy.csv").labels == read_taxonomy(folder / "old.json").labels


def test_json_has_no_control_character_and_the_exact_labels(folder: Path) -> None:
    printed = run("diff", folder / "old.json", folder / "new.json", "--json", status=1).out
    assert UNSAFE.findall(printed) == []
    (removed,) = json.loads(printed)["removed"]
    assert removed["id"] in read_taxonomy(folder / "old.json")
