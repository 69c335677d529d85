from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.errors import FormatError
from taxoexpan.formats.rdf.positions import TurtleLinks
from taxoexpan.formats.text_file import TextFile
from tests.support.strategies import quickly

HARD = """\
# @prefix in a comment is none: <http://no/a> <http://no/b> <http://no/c> .
@prefix e: <http://x.org/> . @prefix : <http://x.org/#>.
PREFIX f: <http://x.org/f/>
@base <http://x.org/dir/file> .
e:a a e:C ; e:b e:c , <rel> , <#frag>, "e:x , e:y ." , 'a . b'@en-GB , 1.5 , .5, true,e:d.
e:a.b e:p\\~q "\"\"long " text
e:no e:no e:no . ''' "\"\" , '''other ' one''' , "5"^^e:int , e:z ;; e:r e:s ; .
[] e:b e:c . [ e:b e:c ; e:d [ e:e e:f , e:g ] ] e:h e:i .
e:l e:b ( e:m [ e:n e:o ] "p" ) , e:q # , e:no
  , e:t .
BASE <http://y.org/> <u> e:v <w\\u0041> . :x :y: :z .
_:n e:b _:m . e:s e:b _:m, e:w.
@prefix e: <http://z.org/> . e:a e:b e:c .
e:%41 e:b e:1-2 .
"""


def links(text: str) -> set[tuple[str, str, str]]:
    source = TextFile(Path("x.ttl"), text)
    return {(link.subject, link.predicate, link.object) for link in TurtleLinks(source).links()}


def triples(text: str) -> set[tuple[str, str, str]]:
    found = set()
    for quad in ox.parse(text, format=ox.RdfFormat.TURTLE):
        parts = (quad.subject, quad.predicate, quad.object)
        if all(isinstance(part, ox.NamedNode) for part in parts):
            found.add(tuple(part.value for part in parts))
    return found


def test_links_are_those_that_the_parser_finds() -> None:
    assert links(HARD) == triples(HARD)
    assert len(links(HARD)) == 14


IRIS = [f"http://x.org/{name}" for name in ("a", "b.c", "d-e", "f/g", "h%20i", "é水", "1", "")]
NODES = st.sampled_from([*map(ox.NamedNode, IRIS), ox.BlankNode("n")])
TEXT = st.text("ab\"'\\\n.;,#<>é", max_size=6)
OBJECTS = NODES | TEXT.map(ox.Literal) | TEXT.map(lambda text: ox.Literal(text, language="en"))
STATEMENTS = st.builds(ox.Triple, NODES, st.sampled_from(IRIS[:3]).map(ox.NamedNode), OBJECTS)


@given(
    statements=st.lists(STATEMENTS, max_size=12),
    syntax=st.sampled_from([ox.RdfFormat.TURTLE, ox.RdfFormat.N_TRIPLES]),
    prefixes=st.sampled_from([{}, {"x": "http://x.org/"}, {"": "http://x.org/b", "y": "http://"}]),
)
@quickly
def test_links_of_random_statements_are_found_at_their_positions(
    statements: list[ox.Triple], syntax: ox.RdfFormat, prefixes: dict[str, str]
) -> None:
    text = ox.serialize(statements, format=syntax, prefixes=prefixes).decode()
    assert links(text) == triples(text)
    turtle = TurtleLinks(TextFile(Path("x.ttl"), text))
    for link in turtle.links():
        token = text[link.start : link.end]
        changed = text[: link.start] + turtle.format_iri("http://x.org/new", token)
        changed += text[link.end :]
        new = (link.subject, link.predicate, "http://x.org/new")
        assert new in triples(changed)
        assert triples(changed) - {new} <= triples(text)


def test_an_iri_is_short_if_the_replaced_one_was_and_a_prefix_fits() -> None:
    turtle = TurtleLinks(TextFile(Path("x.ttl"), "@prefix e: <http://x.org/> ."))
    assert list(turtle.links()) == []
    assert turtle.format_iri("http://x.org/a-1", "e:b") == "e:a-1"
    assert turtle.format_iri("http://x.org/a.", "e:b") == "<http://x.org/a.>"
    assert turtle.format_iri("http://x.org/a/b", "e:b") == "<http://x.org/a/b>"
    assert turtle.format_iri("http://x.org/a", "<b>") == "<http://x.org/a>"
    assert turtle.format_iri("http://y.org/a", "e:b") == "<http://y.org/a>"


def test_unsupported_syntax_is_refused_with_its_line() -> None:
    text = "@prefix e: <http://x.org/> .\ne:a e:b e:c {| e:d e:e |} .\n"
    with pytest.raises(
        FormatError, match=r"line 2: '\{\| e:d .* is not supported when links are moved"
    ):
        links(text)
