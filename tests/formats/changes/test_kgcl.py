from __future__ import annotations

import pytest
from hypothesis import given

from taxoexpan.formats.changes.kgcl import BROADER, KgclWriter
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.curies import Prefixes
from taxoexpan.taxonomy.difference import Difference
from tests.support.kgcl_grammar import rule_of
from tests.support.strategies import Growth, growths, names, quickly

EX = "http://example.org/"
PREFIXES = Prefixes({"ex": EX})
OLD = Taxonomy(
    [
        Concept(f"{EX}drink", "drink"),
        Concept(f"{EX}oat", "oat milk", ("oat drink",), "made of oats"),
        Concept(f"{EX}tea", "tea"),
        Concept(f"{EX}mud", "mud"),
    ],
    [(f"{EX}drink", f"{EX}oat"), (f"{EX}drink", f"{EX}tea"), (f"{EX}drink", f"{EX}mud")],
)
NEW = Taxonomy(
    [
        Concept(f"{EX}drink", "drinks", definition="all that is drunk"),
        Concept(f"{EX}oat", "oat milk", ("oatly",), "made of oats and water"),
        Concept(f"{EX}tea", "tea", deprecated=True),
        Concept(f"{EX}milk", "milk", ("moo juice",), "white"),
    ],
    [(f"{EX}milk", f"{EX}oat"), (f"{EX}drink", f"{EX}milk")],
)


def test_every_kind_of_change_is_one_command() -> None:
    writer = KgclWriter(PREFIXES, "en", BROADER)
    assert writer.commands(Difference(OLD, NEW)) == [
        "create node ex:milk 'milk'@en",
        "create exact synonym 'moo juice'@en for ex:milk",
        "add definition 'white' to ex:milk",
        "create edge ex:milk skos:broader ex:drink",
        "move ex:oat skos:broader ex:drink from ex:drink to ex:milk",
        "delete edge ex:tea skos:broader ex:drink",
        "rename ex:drink from 'drink'@en to 'drinks'@en",
        "add definition 'all that is drunk' to ex:drink",
        "create exact synonym 'oatly'@en for ex:oat",
        "remove synonym 'oat drink'@en for ex:oat",
        "change definition of ex:oat from 'made of oats' to 'made of oats and water'",
        "obsolete ex:tea",
        "delete ex:mud",
    ]
    assert writer.adapted == 0


def test_the_way_back_has_the_opposite_commands() -> None:
    commands = KgclWriter(PREFIXES).commands(Difference(NEW, OLD))
    assert "unobsolete ex:tea" in commands
    assert "remove definition for ex:drink" in commands
    assert "create edge ex:tea rdfs:subClassOf ex:drink" in commands
    assert commands[-1] == "delete ex:milk"


@pytest.mark.parametrize(
    ("id", "written"),
    [
        ("http://purl.obolibrary.org/obo/SO_0000110", "SO:0000110"),
        ("SO:0000110", "SO:0000110"),
        ("http://other.org/tea", "<http://other.org/tea>"),
        ("http://example.org/a/b", "<http://example.org/a/b>"),
        ("oat milk", "oat%20milk"),
        ("50% <fat>", "50%25%20%3Cfat%3E"),
        ("7", "7"),
    ],
)
def test_ids_are_curies_or_iris_or_one_word(id: str, written: str) -> None:
    (command,) = KgclWriter(PREFIXES).commands(
        Difference(Taxonomy([]), Taxonomy([Concept(id, "x")]))
    )
    assert command == f"create node {written} 'x'"


def test_apostrophes_and_line_ends_are_replaced_and_counted() -> None:
    concept = Concept("1", "driver's licence", (), "two\nlines")
    writer = KgclWriter()
    assert writer.commands(Difference(Taxonomy([]), Taxonomy([concept]))) == [
        "create node 1 'driver’s licence'",
        "add definition 'two lines' to 1",
    ]
    assert writer.adapted == 2


@given(growths(names(), names(breaks=True), details=True), growths(names(), names(), details=True))
@quickly
def test_every_command_follows_the_grammar(one: Growth, other: Growth) -> None:
    for language in ("", "en-GB"):
        for line in KgclWriter(PREFIXES, language).commands(Difference(one.old, other.old)):
            rule_of(line)


@given(growths(names(), names(), details=True), growths(names(), names(), details=True))
@quickly
def test_the_reference_parser_reads_every_command(one: Growth, other: Growth) -> None:
    parser = pytest.importorskip("kgcl_schema.grammar.parser")
    for line in KgclWriter(PREFIXES, "en").commands(Difference(one.old, other.old)):
        parser.parse_statement(line)
