"""RDF in four syntaxes: parsed without ever reaching out, and grown without touching a byte.

pyoxigraph does the parsing: it streams, names the line of an error, and has no code to fetch
anything. What it leaves unbounded (entities, nesting) is bounded here before it sees the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.rdf import jsonld, rdfxml
from taxoexpan.formats.rdf.vocabulary import PREFIXES, SKOS, Triple
from taxoexpan.formats.text_file import Insertion, TextFile

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

_USUAL_INDENT = "    "
_INDENT = re.compile(r"[ \t]+(?=\S)")
_STANZA = re.compile(r"(?!@|#|prefix\b|base\b|[.;,\])])\S", re.I)
_LONG_TEXT = re.compile(r"""\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}""")


def syntax_of(source: TextFile) -> ox.RdfFormat | None:
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

    def __init__(self, source: TextFile) -> None:
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
    foreign = list(map(_foreign, triples))
    if syntax == RDF_XML:
        foreign = list(map(rdfxml.cleaned, foreign))
    return _document(foreign, syntax, PREFIXES)


def transcode(source: TextFile, syntax: ox.RdfFormat) -> tuple[str, list[str]]:
    """The same statements in another syntax, whatever they are about, and what could not stay."""
    statements = Statements(source)
    quads = list(statements)
    losses = []
    apart = sum(not isinstance(quad.graph_name, ox.DefaultGraph) for quad in quads)
    if apart:
        losses.append(f"{apart:,} statements lie in named graphs, which are one graph in the copy")
    triples = list(dict.fromkeys(quad.triple for quad in quads))
    if syntax == RDF_XML:
        rdfxml.refuse_unnameable(source, (triple.predicate.value for triple in triples))
        altered = sum(rdfxml.has_forbidden(triple.object) for triple in triples)
        triples = [rdfxml.cleaned(triple) for triple in triples]
        if altered:
            losses.append(f"{altered:,} texts have a character that XML cannot hold; it is gone")
    if syntax == JSON_LD and any(isinstance(triple.object, ox.Triple) for triple in triples):
        message = "JSON-LD has no way to write statements about statements"
        raise FormatError(source.path, f"{message}; convert to .ttl, .nt or .rdf instead")
    # JSON-LD has no prefix without a name.
    own = {name: iri for name, iri in statements.prefixes.items() if name or syntax != JSON_LD}
    return _document(triples, syntax, _beside(own, PREFIXES)), losses


def grow(statements: Statements, triples: list[Triple]) -> list[Insertion]:
    """What puts these triples into the file, once its statements are read."""
    source, syntax = statements.source, statements.syntax
    if not triples:
        return []
    if syntax == RDF_XML:
        return [rdfxml.insertion(source, triples)]
    if syntax == JSON_LD:
        return jsonld.insertions(source, list(map(_foreign, triples)))
    told = _by_subject(map(_foreign, triples))
    lines = _serialised(told, syntax, _beside(statements.prefixes, {"skos": SKOS}))
    return source.append(
        _continued(source, statements.prefixes, lines) if syntax == TURTLE else lines
    )


def _beside(own: dict[str, str], usual: Mapping[str, str]) -> dict[str, str]:
    """The prefixes of a file, and the usual ones for what it has no name for."""
    missing = {name: iri for name, iri in usual.items() if iri not in own.values()}
    return dict(sorted({**missing, **own}.items()))


def _continued(source: TextFile, prefixes: dict[str, str], lines: list[str]) -> list[str]:
    """Turtle in the way of the file, without the declarations that are in force already."""
    declared = {f"@prefix {name}: <{iri}> ." for name, iri in prefixes.items()}
    indent, gaps = _habits(source)
    laid_out = _laid_out([line for line in lines if line not in declared], indent, gaps)
    ends_blank = not source.lines or not source.lines[-1].strip()
    return ["", *laid_out] if gaps and not ends_blank else laid_out


def _habits(source: TextFile) -> tuple[str, bool]:
    """How a Turtle file is indented, and whether blank lines part what is said of its subjects."""
    lines = _LONG_TEXT.sub('""', source.text).split("\n")
    indents = (found[0] for line in lines if (found := _INDENT.match(line)))
    starts = [number for number, line in enumerate(lines) if _STANZA.match(line)][1:]
    parted = sum(not lines[number - 1].strip() or lines[number - 1][0] == "#" for number in starts)
    return next(indents, _USUAL_INDENT), 2 * parted >= len(starts)


def _laid_out(lines: Iterable[str], indent: str = _USUAL_INDENT, gaps: bool = True) -> list[str]:
    """Turtle as it is serialised, with this indentation, and blank lines between subjects."""
    laid_out: list[str] = []
    for line in lines:
        if line.startswith("\t"):
            laid_out.append(indent + line[1:])
            continue
        if gaps and laid_out and not line.startswith("@prefix"):
            laid_out.append("")
        laid_out.append(line)
    return laid_out


def _document(triples: list[ox.Triple], syntax: ox.RdfFormat, prefixes: Mapping[str, str]) -> str:
    """A whole file, what is said of a subject together."""
    if syntax == JSON_LD:
        return jsonld.document(triples, prefixes)
    lines = _serialised(_by_subject(triples), syntax, prefixes)
    text = "".join(f"{line}\n" for line in (_laid_out(lines) if syntax == TURTLE else lines))
    # In XML a bare "\r" would be read back as a line feed.
    return text.replace("\r", "&#13;") if syntax == RDF_XML else text


def _by_subject(triples: Iterable[ox.Triple]) -> list[ox.Triple]:
    """The triples, those about one subject together."""
    grouped: dict[object, list[ox.Triple]] = {}
    for triple in triples:
        grouped.setdefault(triple.subject, []).append(triple)
    return [triple for about in grouped.values() for triple in about]


def _foreign(triple: Triple) -> ox.Triple:
    return ox.Triple(ox.NamedNode(triple.subject), ox.NamedNode(triple.predicate), triple.object)


def _serialised(
    triples: Iterable[ox.Triple], syntax: ox.RdfFormat, prefixes: Mapping[str, str]
) -> list[str]:
    text = ox.serialize(triples, format=syntax, prefixes=dict(prefixes))
    lines = (text or b"").decode("utf-8").split("\n")
    return lines if lines[-1] else lines[:-1]


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


def _refuse_dangerous(source: TextFile, syntax: ox.RdfFormat) -> None:
    """What would make the parser need time or memory out of proportion."""
    if syntax == RDF_XML:
        rdfxml.outline(source)
    elif syntax == JSON_LD:
        jsonld.refuse_deep(source)
