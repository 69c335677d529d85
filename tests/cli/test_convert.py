from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import run
from tests.support.expanded_files import write_file


def test_the_base_and_the_losses_are_named(tmp_path: Path) -> None:
    rows = "id,label,parents,synonyms\n1,food,,\n2,tea,1,cha\n"
    table = write_file(tmp_path / "food.csv", rows)
    ran = run("convert", table, tmp_path / "food.ttl")
    message = "note: 2 ids written as IRIs that start with http://example.org/; --base sets another"
    assert message in ran.err.splitlines()
    ran = run("convert", table, tmp_path / "own.ttl", "--base", "http://food.org/")
    assert "IRIs that start with http://food.org/\n" in ran.err
    messages = run("convert", table, tmp_path / "edges.csv", "--to", "edges").err
    assert "missing: 1 synonym ('cha' of 'tea')" in messages
    assert "start with" not in messages


FRENCH = """# test

en: yogurts, yoghurts
fr: yaourts, yogourts
description:en: Milk with bacteria.
description:fr: Du lait.

< en: yogurts
xx: Skyr
"""


def test_names_in_other_languages_are_counted(tmp_path: Path) -> None:
    food = write_file(tmp_path / "food.txt", FRENCH)
    messages = run("convert", food, tmp_path / "food.ttl").err
    assert "names in other languages (2)" in messages
    assert "descriptions in other languages (1)" in messages
    turtle = (tmp_path / "food.ttl").read_text("utf-8")
    assert 'skos:prefLabel "yogurts"@en' in turtle
    assert 'skos:altLabel "yoghurts"@en' in turtle
    assert 'skos:definition "Milk with bacteria."@en' in turtle
    assert 'skos:prefLabel "Skyr" ' in turtle


SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://x.org/1> a skos:Concept ; skos:prefLabel "colour"@en-GB, "Farbe"@de ;
    skos:definition "What eyes see."@en-GB, "Was Augen sehen."@de, "Another."@en-GB .
<http://x.org/2> a skos:Concept ; skos:prefLabel "rouge"@fr ; skos:broader <http://x.org/1> .
<http://x.org/3> a skos:Concept ; skos:prefLabel "grey"@en-GB ; skos:broader <http://x.org/1> .
"""


def test_language_tags_are_kept_in_the_other_vocabulary(tmp_path: Path) -> None:
    colours = write_file(tmp_path / "x.ttl", SKOS)
    messages = run("convert", colours, tmp_path / "x.owl", "--to", "owl").err
    assert "definitions in other languages (1)" in messages
    assert "further definitions (1)" in messages
    assert "labels in other languages (1)" in messages
    assert "language tags" not in messages
    classes = (tmp_path / "x.owl").read_text("utf-8")
    assert 'xml:lang="en-GB">grey<' in classes
    assert 'xml:lang="fr">rouge<' in classes


@pytest.mark.parametrize(
    ("syntax", "text"),
    [
        ("ttl", '"grey"@en-GB'),
        ("nt", '<http://x.org/3> <http://www.w3.org/2004/02/skos/core#prefLabel> "grey"@en-GB .'),
        ("rdf", 'xml:lang="en-GB">grey<'),
        ("jsonld", '"@language": "en-GB"'),
    ],
)
def test_the_rdf_syntax_of_standard_output_can_be_chosen(
    tmp_path: Path, syntax: str, text: str
) -> None:
    colours = write_file(tmp_path / "x.ttl", SKOS)
    assert text in run("convert", colours, "-", "--to", syntax).out
    table = write_file(tmp_path / "x.csv", "id,label,parent\n1,grey,\n")
    assert "http://example.org/1" in run("convert", table, "-", "--to", syntax).out


def test_iris_need_no_base(tmp_path: Path) -> None:
    rows = "id,label,parents\nhttp://food.org/1,food,\n"
    table = write_file(tmp_path / "food.csv", rows)
    assert "start with" not in run("convert", table, tmp_path / "food.ttl").err
