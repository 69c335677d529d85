"""RDF in four syntaxes: parsed without ever reaching out, and grown without touching a byte.

pyoxigraph does the parsing: it streams, names the line of an error, and has no code to fetch
anything. What it leaves unbounded (entities, nesting) is bounded here before it sees the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.rdf import jsonld, xml
from taxoexpan.formats.rdf.vocabulary import PREFIXES, SKOS, Triple
from taxoexpan.formats.source import Insertion, Source

TURTLE, N_TRIPLES = ox.RdfFormat.TURTLE, ox.RdfFormat.N_TRIPLES
RDF_XML, JSON_LD = ox.RdfFormat.RDF_XML, ox.RdfFormat.JSON_LD

SYNTAXES = {
    ".ttl": TURTLE,
    ".nt": N_TRIPLES,
    ".rdf": RDF_XML,
    ".owl": RDF_XML,
    ".xml": RDF_XML,
    ".jsonld": JSON_LD,
}

_XML_START = re.compile(r"<\w*:?RDF[\s>]")
_TURTLE_START = re.compile(r"(\s|#[^\n]*\n)*(@prefix|@base|prefix\s+\S*:\s*<|base\s*<)", re.I)
_TRIPLE_START = re.compile(r"(\s|#[^\n]*\n)*(<[^>\s]*>|_:\S+)\s+(<[^>\s]*>|a)\s+\S")
_JSON_LD_KEY = re.compile(r'"@(context|graph|id)"')
_SNIFFED = 20_000


def syntax_of(source: Source) -> ox.RdfFormat | None:
    """The syntax of a file by its name, else by its first lines; None where it is no RDF."""
    start = source.text[:_SNIFFED].lstrip()
    if start.startswith(("{", "[")) and _JSON_LD_KEY.search(start):
        return JSON_LD
    if start.startswith("<") and _XML_START.search(start):
        return RDF_XML
    named = SYNTAXES.get(source.path.suffix.lower())
    if named is not None or start.startswith(("{", "[")):
        return named
    if _TURTLE_START.match(start):
        return TURTLE
    return N_TRIPLES if _TRIPLE_START.match(start) else None


class Statements:
    """The statements of a file, one after the other; its prefixes are known at their end."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.syntax = syntax_of(source) or TURTLE
        self._parser: ox.QuadParser | None = None

    def __iter__(self) -> Iterator[ox.Quad]:
        """Every statement, whichever graph it is in; what cannot be parsed is an error of ours."""
        _refuse_dangerous(self.source, self.syntax)
        try:
            self._parser = ox.parse(self.source.text, format=self.syntax)
            yield from self._parser
        except SyntaxError as error:
            raise FormatError(self.source.path, _told(error), error.lineno) from None
        except ValueError as error:
            raise FormatError(self.source.path, f"not well-formed: {error}") from None

    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes in force at the end of the file."""
        return dict(self._parser.prefixes) if self._parser is not None else {}


def is_iri(text: str) -> bool:
    """Whether a text can be the name of a resource."""
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return True


def serialise(triples: Iterable[Triple], syntax: ox.RdfFormat) -> str:
    """A whole new file."""
    foreign = map(_foreign, triples)
    return _serialised(
        map(xml.cleaned, foreign) if syntax == RDF_XML else foreign, syntax, PREFIXES
    )


def transcode(source: Source, syntax: ox.RdfFormat) -> tuple[str, list[str]]:
    """The same statements in another syntax, whatever they are about, and what could not stay."""
    statements = Statements(source)
    quads = list(statements)
    losses = []
    apart = sum(not isinstance(quad.graph_name, ox.DefaultGraph) for quad in quads)
    if apart:
        losses.append(f"{apart:,} statements lie in named graphs, which are one graph in the copy")
    triples = list(dict.fromkeys(quad.triple for quad in quads))
    if syntax == RDF_XML:
        xml.refuse_unnameable(source, (triple.predicate.value for triple in triples))
        altered = sum(xml.has_forbidden(triple.object) for triple in triples)
        triples = [xml.cleaned(triple) for triple in triples]
        if altered:
            losses.append(f"{altered:,} texts have a character that XML cannot hold; it is gone")
    return _serialised(triples, syntax, {**PREFIXES, **statements.prefixes}), losses


def grow(statements: Statements, triples: list[Triple]) -> list[Insertion]:
    """What puts these triples into the file, once its statements are read."""
    source, syntax = statements.source, statements.syntax
    if not triples:
        return []
    if syntax == RDF_XML:
        return [xml.insertion(source, triples)]
    if syntax == JSON_LD:
        return jsonld.insertions(source, triples)
    return source.appended(_lines(syntax, statements.prefixes, triples))


def _lines(syntax: ox.RdfFormat, prefixes: dict[str, str], triples: list[Triple]) -> list[str]:
    """Turtle or N-Triples, without the declarations that are in force already."""
    known = {"skos": SKOS, **prefixes}
    text = _serialised(map(_foreign, triples), syntax, known)
    declared = {f"@prefix {name}: <{iri}> ." for name, iri in prefixes.items()}
    return ["", *(line for line in text.split("\n")[:-1] if line not in declared)]


def _foreign(triple: Triple) -> ox.Triple:
    return ox.Triple(ox.NamedNode(triple.subject), ox.NamedNode(triple.predicate), triple.object)


def _serialised(
    triples: Iterable[ox.Triple], syntax: ox.RdfFormat, prefixes: Mapping[str, str]
) -> str:
    text = ox.serialize(triples, format=syntax, prefixes=dict(prefixes))
    return (text or b"").decode("utf-8")


def _told(error: SyntaxError) -> str:
    message = str(error.msg)
    if "LoadDocumentCallback" in message:
        return (
            "the @context lies on the network, and nothing is ever fetched; "
            "put the context itself into the file"
        )
    if "No scheme found" in message:
        return f"{message}; a relative IRI needs an @base (or xml:base) in the file"
    return f"not well-formed: {message}"


def _refuse_dangerous(source: Source, syntax: ox.RdfFormat) -> None:
    """What would make the parser need time or memory out of proportion."""
    if syntax == RDF_XML:
        xml.outline(source)
    elif syntax == JSON_LD:
        jsonld.refuse_deep(source)
