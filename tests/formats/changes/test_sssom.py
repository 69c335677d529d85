from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

import pytest

from taxoexpan.formats.changes.sssom import (
    SSSOM_COLUMNS,
    ConceptMapping,
    Justification,
    comparison_mappings,
    sssom_table,
)
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.curies import Prefixes
from taxoexpan.taxonomy.difference import compare

EX = Prefixes({"ex": "http://example.org/x/", "": "http://example.org/y/"})
DAY = date(2026, 3, 1)


def parts(table: str) -> tuple[list[str], list[dict[str, str]]]:
    """The lines of the metadata, and the rows."""
    lines = table.splitlines()
    metadata = [line.removeprefix("#") for line in lines if line.startswith("#")]
    return metadata, list(csv.DictReader(lines[len(metadata) :], delimiter="\t"))


def mapping(subject: str, object: str, label: str = "tea") -> ConceptMapping:
    return ConceptMapping(subject, label, object, "tea", Justification.MANUAL)


def test_a_name_without_an_id_is_a_literal() -> None:
    given = ConceptMapping("", "oat drink", "ex:oat", "oat milk", Justification.COMPOSITE, 0.87)
    metadata, rows = parts(sssom_table([given], EX, "1.0", DAY))
    assert [*rows[0]] == [*SSSOM_COLUMNS]
    assert [*rows[0].values()] == [
        *("", "oat drink", "skos:exactMatch", "ex:oat", "oat milk", "semapv:CompositeMatching"),
        *("rdfs literal", "0.87"),
    ]
    assert metadata[:2] == ["curie_map:", "  ex: http://example.org/x/"]
    assert 'mapping_date: "2026-03-01"' in metadata
    assert any(line.startswith("mapping_set_id: https://") for line in metadata)
    assert any(line.startswith("license: https://") for line in metadata)


def test_empty_columns_are_left_out() -> None:
    _, rows = parts(sssom_table([mapping("ex:1", "ex:2")], EX, "1.0", DAY))
    assert list(rows[0]) == [*SSSOM_COLUMNS[:6]]


@pytest.mark.parametrize(
    ("id", "curie", "declared"),
    [
        ("http://example.org/x/tea", "ex:tea", "ex: http://example.org/x/"),
        ("SO:0000110", "SO:0000110", "SO: http://purl.obolibrary.org/obo/SO_"),
        ("http://example.org/y/tea", "ns:tea", "ns: http://example.org/y/"),
        ("gid://shop/hg-1", "ns:hg-1", "ns: gid://shop/"),
        ("urn:tea:1", "ns:1", 'ns: "urn:tea:"'),
        ("oat milk", "id:oat%20milk", "id: http://example.org/"),
        ("a|b", "id:a%7Cb", "id: http://example.org/"),
    ],
)
def test_every_id_is_a_curie_with_a_declared_prefix(id: str, curie: str, declared: str) -> None:
    metadata, rows = parts(sssom_table([mapping(id, id)], EX, "1.0", DAY))
    assert (rows[0]["subject_id"], rows[0]["object_id"]) == (curie, curie)
    assert metadata[1] == f"  {declared}"


def test_two_namespaces_without_a_prefix_get_two_prefixes() -> None:
    _, rows = parts(sssom_table([mapping("http://a.org/1", "http://b.org/1")], EX, "1.0", DAY))
    assert (rows[0]["subject_id"], rows[0]["object_id"]) == ("ns:1", "ns2:1")


def test_quotes_and_tabs_in_labels_are_quoted() -> None:
    _, rows = parts(sssom_table([mapping("ex:1", "ex:2", 'the "best"\t#1')], EX, "1.0", DAY))
    assert rows[0]["subject_label"] == 'the "best" #1'


def test_a_comparison_maps_other_ids_and_merged_concepts() -> None:
    old = Taxonomy(
        [Concept("1", "food"), Concept("2", "tea"), Concept("3", "cha"), Concept("4", "mud")]
    )
    new = Taxonomy([Concept("1", "food"), Concept("22", "tea", ("cha",))])
    found = comparison_mappings(compare(old, new))
    assert [(m.subject_id, m.object_id, m.justification) for m in found] == [
        ("2", "22", Justification.LEXICAL),
        ("3", "22", Justification.LEXICAL),
    ]


@pytest.mark.filterwarnings("ignore")  # those of sssom itself
def test_sssom_reads_the_table_without_complaints(tmp_path: Path) -> None:
    parsers = pytest.importorskip("sssom.parsers")
    validators = pytest.importorskip("sssom.validators")
    path = tmp_path / "m.sssom.tsv"
    ids = ["ex:1", "SO:1", "oat milk", "http://é.org/ü x", "dog#n#1", "urn:a:b"]
    path.write_text(sssom_table([mapping(id, id) for id in ids], EX, "1.0", DAY), "utf-8")
    table = parsers.parse_sssom_table(path)
    assert len(table.df) == len(ids)
    assert all(not report.results for report in validators.validate(table).values())
