"""The file-to-file use cases, without the command line."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import rdflib

from taxoexpan import expand_file, read_taxonomy
from taxoexpan.decisions.decision import Reason
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.text_file import TextFile
from tests.support.command_line import run
from tests.support.decisions import read_suggestions, table
from tests.support.expanded_files import write_file
from tests.support.small_models import SMALL

QUICK: dict[str, Any] = {"preset": "fast", **SMALL, "epochs": 2, "device": "cpu"}


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return write_file(tmp_path / "new.csv", "label\nnut milk\nwhite tea\nOat-Milk\n")


def test_expand_file_adds_new_concepts_and_keeps_every_old_byte(
    pantry: Path, new: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.csv"
    applied = expand_file(pantry, new, output, seed=1, **QUICK)
    suggestions = read_suggestions(tmp_path / "out.suggestions.csv")
    assert {s.decision for s in suggestions if s.rank == 1} == {"accepted"}
    assert output.read_bytes().startswith(pantry.read_bytes())
    assert {concept.label for concept in applied.additions.concepts} == {"nut milk", "white tea"}
    assert applied.written.files == (output,)
    assert len(read_taxonomy(output)) == len(read_taxonomy(pantry)) + 2


def test_expand_file_leaves_concepts_below_the_threshold_undecided(
    pantry: Path, new: Path, tmp_path: Path
) -> None:
    output, table = tmp_path / "out.csv", tmp_path / "table.csv"
    applied = expand_file(pantry, new, output, suggestions=table, min_score=1, **QUICK)
    assert len(applied.left(Reason.NOT_SURE)) == 2
    assert not applied.additions.concepts
    assert {s.decision for s in read_suggestions(table)} == {"undecided"}
    assert not (tmp_path / "out.suggestions.csv").exists()


def test_a_confidence_threshold_is_refused_before_training_without_a_confidence(
    pantry: Path, new: Path, tmp_path: Path
) -> None:
    few = tmp_path / "few.csv"
    few.write_text("".join(pantry.read_text().splitlines(keepends=True)[:29]))
    with pytest.raises(ConfigurationError, match="28 concepts"):
        expand_file(few, new, tmp_path / "out.csv", min_confidence=0.3, **QUICK)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few.csv", "new.csv"]


def test_expand_file_writes_suggestions_and_model_on_request(
    pantry: Path, new: Path, tmp_path: Path
) -> None:
    suggestions, model = tmp_path / "suggestions.csv", tmp_path / "model"
    expand_file(pantry, new, tmp_path / "o.csv", suggestions=suggestions, model=model, **QUICK)
    assert suggestions.read_text(encoding="utf-8").startswith("query,query_id,rank,parent_id")
    assert (model / "config.json").exists()


def test_expand_parses_its_input_once_and_verifies_the_output_twice(
    pantry: Path, new: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every format's `read` is counted, by whether it reads the input or something else.

    The output is simulated before the training, and verified before it is written.
    """
    parsed: Counter[str] = Counter()
    text = pantry.read_text(encoding="utf-8")
    for format in FORMATS.values():

        def read(file: TextFile, original: Any = format.read) -> Any:
            parsed["input" if file.text == text else "output"] += 1
            return original(file)

        monkeypatch.setattr(format, "read", read)
    expand_file(pantry, new, tmp_path / "out.csv", **QUICK)
    assert parsed == {"input": 1, "output": 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_confidence": 0.0, "accept_at_precision": 0.9}, "both set a threshold"),
        ({"min_score": 0.0, "all": True}, "a threshold has no meaning"),
        ({"accept_at_precision": 0.9, "all": True}, "a threshold has no meaning"),
        ({"id_start": 5, "id_range": (5, 9)}, "say where the numbers of ids begin"),
        ({"allow_moves": True, "together": True}, "no moves and no merges"),
        ({"accept_at_precision": 0.9, "together": True}, "computes no confidence"),
        ({"taxonomy": None}, "^taxonomy is None; it must be the path of a file"),
        ({"new": ["tea"]}, "^new is .* must be the path of a file"),
        ({"accept_at_precision": 3}, "^accept_at_precision is 3"),
        ({"min_confidence": 7}, "^min_confidence is 7"),
        ({"allow_moves": 1}, "^allow_moves is 1"),
        ({"hidden_dim": 0}, "^hidden_dim is 0"),
        ({"top": 3}, "no setting is called 'top'"),
    ],
)
def test_wrong_and_contradicting_options_are_refused_before_any_file_is_read(
    options: dict[str, Any], message: str
) -> None:
    arguments = {"taxonomy": "missing.csv", "new": "missing.csv", "output": "c.csv", **options}
    with pytest.raises(ConfigurationError, match=message):
        expand_file(**arguments)


def test_an_existing_output_is_refused_before_the_input_is_read(new: Path, tmp_path: Path) -> None:
    output = write_file(tmp_path / "out.csv", "mine")
    with pytest.raises(FormatError, match=r"out\.csv"):
        expand_file(tmp_path / "missing.csv", new, output)
    assert output.read_text(encoding="utf-8") == "mine"


def test_without_new_concepts_no_model_is_trained(pantry: Path, tmp_path: Path) -> None:
    known = write_file(tmp_path / "known.csv", "label\noat milk\n")
    applied = expand_file(pantry, known, tmp_path / "out.csv", epochs=2**60)
    assert not applied.additions.concepts
    assert (tmp_path / "out.csv").read_bytes() == pantry.read_bytes()
    assert not (tmp_path / "out.suggestions.csv").exists()


def apply_table(path: Path, rows: str) -> str:
    """Apply a table of decisions to a file, and return the text that was added to it."""
    output = path.with_name(f"out-{path.name}")
    run("apply", path, write_file(path.with_name("decisions.csv"), rows), "-o", output, "--force")
    old = path.read_text(encoding="utf-8")
    new = output.read_text(encoding="utf-8")
    assert new.startswith(old)
    return new.removeprefix(old)


SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://example.org/> .
:food a skos:Concept ; skos:prefLabel "food"@en .
:drink a skos:Concept ; skos:prefLabel "drink"@en ; skos:broader :food .
:martini a skos:Concept ; skos:prefLabel "martini"@en ; skos:broader :drink .
:fruit a skos:Concept ; skos:prefLabel "fruit"@en ; skos:broader :food .
"""
OWL = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix oio: <http://www.geneontology.org/formats/oboInOwl#> .
@prefix : <http://example.org/> .
:food a owl:Class ; rdfs:label "food"@en ; oio:created_by "someone" .
:drink a owl:Class ; rdfs:label "drink"@en ; rdfs:subClassOf :food ; oio:created_by "someone" .
:martini a owl:Class ; rdfs:label "martini"@en ; rdfs:subClassOf :drink .
:fruit a owl:Class ; rdfs:label "fruit"@en ; rdfs:subClassOf :food .
"""
OBO = """format-version: 1.4

[Term]
id: food
name: food

[Term]
id: drink
name: drink
is_a: food ! food

[Term]
id: martini
name: martini
is_a: drink ! drink

[Term]
id: fruit
name: fruit
is_a: food ! food
"""


COLUMNS = "query,rank,parent_label,path,confidence,levels,decision,kind,curator"
MARTINI = "espresso martini,1,martini,food > drink > martini,0.51,1 > 0.97 > 0.6"
DRINK = "espresso martini,2,drink,food > drink,0.2,1 > 0.97"
COARSE = table(COLUMNS, f"{MARTINI},,attach,", f"{DRINK},,attach,")
"""Suggestions for an espresso martini, which is only sure to be a drink."""


@pytest.mark.parametrize(
    ("name", "text", "predicate"),
    [
        ("drinks.ttl", SKOS, rdflib.SKOS.changeNote),
        ("drinks.owl.ttl", OWL, rdflib.RDFS.comment),
        ("drinks.obo", OBO, None),
        (
            "drinks.csv",
            "id,label,parent\nfood,food,\ndrink,drink,food\nmartini,martini,drink\nfruit,fruit,food\n",
            "",
        ),
    ],
)
def test_a_coarse_placement_is_marked_where_the_file_has_room(
    tmp_path: Path, name: str, text: str, predicate: rdflib.URIRef | str | None
) -> None:
    path = write_file(tmp_path / name, text)
    added = apply_table(path, COARSE)
    output = tmp_path / f"out-{name}"
    grown = read_taxonomy(output)
    (new,) = set(grown) - set(read_taxonomy(path))
    assert [grown.concept(parent).label for parent in grown.parents(new)] == ["drink"]
    task = "to be refined: martini 0.51"
    if isinstance(predicate, rdflib.URIRef):
        notes = rdflib.Graph().parse(output, format="turtle").objects(rdflib.URIRef(new), predicate)
        assert [task in str(note) for note in notes] == [True]
    elif predicate is None:
        assert f"comment: Place {task}." in added
    else:
        assert "refined" not in added


TEA = "tea,{rank},{parent},,{confidence},,{decision},attach,{curator}"


def note_of(folder: Path, *rows: dict[str, object]) -> str:
    """Add tea by these rows, and return the note on it without the date."""
    default = {"rank": 1, "parent": "drink", "confidence": 0.8, "decision": "", "curator": ""}
    lines = [TEA.format(**{**default, **row}) for row in rows]
    added = apply_table(write_file(folder / "drinks.ttl", SKOS), table(COLUMNS, *lines))
    (note,) = (line.split('"')[1] for line in added.splitlines() if "changeNote" in line)
    now = f"{datetime.now(UTC):%Y-%m-%d}"
    assert f"taxoexpan {version('taxoexpan')} on {now}" in note
    return note.partition("taxoexpan")[0]


def test_a_note_says_who_has_placed_a_concept_or_how_sure_it_was(tmp_path: Path) -> None:
    by_program = note_of(tmp_path, {"decision": "accepted"})
    assert "'drink' (confidence 0.80)" in by_program
    assert "Ada" not in by_program
    by_ada = {"decision": "accepted", "curator": "Ada"}
    assert "'drink' by Ada" in note_of(tmp_path, by_ada)
    other = {**by_ada, "rank": "", "parent": "fruit"}
    assert "'drink' and under 'fruit' by Ada" in note_of(tmp_path, by_ada, other)
    undecided = note_of(tmp_path, {"curator": "Ada"})
    assert "'drink' (confidence 0.80)" in undecided
    assert "Ada" not in undecided
    own = note_of(tmp_path, {"rank": ""})
    assert "chosen by a person" in own
    assert "0.80" not in own


def test_a_note_names_the_score_if_no_confidence_is_known(tmp_path: Path) -> None:
    """The ids of concepts that have none are filled in, and keep their scores."""
    path = write_file(tmp_path / "drinks.ttl", SKOS)
    rows = table("query,rank,parent_label,score", "tea,1,drink,0.9", "jam,,food,1")
    added = apply_table(path, rows)
    notes = [line for line in added.splitlines() if "Note" in line]
    assert sorted("(score 0.90)" in note for note in notes) == [False, True]
    assert sorted("chosen by a person" in note for note in notes) == [False, True]
    assert "score" not in note_of(tmp_path, {"confidence": 0.614})


@pytest.mark.parametrize(("name", "text"), [("drinks.owl.ttl", OWL), ("drinks.obo", OBO)])
def test_the_creator_is_the_curator_or_else_the_program(
    tmp_path: Path, name: str, text: str
) -> None:
    path = write_file(tmp_path / name, text)
    assert "taxoexpan" in apply_table(path, COARSE)
    coarse = "espresso martini,3,drink,food > drink,0.97,1 > 0.97,accepted,coarse,Ada {1}"
    # A rejected suggestion is not a place to look at.
    rejected = (f"{MARTINI},rejected,attach,Bob", f"{DRINK},rejected,attach,Bob")
    by_ada = apply_table(path, table(COLUMNS, *rejected, coarse))
    assert "Ada" in by_ada
    assert "Place to be refined." in by_ada
    assert not any(word in by_ada for word in ("taxoexpan", "Bob", "0.51"))


def test_a_misspelled_option_is_told_the_right_name() -> None:
    with pytest.raises(ConfigurationError, match="top_k"):
        expand_file("a.csv", "new.csv", "b.csv", topk=2)  # type: ignore[call-arg]
