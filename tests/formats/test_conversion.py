"""From every format to every other and back: what is lost is announced, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import rdflib
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rdflib.compare import isomorphic

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.formats.conversion import convert
from taxoexpan.formats.format import Target
from taxoexpan.formats.registry import FORMATS
from taxoexpan.formats.tables.formulas import protect_taxonomy, with_apostrophe
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.difference import Difference
from tests.support.awkward_taxonomies import IDS, LABELS, awkward
from tests.support.strategies import Growth, growths, names

PLACES = [
    *(("skos", f"food.{suffix}") for suffix in ("ttl", "rdf", "jsonld", "nt")),
    *(("owl", f"food.{suffix}") for suffix in ("owl", "ttl")),
    *(("obo", "food.obo"), ("json", "food.json"), ("terms", "food.terms")),
    *(("edges", "food.csv"), ("rows", "food.csv"), ("rows", "food.tsv"), ("paths", "food.txt")),
]
FOOD = Taxonomy(
    [Concept("1", "food"), Concept("2", "fruit", ("Obst",), "sweet"), Concept("3", "fig")],
    [("1", "2"), ("2", "3"), ("1", "3")],
)


def put(taxonomy: Taxonomy, format: str, path: Path) -> None:
    """Write the taxonomy there, without any check."""
    for file, text in FORMATS[format].write(taxonomy, Target(path)).files.items():
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text.encode("utf-8"))


def renamed(taxonomy: Taxonomy, ids: Mapping[str, str]) -> Taxonomy:
    return Taxonomy(
        [replace(concept, id=ids.get(concept.id, concept.id)) for concept in taxonomy.concepts],
        [(ids.get(parent, parent), ids.get(child, child)) for parent, child in taxonomy.relations],
    )


@pytest.mark.slow
@given(awkward(IDS, LABELS, names(breaks=True)), st.sampled_from(PLACES), st.sampled_from(PLACES))
@settings(max_examples=150, deadline=None)
def test_a_round_trip_loses_only_the_reported_losses(
    taxonomy: Taxonomy, here: tuple[str, str], there: tuple[str, str]
) -> None:
    assume(len({*map(with_apostrophe, taxonomy)}) == len(taxonomy))
    with TemporaryDirectory() as folder:
        first, second, third = (Path(folder) / name for name in ("1", "2", "3"))
        for place in (first, second, third):
            place.mkdir()
        start, middle, end = first / here[1], second / there[1], third / here[1]
        put(taxonomy, here[0], start)
        out = convert(start, Target(middle), here[0], there[0])
        back = convert(middle, Target(end), there[0], here[0])
        between = renamed(out.taxonomy, out.ids)
        if back.protected:
            between, _ = protect_taxonomy(between)
        original = renamed(between, back.ids)
        difference = Difference(original, TaxonomyFile.open(end, here[0]).taxonomy)
    announced = " ".join([*out.losses, *back.losses])
    found = {
        r"changed: [\d,]+ id": bool(out.ids or back.ids),
        r"missing: [\d,]+ concept": bool(difference.removed),
        r"present: [\d,]+ additional concept": bool(difference.added),
        r"changed: [\d,]+ label": bool(difference.relabeled),
        r"missing: [\d,]+ relation": bool(difference.relations_removed),
        r"present: [\d,]+ additional relation": bool(difference.relations_added),
        r"missing: [\d,]+ synonym": any(
            set(c.old.synonyms) - set(c.new.synonyms) for c in difference.changed
        ),
        r"missing or shortened: [\d,]+ definition": any(
            c.old.definition != c.new.definition for c in difference.changed
        ),
        r"not marked as deprecated: [\d,]+ deprecated": any(
            c.old.deprecated and not c.new.deprecated for c in difference.changed
        ),
    }
    for loss, happened in found.items():
        assert re.search(loss, announced) or not happened


@given(growths(details=True), st.sampled_from(PLACES))
@settings(max_examples=60, deadline=None)
def test_everything_but_the_reported_losses_is_kept(growth: Growth, there: tuple[str, str]) -> None:
    taxonomy = growth.old
    assume(len({*map(with_apostrophe, taxonomy)}) == len(taxonomy))
    with TemporaryDirectory() as folder:
        start, middle = Path(folder) / "start.json", Path(folder) / "to" / there[1]
        middle.parent.mkdir()
        put(taxonomy, "json", start)
        done = convert(start, Target(middle), to=there[0])
        copy = TaxonomyFile.open(middle, there[0]).taxonomy
    if not done.losses:
        kept = protect_taxonomy(taxonomy)[0] if done.protected else taxonomy
        assert not Difference(kept, copy)
    assert len(copy) == len(taxonomy)


def test_every_loss_is_counted_and_named(tmp_path: Path) -> None:
    put(FOOD, "json", tmp_path / "food.json")
    done = convert(tmp_path / "food.json", Target(tmp_path / "food.txt"))
    assert done.losses == [
        "missing: 1 relation ('fig' under 'food')",
        "missing: 1 synonym ('Obst' of 'fruit')",
        "missing or shortened: 1 definition ('fruit')",
    ]
    done = convert(tmp_path / "food.json", Target(tmp_path / "food.ttl", base="urn:food:"))
    assert done.losses == ["changed: 3 ids ('1', '2', '3')"]
    assert done.ids["1"] == "urn:food:1"
    assert done.base == "urn:food:"


def test_ignored_content_of_the_old_file_is_reported(tmp_path: Path) -> None:
    obo = tmp_path / "food.obo"
    obo.write_text("[Term]\nid: F:1\nname: food\nxref: X:1\n\n[Typedef]\nid: part_of\n")
    done = convert(obo, Target(tmp_path / "food.csv"))
    assert done.losses == ["not part of a taxonomy, and not converted: xref (1), [Typedef] (1)"]
    table = tmp_path / "shop.csv"
    table.write_text("id,label,parents,price\n1,food,,3\n2,fig,1,4\n")
    done = convert(table, Target(tmp_path / "shop.json"))
    assert done.losses == ["not part of a taxonomy, and not converted: column 'price' (2)"]


@pytest.mark.parametrize("name", ["food", "food.docx", "food.xyz"])
def test_a_file_name_without_a_known_suffix_is_refused(tmp_path: Path, name: str) -> None:
    put(FOOD, "json", tmp_path / "food.json")
    with pytest.raises(ConfigurationError, match="does not say in which format to write"):
        convert(tmp_path / "food.json", Target(tmp_path / name))


def test_no_file_is_overwritten_or_incomplete(tmp_path: Path) -> None:
    put(FOOD, "json", tmp_path / "food.json")
    (tmp_path / "out.csv").write_text("precious")
    with pytest.raises(FormatError, match="already exists"):
        convert(tmp_path / "food.json", Target(tmp_path / "out.csv"))
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["food.json", "out.csv"]


def test_obo_ids_become_iris_as_in_obo(tmp_path: Path) -> None:
    obo = tmp_path / "go.obo"
    obo.write_text("[Term]\nid: GO:0000001\nname: cell\n")
    done = convert(obo, Target(tmp_path / "go.ttl"))
    assert done.base == "http://purl.obolibrary.org/obo/"
    assert done.ids == {"GO:0000001": f"{done.base}GO_0000001"}
    done = convert(obo, Target(tmp_path / "own.ttl", "http://own.org/"))
    assert done.ids == {"GO:0000001": "http://own.org/GO_0000001"}


@pytest.mark.parametrize(("format", "suffix"), [("obographs", ".json"), ("openfoodfacts", ".txt")])
def test_a_name_for_another_format_is_refused(tmp_path: Path, format: str, suffix: str) -> None:
    put(FOOD, "json", tmp_path / "food.json")
    message = f"not as {format}; use a name that ends in {suffix}"
    with pytest.raises(FormatError, match=message):
        convert(tmp_path / "food.json", Target(tmp_path / "food.csv"), to=format)
    convert(tmp_path / "food.json", Target(tmp_path / f"new{suffix}"), to=format)


def test_obo_ids_survive_a_conversion_to_owl_and_back(tmp_path: Path) -> None:
    ids = ("FOOD:0000001", "http://food.org/2", "plain")
    food = Taxonomy([Concept(id, id) for id in ids], [(ids[0], ids[1])])
    put(food, "obo", tmp_path / "food.obo")
    convert(tmp_path / "food.obo", Target(tmp_path / "food.owl"))
    done = convert(tmp_path / "food.owl", Target(tmp_path / "new.obo"))
    assert list(done.copy)[:2] == list(ids[:2])


def test_labels_get_the_given_language(tmp_path: Path) -> None:
    put(FOOD, "json", tmp_path / "food.json")
    convert(tmp_path / "food.json", Target(tmp_path / "food.ttl", language="en"))
    assert '"fruit"@en' in (tmp_path / "food.ttl").read_text(encoding="utf-8")


SKOS = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> ."


@pytest.mark.parametrize("suffix", [".rdf", ".jsonld", ".nt", ".ttl"])
def test_all_statements_are_kept_between_rdf_syntaxes(tmp_path: Path, suffix: str) -> None:
    path, out = tmp_path / "food.ttl", tmp_path / f"out{suffix}"
    path.write_text(
        f"""{SKOS} @prefix ex: <http://food.org/> .
        ex:a a skos:Concept ; skos:prefLabel "a"@en , "ä"@de ; ex:knows [ ex:price 3.5 ] ;
          ex:list ( 1 "two" ex:three ) ; skos:note "line\\nbreak & <b>" .""",
        encoding="utf-8",
    )
    assert convert(path, Target(out)).losses == []
    assert isomorphic(rdflib.Graph().parse(path), rdflib.Graph().parse(out))


def test_content_that_a_syntax_cannot_store_is_reported_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "food.ttl"
    start = f"{SKOS} <http://a/b> a skos:Concept ; "
    path.write_text(start + 'skos:note "a\\u0001b" .')
    done = convert(path, Target(tmp_path / "a.rdf"))
    assert done.losses == ["without characters that XML forbids: 1 text"]
    path.write_text(start + '<http://a/1> "x" .')
    with pytest.raises(FormatError, match="cannot express the predicate 'http://a/1'"):
        convert(path, Target(tmp_path / "b.rdf"))
    named = tmp_path / "named.jsonld"
    named.write_text(
        '{"@id": "http://a/g", "@graph": [{"@id": "http://a/b", '
        '"@type": "http://www.w3.org/2004/02/skos/core#Concept"}]}'
    )
    assert "named graphs" in convert(named, Target(tmp_path / "c.ttl")).losses[0]
