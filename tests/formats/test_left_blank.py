from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Additions, Concept

SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix x: <http://x.org/> .
x:milk a skos:Concept ; skos:prefLabel "milk"@en , "Milch"@de ; skos:notation "1" .
x:oat a skos:Concept ; skos:prefLabel "oat milk"@en , "Hafermilch"@de ; skos:broader x:milk ;
    skos:notation "2" ; x:shelf 4 .
"""
OBO = """format-version: 1.2

[Term]
id: F:1
name: milk
xref: Q1

[Term]
id: F:2
name: oat milk
is_a: F:1 ! milk
xref: Q2
"""
JSON = """[
  {"id": "1", "label": "milk", "gtin": "40", "children": ["2"]},
  {"id": "2", "label": "oat milk", "gtin": "41", "note": null, "parents": ["1"]}
]
"""
OFF = """en: Milk
fr: Lait
wikidata:en: Q1

< en:Milk
en: Oat milk
fr: Lait d'avoine
wikidata:en: Q2
"""

ROWS = """Unique ID,Parent,Name,Tier 1,Extension
1,,Milk,Milk,SCD
2,1,Oat milk,Milk,
3,1,Soy milk,Milk,SCD
"""


@pytest.mark.parametrize(
    ("name", "text", "parent", "blank"),
    [
        ("t.ttl", SKOS, "http://x.org/milk", ["labels in other languages", "skos:notation"]),
        ("t.obo", OBO, "F:1", ["xref"]),
        ("t.json", JSON.replace(', "children": ["2"]', ""), "1", ["gtin"]),
        ("t.csv", ROWS, "1", ["column 'Tier 1'", "column 'Extension'"]),
        ("t.csv", "id,path,status\n1,A,ok\n2,A > B,ok\n", "1", ["column 'status'"]),
        ("t.csv", "Level 1,Level 2,Code,Status\nA,,1,ok\nA,B,2,ok\n", "1", ["column 'Status'"]),
        ("t.csv", "child,parent,source\nb,a,x\nc,a,y\n", "a", ["column 'source'"]),
        ("t.csv", "child,parent\noat milk,milk\n", "milk", []),
        ("t.txt", OFF, "en:milk", ["names in other languages", "wikidata"]),
    ],
)
def test_content_that_new_concepts_lack_is_named(
    tmp_path: Path, name: str, text: str, parent: str, blank: list[str]
) -> None:
    (tmp_path / name).write_text(text)
    id = {"t.ttl": "http://x.org/yak", "t.obo": "F:3", "t.txt": "en:yak-milk"}.get(name, "4")
    additions = Additions([Concept(id, "yak milk")], [(parent, id)])
    written = TaxonomyFile.open(tmp_path / name).write(additions, tmp_path / f"out-{name}")
    assert written.left_blank == blank
