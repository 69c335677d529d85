"""RDF/XML: what must be known before it is parsed, and how statements are put into it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.rdf.vocabulary import PREFIXES, Triple
from taxoexpan.formats.source import Insertion, Source

DEEPEST = 256
"""The parser's time grows with the square of the nesting, and no vocabulary nests so."""

LONGEST_ENTITY = 1000
MOST_GROWTH = 10
"""How many times its size a file may become when its entities are put in."""

_ENCODING = re.compile(r"""<\?xml[^>]*encoding\s*=\s*["']([\w.-]+)["']""")
_NAME_AT_END = re.compile(r"[^\W\d][\w.-]*$")
_FORBIDDEN = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class Outline:
    """The root element: its name, the byte where its end tag begins, and what it declares."""

    name: str = ""
    end: int = 0
    attributes: dict[str, str] = field(default_factory=dict)


def outline(source: Source) -> Outline:
    """Walk through the elements, and refuse what is too deep, grows, or is kept elsewhere."""
    encoding = _ENCODING.match(source.text)
    if encoding and encoding[1].lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
        message = f"the file says that it is {encoding[1]}; save it as UTF-8, and let it say so"
        raise FormatError(source.path, message, 1)
    parser = expat.ParserCreate()
    found, depth, growth = Outline(), 0, 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth == 1:
            found.name, found.attributes = name, attributes
        if depth > DEEPEST:
            raise refused(f"elements nested more than {DEEPEST} levels deep")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        if depth == 0:
            found.end = parser.CurrentByteIndex

    def entity(name: str, parameter: bool, value: str | None, *_: object) -> None:
        nonlocal growth
        if parameter or value is None:
            raise refused(f"the entity {name} is kept elsewhere, and nothing is ever fetched")
        if len(value) > LONGEST_ENTITY or "&" in value:
            raise refused(f"the entity {name} is long, or holds others; write it out")
        growth += len(value) * source.text.count(f"&{name};")
        if growth > MOST_GROWTH * len(source.text):
            raise refused(f"the entity {name} makes the file too large; write it out")

    def refused(message: str) -> FormatError:
        return FormatError(source.path, message, parser.CurrentLineNumber)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(source.text, True)
    except expat.ExpatError as error:
        message = f"not well-formed: {expat.ErrorString(error.code)}"
        raise FormatError(source.path, message, error.lineno) from None
    return found


def has_forbidden(node: object) -> bool:
    """Whether a text has one of the few characters that XML has no way to write."""
    return isinstance(node, ox.Literal) and bool(_FORBIDDEN.search(node.value))


def cleaned(triple: ox.Triple) -> ox.Triple:
    """The triple without such characters."""
    literal = triple.object
    if not isinstance(literal, ox.Literal) or not has_forbidden(literal):
        return triple
    text = _FORBIDDEN.sub("", literal.value)
    kept = (
        ox.Literal(text, language=literal.language)
        if literal.language
        else ox.Literal(text, datatype=literal.datatype)
    )
    return ox.Triple(triple.subject, triple.predicate, kept)


def refuse_unnameable(source: Source, predicates: Iterable[str]) -> None:
    """In RDF/XML a predicate is an element, so its IRI must end in an XML name."""
    for iri in set(predicates):
        if not _NAME_AT_END.search(iri):
            message = f"RDF/XML has no way to write the predicate {iri!r}"
            raise FormatError(source.path, f"{message}; convert to .ttl, .nt or .jsonld instead")


def insertion(source: Source, triples: list[Triple]) -> Insertion:
    """New elements before the end of the root."""
    known = outline(source)
    before = source.text.encode("utf-8")[: known.end].decode("utf-8")
    if not source.text.startswith(f"</{known.name}", len(before)) or "RDF" not in known.name:
        message = "the root is not an rdf:RDF element with an end tag; put one around what is there"
        raise FormatError(source.path, message)
    lines = _elements(source, triples, known.attributes)
    text = "".join(line + source.newline for line in lines)
    margin = before[len(before.rstrip(" \t")) :]
    if before.removesuffix(margin).endswith("\n"):
        return Insertion(len(before) - len(margin), text)
    return Insertion(len(before), source.newline + text)


def _elements(source: Source, triples: Iterable[Triple], attributes: dict[str, str]) -> list[str]:
    missing = {
        name: iri for name, iri in PREFIXES.items() if attributes.get(f"xmlns:{name}") != iri
    }
    declared = "".join(f' xmlns:{name}="{iri}"' for name, iri in missing.items())
    lines = []
    for subject, about in groupby(triples, key=lambda triple: triple.subject):
        lines.append(f"  <rdf:Description rdf:about={quoteattr(subject)}{declared}>")
        lines += [f"    {_property(source, triple)}" for triple in about]
        lines.append("  </rdf:Description>")
    encoding = _ENCODING.match(source.text)
    if encoding and "ascii" in encoding[1].lower():
        return [line.encode("ascii", "xmlcharrefreplace").decode("ascii") for line in lines]
    return lines


def _property(source: Source, triple: Triple) -> str:
    iri, value = triple.predicate, triple.object
    name = next(
        f"{prefix}:{iri.removeprefix(space)}"
        for prefix, space in PREFIXES.items()
        if iri.startswith(space)
    )
    if isinstance(value, ox.NamedNode):
        return f"<{name} rdf:resource={quoteattr(value.value)}/>"
    if _FORBIDDEN.search(value.value):
        message = f"{value.value[:100]!r} has a character that XML cannot hold; take it out"
        raise FormatError(source.path, message)
    # A bare "\r" would be read back as a line feed.
    text = escape(value.value, {"\r": "&#13;"})
    # Without a language or a type, that of the root would hold.
    kind = (
        f"xml:lang={quoteattr(value.language)}"
        if value.language
        else f"rdf:datatype={quoteattr(value.datatype.value)}"
    )
    return f"<{name} {kind}>{text}</{name}>"
