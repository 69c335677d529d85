from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given

from taxoexpan.curation.checks import CODES, Finding
from taxoexpan.curation.checks.all_checks import check_file, check_taxonomy
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.taxonomy import Taxonomy
from tests.support.expanded_files import write_file
from tests.support.labeled_taxonomies import build
from tests.support.strategies import quickly, taxonomies
from tests.support.tiny_wordnet import write_wordnet


def test_a_clean_taxonomy_has_no_findings() -> None:
    assert check_taxonomy(build({"a": "food", "b": "fruit", "c": "apple"}, "ab", "bc")) == []


@quickly
@given(taxonomies())
def test_every_finding_has_a_known_code_and_the_id_of_a_concept(taxonomy: Taxonomy) -> None:
    for finding in check_taxonomy(taxonomy):
        assert finding.severity in (CODES[finding.code].severity, "warning")
        assert finding.place in taxonomy


def test_a_file_that_cannot_be_read_is_one_error_with_its_line(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", "child,parent\nb,a\na,a\n")
    (finding,) = check_file(path)
    assert (finding.code, finding.severity, finding.place) == ("unreadable", "error", "line 3")


def test_the_place_of_an_error_without_a_line_is_the_file(tmp_path: Path) -> None:
    path = write_file(tmp_path / "empty.csv", "")
    (finding,) = check_file(path)
    assert (finding.place, finding.path, finding.line) == (str(path), path, 0)


def test_a_missing_file_is_an_error_and_not_a_finding(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is no such file"):
        check_file(tmp_path / "missing.csv")


def test_a_note_of_the_reader_is_a_finding_with_its_line(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", "child,parent\na,b\na,b\n")
    message = "'a' under 'b' occurs more than once"
    assert check_file(path) == [Finding("file", "warning", "line 3", message, path=path, line=3)]


def test_a_concept_without_a_label_in_the_file_is_named_by_its_id(tmp_path: Path) -> None:
    text = """
    @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
    <http://food.org/1> a skos:Concept ; skos:prefLabel "food" .
    <http://food.org/2> a skos:Concept ; skos:broader <http://food.org/1> .
    """
    (finding,) = check_file(write_file(tmp_path / "food.ttl", text))
    assert (finding.code, finding.severity) == ("missing-label", "info")
    assert finding.place == "http://food.org/2"


def test_a_clean_file_has_no_findings(tmp_path: Path) -> None:
    assert check_file(write_file(tmp_path / "food.csv", "child,parent\na,b\n")) == []


def test_a_format_can_be_given_by_name(tmp_path: Path) -> None:
    path = write_file(tmp_path / "food.csv", "child,parent\na,b\n")
    (finding,) = check_file(path, "rows")
    assert "the table needs a column id or label, and a column parent" in finding.message
    with pytest.raises(ConfigurationError, match="there is no format 'xml'"):
        check_file(path, "xml")


SKOS = "http://www.w3.org/2004/02/skos/core#"
TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix ex: <http://x.org/> .
ex:food a skos:Concept ; skos:prefLabel "food" ;
    skos:narrower
        ex:fig ,
        ex:fruit .
ex:fruit a skos:Concept ; skos:prefLabel "fruit" ; skos:broader ex:food .

ex:fig
    a skos:Concept ;
    skos:prefLabel "fig" ;
    skos:broader ex:fruit, ex:food .
<http://x.org/stone> a skos:Concept ; skos:prefLabel "stone" .
"""
RDF_XML = f"""<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [<!ENTITY ex "http://x.org/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="{SKOS}"
    xml:base="http://x.org/">
<skos:Concept rdf:about="food"><skos:prefLabel>food</skos:prefLabel></skos:Concept>
<skos:Concept rdf:about="&ex;fruit"><skos:prefLabel>fruit</skos:prefLabel>
  <skos:broader rdf:resource="http://x.org/food"/></skos:Concept>
<skos:Concept rdf:about="http://x.org/fig"><skos:prefLabel>fig</skos:prefLabel>
  <skos:broader rdf:resource="&ex;fruit"/><skos:broader rdf:resource="food"/></skos:Concept>
<skos:Concept
    rdf:about='stone'><skos:prefLabel>stone</skos:prefLabel></skos:Concept>
</rdf:RDF>
"""
JSON_LD = """{"@context": {"skos": "http://www.w3.org/2004/02/skos/core#", "ex": "http://x.org/"},
 "@graph": [
  {"@id": "ex:food", "@type": "skos:Concept", "skos:prefLabel": "food"},
  {"@id": "ex:fruit", "@type": "skos:Concept", "skos:prefLabel": "fruit",
   "skos:broader": {"@id": "ex:food"}},
  {
   "@id": "http://x.org/fig", "@type": "skos:Concept", "skos:prefLabel": "fig",
   "skos:broader": [{"@id": "ex:food"}, {"@id": "ex:fruit"}]},
  {"@id": "ex:stone", "@type": "skos:Concept", "skos:prefLabel": "stone"}]}
"""
N_TRIPLES = "".join(
    f"<http://x.org/{name}> <{SKOS}prefLabel> {name!r} .\n".replace("'", '"')
    + f"<http://x.org/{name}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{SKOS}Concept> .\n"
    + "".join(f"<http://x.org/{name}> <{SKOS}broader> <http://x.org/{up}> .\n" for up in parents)
    for name, parents in {
        "food": [],
        "fruit": ["food"],
        "fig": ["fruit", "food"],
        "stone": [],
    }.items()
)
OBO = """format-version: 1.2

[Term]
id: X:1
name: food

[Term]
id: X:2
name: fruit
is_a: X:1

[Term]
id: X:3
name: fig
is_a: X:2
is_a: X:1

[Term]
id: X:4
name: stone
"""
JSON = """[
  {"id": "1", "label": "food"},
  {"id": "2", "label": "fruit", "parents": ["1"]},
  {
    "id": "3", "label": "fig",
    "parents": ["2",
      "1"]
  },
  {"id": "4", "label": "stone"}
]
"""
OBO_GRAPHS = """{"graphs": [{"id": "g", "nodes": [
  {"id": "http://x.org/1", "lbl": "food", "type": "CLASS"},
  {"id": "http://x.org/2", "lbl": "fruit", "type": "CLASS"},
  {"id": "http://x.org/3", "lbl": "fig", "type": "CLASS"},
  {"id": "http://x.org/4", "lbl": "stone", "type": "CLASS"}], "edges": [
  {"sub": "http://x.org/2", "pred": "is_a", "obj": "http://x.org/1"},
  {"sub": "http://x.org/3", "pred": "is_a", "obj": "http://x.org/2"},
  {"sub": "http://x.org/3", "pred": "is_a", "obj": "http://x.org/1"}]}]}
"""


@pytest.mark.parametrize(
    ("name", "text", "isolated", "redundant"),
    [
        ("rows.csv", "id,label,parents\n1,food,\n2,fruit,1\n3,fig,2|1\n4,stone,\n", 5, 4),
        ("edges.csv", "child,parent\nfruit,food\nfig,fruit\nfig,food\nstone,\n", 5, 4),
        ("food.ttl", TURTLE, 13, 9),
        ("food.nt", N_TRIPLES, 10, 6),
        ("food.rdf", RDF_XML, 10, 8),
        ("food.jsonld", JSON_LD, 9, 7),
        ("food.obo", OBO, 18, 16),
        ("food.json", JSON, 9, 7),
        ("graph.json", OBO_GRAPHS, 5, 8),
    ],
)
def test_findings_have_the_line_of_the_concept_or_of_its_relation(
    tmp_path: Path, name: str, text: str, isolated: int, redundant: int
) -> None:
    path = write_file(tmp_path / name, text)
    found = {finding.code: finding for finding in check_file(path)}
    assert found["isolated-concept"].line == isolated
    assert found["redundant-relation"].line == redundant
    for finding in found.values():
        assert finding.path == path
        line = text.splitlines()[finding.line - 1]
        assert (finding.column > 0) == (finding.end_column > 0)
        if finding.column:
            marked = line[finding.column - 1 : finding.end_column - 1]
            assert marked in ("stone", "fig") or finding.place.endswith(marked)


NEW_AND_OLD = f"""@prefix s: <{SKOS}> .
@prefix : <http://x.org/> .
:food a s:Concept ; s:prefLabel "food" ; s:narrower :new-oil , :new-fig , :new-tea .
:oil a s:Concept ; s:prefLabel "olive oil" ; s:broader :food .
:fig a s:Concept ; s:prefLabel "fig" ; s:broader :food .
:tea a s:Concept ; s:prefLabel "tea" ; s:broader :food .
:new-oil a s:Concept ; s:prefLabel "Olive Oil" .
:new-fig a s:Concept ; s:prefLabel "fig" .
:new-tea a s:Concept ; s:prefLabel "chai" ; s:altLabel "tea" .
"""
"""New concepts at the end of the file that a list of narrower concepts mentions before the old."""


@pytest.mark.parametrize(
    ("name", "text", "lines", "old_ids"),
    [
        ("food.ttl", NEW_AND_OLD, [7, 8, 9], ["/oil", "/fig", "/tea"]),
        (
            "food.csv",
            "id,label,parents,synonyms\nr,food,,\no1,olive oil,r,\no2,fig,r,\no3,tea,r,\n"
            "n1,Olive Oil,r,\nn2,fig,r,\nn3,chai,r,tea\n",
            [6, 7, 8],
            ["o1", "o2", "o3"],
        ),
    ],
)
def test_a_finding_about_two_concepts_is_at_the_later_one_and_names_the_other(
    tmp_path: Path, name: str, text: str, lines: list[int], old_ids: list[str]
) -> None:
    found = {finding.code: finding for finding in check_file(write_file(tmp_path / name, text))}
    codes = ["similar-label", "repeated-sibling", "label-is-synonym"]
    assert sorted(found) == sorted(codes)
    for code, line, old_id in zip(codes, lines, old_ids, strict=True):
        assert (found[code].line, old_id in found[code].message) == (line, True)
        assert found[code].place.rpartition("/")[2].startswith("n")


def test_the_right_one_of_two_files_is_named(tmp_path: Path) -> None:
    terms = write_file(tmp_path / "food.terms", "1\tfood\n2\tfruit\n3\tfig\n4\tstone\n")
    taxo = write_file(tmp_path / "food.taxo", "1\t2\n2\t3\n1\t3\n1\t2\n")
    for path in (terms, taxo):
        found = {(f.code, f.path, f.line, f.column) for f in check_file(path)}
        assert found == {
            ("isolated-concept", terms, 4, 3),
            ("redundant-relation", taxo, 3, 3),
            ("file", taxo, 4, 0),
        }
    write_file(taxo, "1\t2\n1\n")
    (finding,) = check_file(terms)
    assert (finding.code, finding.path, finding.line) == ("unreadable", taxo, 2)


@pytest.mark.parametrize(
    ("name", "text", "places"),
    [
        ("edges.csv", "child,parent\na,b\nb,a\nc,d\nd,e\ne,c\n", {"a": 2, "c": 4}),
        ("rows.csv", "id,label,parent\nd1,x,d2\nd2,y,d1\n", {"d1": 2}),
        ("food.obo", "[Term]\nid: x:1\nis_a: x:2\n\n[Term]\nid: x:2\nis_a: x:1\n", {"x:1": 3}),
        (
            "food.json",
            '[\n{"id": "1", "label": "a", "parents": ["2"]},\n'
            '{"id": "2", "label": "b", "parents": ["1"]}\n]',
            {"1": 2},
        ),
        (
            "food.ttl",
            f"@prefix s: <{SKOS}> .\n@prefix : <http://x.org/> .\n"
            ':a a s:Concept ; s:prefLabel "a" ; s:broader :b .\n'
            ':b a s:Concept ; s:prefLabel "b" ; s:broader :a .\n',
            {"http://x.org/a": 3},
        ),
        (
            "narrower.ttl",
            f"@prefix s: <{SKOS}> .\n@prefix : <http://x.org/> .\n"
            ':b a s:Concept ; s:prefLabel "b" ; s:narrower :a .\n'
            ':a a s:Concept ; s:prefLabel "a" ; s:narrower :b .\n',
            {"http://x.org/b": 3},
        ),
    ],
)
def test_a_cycle_is_at_the_concept_of_its_first_line(
    tmp_path: Path, name: str, text: str, places: dict[str, int]
) -> None:
    path = write_file(tmp_path / name, text)
    found = check_file(path)
    assert [(each.code, each.path, each.place, each.line) for each in found] == [
        ("cycle", path, place, line) for place, line in places.items()
    ]
    for finding in found:
        assert finding.severity == "error"
        assert f"a cycle: {finding.place} → " in finding.message


def test_the_files_of_wordnet_are_named(tmp_path: Path) -> None:
    folder = write_wordnet(tmp_path)
    for finding in check_file(folder):
        assert finding.path is not None
        assert finding.path.is_relative_to(folder)


def test_a_compressed_file_has_lines_too(tmp_path: Path) -> None:
    path = tmp_path / "food.csv.gz"
    path.write_bytes(gzip.compress(b"id,label,parents\n1,food,\n2,fruit,1\n4,stone,\n"))
    (finding,) = check_file(path)
    assert (finding.path, finding.line, finding.column) == (path, 4, 3)
