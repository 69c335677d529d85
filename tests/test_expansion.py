"""The file-to-file use cases, without the command line."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import rdflib

from taxoexpan import Concept, Taxonomy, expand_file, read_taxonomy
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.expansion import apply_suggestions
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.formats.text_file import TextFile
from taxoexpan.placement.adding.acceptance import Acceptance, decide
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind, Verdict
from tests.support.expanded_files import write_file
from tests.support.small_models import SMALL
from tests.support.suggestion_tables import read_suggestions

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
    assert {s.decision for s in suggestions if s.rank == 1} == {Verdict.ACCEPTED}
    assert output.read_bytes().startswith(pantry.read_bytes())
    assert {concept.label for concept in applied.additions.concepts} == {"nut milk", "white tea"}
    assert len(read_taxonomy(output)) == len(read_taxonomy(pantry)) + 2


def test_expand_file_leaves_concepts_below_the_threshold_undecided(
    pantry: Path, new: Path, tmp_path: Path
) -> None:
    output, table = tmp_path / "out.csv", tmp_path / "table.csv"
    applied = expand_file(pantry, new, output, suggestions=table, min_score=1, **QUICK)
    assert (applied.accepted.undecided.total(), len(applied.additions.concepts)) == (2, 0)
    assert {s.decision for s in read_suggestions(table)} == {Verdict.UNDECIDED}
    assert not (tmp_path / "out.suggestions.csv").exists()


def test_a_confidence_threshold_is_refused_before_training_without_a_confidence(
    pantry: Path, new: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=r"the setting validation_fraction=0.38"):
        expand_file(pantry, new, tmp_path / "out.csv", min_confidence=0.3, **QUICK)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv"]


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


def suggestion(label: str, parent: str, **details: Any) -> Suggestion:
    return Suggestion(Concept("", label), 1, Concept(parent, parent), (parent,), 0.9, **details)


def test_apply_suggestions_reports_what_was_and_was_not_added(pantry: Path, tmp_path: Path) -> None:
    file = TaxonomyFile.open(pantry)
    suggestions = [
        suggestion("nut milk", "milk", confidence=0.9),
        suggestion("grass soup", "soup", confidence=0.2),
        suggestion("rye bread", "bread", confidence=0.9),
    ]
    acceptance = Acceptance(min_confidence=0.5)
    applied = apply_suggestions(file, suggestions, tmp_path / "out.csv", acceptance)
    assert [c.label for c in applied.additions.concepts] == ["nut milk"]
    assert [known.id for _, known in applied.accepted.already_present] == ["rye bread"]
    assert applied.accepted.left_out == 1
    assert applied.written.files == (tmp_path / "out.csv",)


def test_a_filled_in_query_id_keeps_the_score_in_the_provenance(tmp_path: Path) -> None:
    """Only a row without a rank is recorded as a person's decision."""
    path = tmp_path / "food.ttl"
    path.write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<http://f.org/food> a skos:Concept ; skos:prefLabel "food"@en .\n',
        encoding="utf-8",
    )
    parent = Concept("http://f.org/food", "food")
    ranked = Suggestion(Concept("", "tea"), 1, parent, ("food",), 0.9)
    own = Suggestion(Concept("", "jam"), 0, replace(parent, label="old label"), ("food",), 1.0)
    output = tmp_path / "out.ttl"
    apply_suggestions(TaxonomyFile.open(path), [ranked, own], output, Acceptance())
    notes = [line for line in output.read_text(encoding="utf-8").splitlines() if "Note" in line]
    assert sorted("(score 0.90)" in note for note in notes) == [False, True]
    sure = replace(ranked, confidence=0.614)
    apply_suggestions(TaxonomyFile.open(path), [sure], output, Acceptance(), force=True)
    text = output.read_text(encoding="utf-8")
    assert "(confidence 0.61)" in text
    assert "score" not in text
    assert sorted("chosen by a person" in note for note in notes) == [False, True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_score": 2}, "min_score is 2; it must be from 0 to 1"),
        ({"min_confidence": "high"}, "min_confidence is 'high'; it must be from 0 to 1"),
        ({"allow_moves": 1}, "allow_moves is 1; it must be True or False"),
    ],
)
def test_wrong_thresholds_and_permissions_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Acceptance(**options)


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


def coarse_drink(taxonomy: Taxonomy) -> list[Suggestion]:
    """Suggestions for an espresso martini, which is only sure to be a drink."""
    martini = next(c for c in taxonomy.concepts if c.label == "martini")
    drink = next(c for c in taxonomy.concepts if c.label == "drink")
    path = ("food", "drink", "martini")
    query = Concept("", "espresso martini")
    first = Suggestion(query, 1, martini, path, 0.4, 0.51, levels=(1.0, 0.97, 0.6))
    other = replace(first, rank=2, parent=drink, path=path[:2], confidence=0.2, levels=(1.0, 0.97))
    decided = decide([first, other], Acceptance(), taxonomy)
    assert [each.kind for each in decided][-1] == SuggestionKind.COARSE
    return decided


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
    path, output = write_file(tmp_path / name, text), tmp_path / f"out-{name}"
    file = TaxonomyFile.open(path)
    apply_suggestions(file, coarse_drink(file.taxonomy), output, Acceptance())
    written = output.read_text()
    assert written.startswith(text)
    grown = read_taxonomy(output)
    (new,) = set(grown) - set(file.taxonomy)
    assert [grown.concept(parent).label for parent in grown.parents(new)] == ["drink"]
    task = "to be refined: martini 0.51"
    if isinstance(predicate, rdflib.URIRef):
        notes = rdflib.Graph().parse(output, format="turtle").objects(rdflib.URIRef(new), predicate)
        assert [task in str(note) for note in notes] == [True]
    elif predicate is None:
        assert f"comment: Place {task}." in written
    else:
        assert "refined" not in written


def notes_of(tmp_path: Path, name: str, text: str, suggestions: list[Suggestion]) -> str:
    """Apply suggestions to a file, and return what was added to it."""
    path, output = write_file(tmp_path / name, text), tmp_path / f"out-{name}"
    apply_suggestions(TaxonomyFile.open(path), suggestions, output, Acceptance(), force=True)
    return output.read_text(encoding="utf-8").removeprefix(text)


def test_a_note_names_the_curator_instead_of_the_confidence(tmp_path: Path) -> None:
    path = write_file(tmp_path / "drinks.ttl", SKOS)
    taxonomy = read_taxonomy(path)
    drink = next(c for c in taxonomy.concepts if c.label == "drink")
    fruit = next(c for c in taxonomy.concepts if c.label == "fruit")
    tea = Suggestion(Concept("", "tea"), 1, drink, ("food", "drink"), 0.9, 0.8)
    accepted = replace(tea, decision=Verdict.ACCEPTED)
    by_ada = replace(accepted, curator="Ada")
    other = replace(by_ada, parent=fruit, rank=0, kind=SuggestionKind.ALSO)
    now = f"taxoexpan {version('taxoexpan')} on {datetime.now(UTC):%Y-%m-%d}"
    for given, expected in (
        ([accepted], f"Placed under 'drink' (confidence 0.80) by {now}."),
        ([by_ada], f"Placed under 'drink' by Ada with {now}."),
        ([by_ada, other], f"Placed under 'drink' and under 'fruit' by Ada with {now}."),
        (
            [replace(by_ada, decision=Verdict.OPEN)],
            f"Placed under 'drink' (confidence 0.80) by {now}.",
        ),
    ):
        assert expected in notes_of(tmp_path, "drinks.ttl", SKOS, given)


@pytest.mark.parametrize(("name", "text"), [("drinks.owl.ttl", OWL), ("drinks.obo", OBO)])
def test_the_creator_is_the_curator_or_else_the_program(
    tmp_path: Path, name: str, text: str
) -> None:
    taxonomy = read_taxonomy(write_file(tmp_path / name, text))
    decided = coarse_drink(taxonomy)
    by_program = notes_of(tmp_path, name, text, decided)
    assert "taxoexpan" in by_program
    # A rejected suggestion is not a place to look at.
    coarse = replace(decided[-1], curator="Ada {1}")
    rejected = [replace(s, decision=Verdict.REJECTED, curator="Bob") for s in decided[:-1]]
    by_ada = notes_of(tmp_path, name, text, [coarse, *rejected])
    assert "Ada" in by_ada
    assert "Place to be refined." in by_ada
    assert not any(word in by_ada for word in ("taxoexpan", "Bob", "0.51"))
