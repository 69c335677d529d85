"""A hand-written SKOS vocabulary on its whole way: check, train, suggest, apply, diff, convert."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import rdflib
from rdflib.compare import isomorphic

from taxoexpan import read_taxonomy
from tests.support.command_line import run
from tests.support.expanded_files import write_file

EXAMPLES = Path(__file__).parents[2] / "examples"
VOCABULARY, NEW = EXAMPLES / "instruments.ttl", EXAMPLES / "new-instruments.csv"
HERE = rdflib.Namespace("http://example.org/instruments/")
QUICK = ["--preset", "fast", "--features", "static", "--epochs", "2", "--quiet", "--device", "cpu"]


@pytest.fixture(scope="module")
def expanded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vocabulary")
    model, suggestions, out = folder / "model", folder / "suggestions.csv", folder / "out.ttl"
    run("check", VOCABULARY)
    run("train", VOCABULARY, "-o", model, *QUICK)
    run("suggest", model, NEW, "-o", suggestions)
    run("apply", VOCABULARY, suggestions, "--concepts", NEW, "-o", out, "--all")
    return out


def test_the_result_is_the_input_and_the_additions(expanded: Path) -> None:
    assert expanded.read_bytes().startswith(VOCABULARY.read_bytes())
    old, new = rdflib.Graph().parse(VOCABULARY), rdflib.Graph().parse(expanded)
    placed = {row["id"]: row for row in added_by(expanded)}
    assert len(placed) == 11
    wanted = rdflib.Graph() + old
    for id, concept in placed.items():
        node = rdflib.URIRef(id)
        wanted.add((node, rdflib.RDF.type, rdflib.SKOS.Concept))
        wanted.add((node, rdflib.SKOS.inScheme, HERE.scheme))
        wanted.add((node, rdflib.SKOS.prefLabel, rdflib.Literal(concept["label"], "en")))
        for name in concept["synonyms"]:
            wanted.add((node, rdflib.SKOS.altLabel, rdflib.Literal(name, "en")))
        if concept["definition"]:
            text = rdflib.Literal(concept["definition"], "en")
            wanted.add((node, rdflib.SKOS.definition, text))
        for parent in concept["parents"]:
            wanted.add((node, rdflib.SKOS.broader, rdflib.URIRef(parent)))
        notes = list(new.objects(node, rdflib.SKOS.changeNote))
        assert len(notes) == 1
        assert "by taxoexpan" in notes[0]
        wanted.add((node, rdflib.SKOS.changeNote, notes[0]))
    assert isomorphic(new, wanted)


def added_by(expanded: Path) -> list[dict[str, object]]:
    """What the list of new instruments brings, with the parents that the file now has."""
    taxonomy, old = read_taxonomy(expanded), set(read_taxonomy(VOCABULARY))
    return [
        {
            "id": concept.id,
            "label": concept.label,
            "synonyms": concept.synonyms,
            "definition": concept.definition,
            "parents": taxonomy.parents(concept.id),
        }
        for concept in taxonomy.concepts
        if concept.id not in old
    ]


def test_new_uris_follow_the_pattern_of_the_others(expanded: Path) -> None:
    assert str(HERE["twelve-string-guitar"]) in read_taxonomy(expanded)
    assert str(HERE["ukulele"]) in read_taxonomy(expanded)


def test_nothing_is_placed_under_a_deprecated_concept(expanded: Path) -> None:
    assert read_taxonomy(expanded).children(str(HERE.fortepiano)) == ()


def test_diff_lists_additions(expanded: Path) -> None:
    messages = json.loads(run("diff", VOCABULARY, expanded, "--json", status=1).out)
    assert len(messages["added"]) == len(messages["relations_added"]) == 11
    for kind in ("removed", "relabeled", "moved", "redescribed", "relations_removed"):
        assert messages[kind] == []
    assert run("diff", VOCABULARY, VOCABULARY).out.startswith("0 concepts added, 0 removed")


@pytest.mark.parametrize("suffix", [".rdf", ".jsonld", ".nt"])
def test_converted_to_another_syntax_nothing_is_lost(tmp_path: Path, suffix: str) -> None:
    there, back = tmp_path / f"x{suffix}", tmp_path / "back.ttl"
    run("convert", VOCABULARY, there)
    assert "note:" not in run("convert", there, back).err
    assert isomorphic(rdflib.Graph().parse(VOCABULARY), rdflib.Graph().parse(back))


def test_converting_to_a_table_lists_what_it_cannot_hold(tmp_path: Path) -> None:
    out = tmp_path / "instruments.csv"
    messages = run("convert", VOCABULARY, out).err
    for loss in ("labels in other languages", "skos:exactMatch (1)", "skos:member (7)"):
        assert loss in messages
    assert read_taxonomy(out) == read_taxonomy(VOCABULARY)


def test_a_german_reader_gets_german_labels(tmp_path: Path) -> None:
    out = tmp_path / "instrumente.txt"
    run("convert", VOCABULARY, out, "--language", "de")
    assert "Musikinstrumente > Saiteninstrumente > Streichinstrumente > Violine" in (
        out.read_text(encoding="utf-8")
    )
    printed = run("check", VOCABULARY, "--language", "fr", status=1).out
    assert "no label is in the language 'fr'; choose one of: de, en" in printed


def test_a_known_name_in_another_language_is_not_placed_again(tmp_path: Path) -> None:
    decisions, out = tmp_path / "decisions.csv", tmp_path / "out.ttl"
    decisions.write_text(f"query,parent_id\nBratsche,{HERE.bowed}\nukulele,{HERE.fortepiano}\n")
    messages = run("apply", VOCABULARY, decisions, "-o", out).err
    assert f"already present: 'Bratsche' is 'viola' ({HERE.viola}); not added" in messages
    assert f"'fortepiano', the parent of {HERE.ukulele}, is deprecated" in messages
    assert "1 concept and 1 relation added" in messages


def test_an_output_that_would_be_read_otherwise_is_refused(tmp_path: Path) -> None:
    decisions = write_file(tmp_path / "decisions.csv", f"query,parent_id\nukulele,{HERE.guitar}\n")
    for name in ("out.csv", "out.rdf", "out.json"):
        messages = run("apply", VOCABULARY, decisions, "-o", tmp_path / name, status=2).err
        assert "use a name that ends in .ttl" in messages


def test_diff_tells_a_parent_lost_from_a_move_to_the_top(tmp_path: Path) -> None:
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("child,parent\na,\nb,a\nc,a\nc,b\nd,a\n")
    other.write_text("child,parent\na,\nb,a\nc,b\nd,\ne,a\ne,b\n")
    lines = run("diff", one, other, status=1).out.splitlines()
    assert "added       e (e) under a and under a > b" in lines
    assert "moved       c (c): no longer under a" in lines
    assert "moved       d (d): no longer under a, now at the top" in lines
