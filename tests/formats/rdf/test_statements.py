from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib

from taxoexpan import read_taxonomy
from taxoexpan.errors import FormatError
from taxoexpan.formats.conversion import convert
from taxoexpan.formats.format import Target
from taxoexpan.formats.rdf.statements import TURTLE, respell_tags
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept, Move
from tests.support.expanded_files import under, write_expanded, write_file

COLOURS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .

<http://x.org/1> a skos:Concept ;
    skos:prefLabel "colour"@en-GB .

<http://x.org/2> a skos:Concept ;
    skos:prefLabel "grey"@en-GB ;
    skos:broader <http://x.org/1> .
"""
NEW = Concept(
    "http://x.org/3", 'the tag "@en-gb', ("<a xml:lang='en-gb'>",), '"@language": "en-gb"'
)
LANGUAGE_MAP = """{
  "@context": {
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "label": {"@id": "skos:prefLabel", "@container": "@language"}
  },
  "@graph": [
    {"@id": "http://x.org/1", "@type": "skos:Concept", "label": {"en-GB": "colour"}}
  ]
}
"""


@pytest.mark.parametrize("suffix", [".ttl", ".nt", ".rdf", ".jsonld"])
def test_new_texts_have_the_tags_of_the_file(tmp_path: Path, suffix: str) -> None:
    path, output = tmp_path / f"x{suffix}", tmp_path / f"new{suffix}"
    convert(write_file(tmp_path / "x.ttl", COLOURS), Target(path), force=True)
    assert "en-GB" in path.read_text("utf-8")
    assert "en-gb" not in path.read_text("utf-8")
    assert TaxonomyFile.open(path).parsed.language == "en-GB"
    write_expanded(path, under("http://x.org/1", concept=NEW), output)
    text, texts = output.read_text("utf-8"), (NEW.label, *NEW.synonyms, NEW.definition)
    graph = rdflib.Graph().parse(output)
    assert {str(value) for value in graph.objects(rdflib.URIRef(NEW.id))} >= set(texts)
    assert text.count("en-GB") == path.read_text("utf-8").count("en-GB") + 3
    assert text.count("en-gb") == 3


def test_the_keys_of_a_language_map_show_the_case_of_tags(tmp_path: Path) -> None:
    path, output = write_file(tmp_path / "x.jsonld", LANGUAGE_MAP), tmp_path / "new.jsonld"
    write_expanded(path, under("http://x.org/1", concept=Concept("http://x.org/2", "grey")), output)
    assert '{"@language": "en-GB", "@value": "grey"}' in output.read_text("utf-8")


@pytest.mark.parametrize("quote", ['"', '"""'])
def test_a_text_that_is_too_long_for_the_parser_is_named_by_its_line(
    tmp_path: Path, quote: str
) -> None:
    statement = f"<http://e.org/a> <http://e.org/b> {quote}{'é' * 8_500_000}{quote} .\n"
    path = write_file(tmp_path / "x.ttl", f"{COLOURS}\n{statement}")
    with pytest.raises(FormatError, match="a text has more than 16,777,216 bytes") as caught:
        read_taxonomy(path)
    assert (caught.value.path, caught.value.line) == (path, 10)


def test_tags_that_the_file_spells_in_lower_case_stay() -> None:
    assert respell_tags('"a"@en, "b"@de-at', {"de-at": "de-AT"}, TURTLE) == '"a"@en, "b"@de-AT'


ACM = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    xmlns:skos="http://www.w3.org/2004/02/skos/core#">
  <skos:Concept rdf:about="10002944">
    <skos:prefLabel xml:lang="en">General and reference</skos:prefLabel>
  </skos:Concept>
  <skos:Concept rdf:about="#10002">
    <skos:prefLabel xml:lang="en">Document types</skos:prefLabel>
    <skos:broader rdf:resource="10002944"/>
  </skos:Concept>
</rdf:RDF>
"""
"""In the layout of ACM's Computing Classification System: relative IRIs, and no base."""
BASE = "http://example.org/"
SKOS_PREFIX = "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"


def test_relative_iris_without_a_base_stay_relative_in_rdf_xml(tmp_path: Path) -> None:
    path, output = write_file(tmp_path / "acm.xml", ACM), tmp_path / "new.xml"
    file = TaxonomyFile.open(path)
    assert list(file.taxonomy.relations) == [(f"{BASE}10002944", f"{BASE}#10002")]
    (note,) = file.notes
    assert "no base" in note.message
    assert file.positions({(f"{BASE}#10002", "")}) == {(f"{BASE}#10002", ""): (path, 7)}
    file.write(under(f"{BASE}10002944", concept=Concept(f"{BASE}10003", "Surveys")), output)
    added = """  <skos:Concept rdf:about="10003">
    <skos:prefLabel xml:lang="en">Surveys</skos:prefLabel>
    <skos:broader rdf:resource="10002944"/>
  </skos:Concept>
"""
    assert output.read_text() == ACM.replace("</rdf:RDF>", f"{added}</rdf:RDF>")


def test_relative_iris_without_a_base_stay_relative_in_turtle(tmp_path: Path) -> None:
    text = f"{SKOS_PREFIX}<a> a skos:Concept .\n<b> a skos:Concept ; skos:broader <a> .\n"
    path, output = write_file(tmp_path / "x.ttl", text), tmp_path / "y.ttl"
    move = Move(f"{BASE}b", f"{BASE}a", f"{BASE}c")
    new = Additions([Concept(f"{BASE}c", "c")], [(f"{BASE}a", f"{BASE}c")], moves=[move])
    TaxonomyFile.open(path).write(new, output)
    assert "<b> a skos:Concept ; skos:broader <c> .\n" in output.read_text()
    assert BASE not in output.read_text()


def test_a_conversion_gives_relative_iris_the_chosen_base(tmp_path: Path) -> None:
    path, output = write_file(tmp_path / "acm.xml", ACM), tmp_path / "acm.ttl"
    convert(path, Target(output, base="https://dl.acm.org/ccs/"))
    assert "https://dl.acm.org/ccs/10002944" in read_taxonomy(output)


DEFAULT_GRAPH = "<http://x/a> a skos:Concept .\n<http://x/b> skos:broader <http://x/a> .\n"
METADATA = '<http://g/2> { <http://x/s> skos:note "a" , "b" }\n'


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (DEFAULT_GRAPH + METADATA, ["ignored in the others: 2 statements"]),
        (DEFAULT_GRAPH + "<http://g/1> { <http://x/c> a skos:Concept }\n", ["1 statement"]),
        ("<http://g/1> {\n" + DEFAULT_GRAPH + "}\n", ["the graph <http://g/1> is read"]),
    ],
    ids=["metadata", "default graph", "one named graph"],
)
@pytest.mark.parametrize("suffix", [".trig", ".nq"])
def test_one_graph_of_a_dataset_is_read_and_extended(
    tmp_path: Path, text: str, notes: list[str], suffix: str
) -> None:
    path, output = write_file(tmp_path / "x.trig", SKOS_PREFIX + text), tmp_path / f"y{suffix}"
    if suffix == ".nq":
        quads = ox.parse(path.read_text(), format=ox.RdfFormat.TRIG)
        ox.serialize(quads, path := tmp_path / "x.nq", format=ox.RdfFormat.N_QUADS)
    file = TaxonomyFile.open(path)
    assert set(file.taxonomy) == {"http://x/a", "http://x/b"}
    found = [note.message for note in file.notes if "graph" in note.message]
    assert len(found) == len(notes)
    assert all(text in message for text, message in zip(notes, found, strict=True))
    new = Concept("http://x/n", "new")
    file.write(under("http://x/a", concept=new), output)
    assert output.read_bytes().startswith(path.read_bytes())
    syntax = ox.RdfFormat.N_QUADS if suffix == ".nq" else ox.RdfFormat.TRIG
    graphs: dict[str, set[object]] = {}
    for quad in ox.parse(output.read_bytes(), format=syntax):
        graphs.setdefault(str(quad.subject), set()).add(quad.graph_name)
    assert graphs["<http://x/n>"] == graphs["<http://x/b>"]


def test_concepts_in_several_named_graphs_are_refused(tmp_path: Path) -> None:
    graphs = "".join(f"<http://g/{n}> {{ <http://x/{n}> a skos:Concept }}\n" for n in (1, 2))
    path = write_file(tmp_path / "x.trig", SKOS_PREFIX + graphs)
    with pytest.raises(FormatError, match=r"2 named graphs.*<http://g/1>.*its own file"):
        TaxonomyFile.open(path)


def test_moves_in_a_dataset_are_refused_with_the_advice_to_convert_it(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.trig", SKOS_PREFIX + DEFAULT_GRAPH)
    with pytest.raises(FormatError, match=r"convert x\.trig x\.ttl"):
        TaxonomyFile.open(path).check_changes({"moves"})


def test_a_file_without_concepts_is_refused_with_its_types_and_properties(tmp_path: Path) -> None:
    mesh = "http://id.nlm.nih.gov/mesh"
    text = (
        f"<{mesh}/D01> <{rdflib.RDF.type}> <{mesh}/vocab#TopicalDescriptor> .\n"
        f'<{mesh}/D01> <http://www.w3.org/2000/01/rdf-schema#label> "Classification"@en .\n'
        f"<{mesh}/D01> <{mesh}/vocab#broaderDescriptor> <{mesh}/D02> .\n"
    )
    with pytest.raises(FormatError, match="no skos:Concept, no owl:Class") as caught:
        TaxonomyFile.open(write_file(tmp_path / "mesh.nt", text))
    message = caught.value.message
    assert f"its types are {mesh}/vocab#TopicalDescriptor; " in message
    assert f"its properties are {mesh}/vocab#broaderDescriptor, rdfs:label; " in message
    assert "write them as skos:Concept, skos:prefLabel and skos:broader" in message
