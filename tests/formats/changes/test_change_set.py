from __future__ import annotations

from pathlib import Path

import pytest

from taxoexpan.errors import ConfigurationError
from taxoexpan.formats.changes.change_set import ChangeFormat, ChangeSet, change_format
from taxoexpan.formats.taxonomy_file import TaxonomyFile
from taxoexpan.taxonomy import Concept
from tests.support.expanded_files import under, write_file

SKOS = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://x.org/tea> a skos:Concept ; skos:prefLabel "tea"@en .
"""


@pytest.mark.parametrize(
    ("name", "format"),
    [("x.kgcl", "kgcl"), ("X.MD", "markdown"), ("x.sssom.tsv", "sssom")],
)
def test_the_name_says_the_format(name: str, format: str) -> None:
    assert change_format(Path(name)) == format


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"use a name that ends in one of \.kgcl \(kgcl\)"):
        change_format(Path("x.tsv"))


def test_only_fields_that_both_files_can_hold_are_compared(tmp_path: Path) -> None:
    rich = TaxonomyFile.open(
        write_file(tmp_path / "x.csv", "id,label,parents,synonyms\n1,tea,,cha\n2,milk,1,\n")
    )
    bare = TaxonomyFile.open(write_file(tmp_path / "x.txt", "1 - tea\n2 - tea > milk\n"), "paths")
    for old, new in ((rich, bare), (bare, rich)):
        changes = ChangeSet.between(old, new)
        assert not changes.comparison
        assert changes.notes == ["synonyms are not compared: x.txt has no place for them"]
    assert ChangeSet.between(rich, rich).notes == []


def test_additions_are_written_with_the_relation_of_the_file(tmp_path: Path) -> None:
    skos = TaxonomyFile.open(write_file(tmp_path / "x.ttl", SKOS))
    kiwi = Concept("http://x.org/kiwi", "cook's tea")
    changes = ChangeSet.of_additions(skos, under("http://x.org/tea", concept=kiwi), [])
    text, notes = changes.text(ChangeFormat.KGCL, "Changes")
    assert text.splitlines() == [
        "create node <http://x.org/kiwi> 'cook’s tea'@en",
        "create edge <http://x.org/kiwi> skos:broader <http://x.org/tea>",
    ]
    assert notes == [
        "KGCL cannot express apostrophes and line ends; 1 text written with ’ or a space"
    ]
    table = TaxonomyFile.open(write_file(tmp_path / "x.csv", "child,parent\na,b\n"))
    text, notes = ChangeSet.of_additions(table, under("b"), []).text(ChangeFormat.KGCL, "Changes")
    assert "create edge kiwi rdfs:subClassOf b\n" in text
    assert notes == []
