"""Parsing of RDF in six syntaxes, without network access and within limits.

pyoxigraph limits neither entities nor nesting, so they are checked before. It converts language
tags to lower case, so their spelling is searched in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note
from taxoexpan.formats.format import DEFAULT_BASE
from taxoexpan.formats.rdf import jsonld, rdfxml, vocabulary
from taxoexpan.formats.text_file import TextFile
from taxoexpan.phrasing import pluralize

TURTLE = ox.RdfFormat.TURTLE
N_TRIPLES = ox.RdfFormat.N_TRIPLES
TRIG = ox.RdfFormat.TRIG
N_QUADS = ox.RdfFormat.N_QUADS
RDF_XML = ox.RdfFormat.RDF_XML
JSON_LD = ox.RdfFormat.JSON_LD

SYNTAXES = {
    ".ttl": TURTLE,
    ".nt": N_TRIPLES,
    ".rdf": RDF_XML,
    ".owl": RDF_XML,
    ".xml": RDF_XML,
    ".jsonld": JSON_LD,
    ".nq": N_QUADS,
    ".trig": TRIG,
}

_XML_PROLOGS = ("<?xml", "<!--", "<!DOCTYPE")
_XML_START = re.compile(r"<\w*:?RDF[\s>]")
_TURTLE_START = re.compile(r"(\s|#[^\n]*\n)*(@prefix|@base|prefix\s+\S*:\s*<|base\s*<)", re.I)
_TRIPLE_START = re.compile(r"(\s|#[^\n]*\n)*(<[^>\s]*>|_:\S+)\s+(<[^>\s]*>|a)\s+\S")
_JSON_LD_KEY = re.compile(r'"@(context|graph|id)"')
_OTHER_OWL_SYNTAXES = {
    "functional syntax": re.compile(r"\A\s*(Prefix|Ontology)\s*\("),
    "Manchester syntax": re.compile(r"\A\s*(Prefix|Ontology):\s"),
    "OWL/XML": re.compile(r"\A\s*(<[?!][^>]*>\s*)*<(\w+:)?Ontology\s"),
}
_SNIFF_LENGTH = 20_000
_BUFFER = 1 << 24
"""The length of pyoxigraph's buffer, which must hold every text as a whole."""
_CONCEPT_TYPES = {
    *map(ox.NamedNode, (vocabulary.CONCEPT, vocabulary.OWL_CLASS, vocabulary.RDFS_CLASS))
}
_RELATIONS = {vocabulary.BROADER, vocabulary.NARROWER, vocabulary.SUBCLASS_OF}

_TAG = r"([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)"
_IN_TURTLE = re.compile(rf"""((?<!\\)"@){_TAG}(?![\w-])""")
_TAG_PLACES = {
    **dict.fromkeys((TURTLE, N_TRIPLES, TRIG, N_QUADS), _IN_TURTLE),
    RDF_XML: re.compile(rf"""(<[^<>]*\sxml:lang\s*=\s*["']){_TAG}(?=["'])"""),
    JSON_LD: re.compile(rf"""("@?language"\s*:\s*"|"(?=[\w-]+"\s*:)){_TAG}(?=")"""),
}
"""Patterns with the characters before a language tag, which no text contains unescaped."""


def detect_syntax(source: TextFile) -> ox.RdfFormat | None:
    """Return the syntax of a file from its content and suffix, or None if it is not RDF."""
    start = source.text[:_SNIFF_LENGTH].lstrip()
    if start.startswith(("{", "[")) and _JSON_LD_KEY.search(start):
        return JSON_LD
    if (start.startswith(_XML_PROLOGS) and _XML_START.search(start)) or _XML_START.match(start):
        return RDF_XML
    by_suffix = SYNTAXES.get(source.suffix)
    if by_suffix == RDF_XML and _TURTLE_START.match(start):
        return TURTLE  # Protégé saves Turtle in .owl files.
    if by_suffix is not None or start.startswith(("{", "[")):
        return by_suffix
    if _TURTLE_START.match(start):
        return TURTLE
    return N_TRIPLES if _TRIPLE_START.match(start) else None


class Statements:
    """The statements of a file; `prefixes` is complete after the last statement.

    Of TriG and N-Quads, only the statements of one `graph` are read. Relative IRIs of a file
    without a base get the `base`.
    """

    def __init__(self, source: TextFile) -> None:
        self.source = source
        self.syntax = detect_syntax(source) or TURTLE
        self.prefixes: dict[str, str] = {}
        has_base = DEFAULT_BASE in source.text or self.syntax == JSON_LD
        self.base = None if has_base else DEFAULT_BASE
        self.graph: ox.NamedNode | ox.BlankNode | ox.DefaultGraph | None = None
        self.others = 0

    def __iter__(self) -> Iterator[ox.Quad]:
        """Yield the statements, or raise a FormatError for a syntax error."""
        return self._chosen() if self.syntax in (TRIG, N_QUADS) else self._parsed()

    def notes(self) -> Iterator[Note]:
        """Yield notes about the graph that is read, and about the others."""
        if isinstance(self.graph, ox.NamedNode):
            yield Note(1, f"the default graph has no concept; the graph {self.graph} is read")
        if self.others:
            others = pluralize(self.others, "statement")
            yield Note(1, f"only one graph is read; ignored in the others: {others}")

    def _chosen(self) -> Iterator[ox.Quad]:
        """Yield the statements of the default graph, or else of the only one with concepts."""
        quads = list(self._parsed())
        default = ox.DefaultGraph()
        graphs = dict.fromkeys(
            quad.graph_name
            for quad in quads
            if quad.predicate.value in _RELATIONS or quad.object in _CONCEPT_TYPES
        )
        if len(graphs) > 1 and default not in graphs:
            named = ", ".join(map(str, [*graphs][:3])) + (", …" if len(graphs) > 3 else "")
            message = f"the concepts are in {len(graphs)} named graphs ({named})"
            raise FormatError(self.source.path, message, fix="write one of them to its own file")
        self.graph = default if default in graphs or not graphs else next(iter(graphs))
        chosen = [quad for quad in quads if not graphs or quad.graph_name == self.graph]
        self.others = len(quads) - len(chosen)
        yield from chosen

    def _parsed(self) -> Iterator[ox.Quad]:
        if self.syntax == RDF_XML:
            _refuse_other_owl_syntaxes(self.source)
            self.source.parsed(rdfxml.scan_elements)
        elif self.syntax == JSON_LD:
            jsonld.refuse_deep_nesting(self.source)
        try:
            parser = ox.parse(self.source.text, format=self.syntax, base_iri=self.base)
            yield from parser
        except SyntaxError as error:
            raise _syntax_error(self.source.path, error) from None
        except ValueError as error:
            raise FormatError(self.source.path, f"not well-formed: {error}") from None
        except MemoryError as error:
            if "buffer" not in str(error):
                raise
            message = f"a text has more than {_BUFFER:,} bytes"
            raise FormatError(
                self.source.path, message, fix="shorten it", line=self._long_text_line()
            ) from None
        self.prefixes = dict(parser.prefixes)

    def _long_text_line(self) -> int:
        """Return the line at which the parser's buffer starts when it is full."""
        content = self.source.text.encode()
        stream = BytesIO(content)
        with suppress(MemoryError):
            for _ in ox.parse(stream, format=self.syntax):
                pass
        return content.count(b"\n", 0, max(stream.tell() - _BUFFER, 0)) + 1


def tag_spellings(source: TextFile) -> dict[str, str]:
    """Return the most frequent spelling of each language tag in a file, such as `en-GB`."""
    places = _TAG_PLACES[detect_syntax(source) or TURTLE]
    counts = Counter(match[2] for match in places.finditer(source.text))
    return {tag.lower(): tag for tag in sorted(counts, key=lambda tag: counts[tag])}


def respell_tags(text: str, spellings: Mapping[str, str], syntax: ox.RdfFormat) -> str:
    """Return serialized RDF with these spellings of its language tags."""
    if all(lower == tag for lower, tag in spellings.items()):
        return text
    return _TAG_PLACES[syntax].sub(lambda match: match[1] + spellings.get(match[2], match[2]), text)


def _refuse_other_owl_syntaxes(source: TextFile) -> None:
    """Refuse OWL syntaxes that are not RDF."""
    for name, pattern in _OTHER_OWL_SYNTAXES.items():
        if pattern.search(source.text[:_SNIFF_LENGTH]):
            message = f"this is OWL in {name}, which is not RDF"
            fix = "save it as RDF/XML or Turtle (for example: robot convert -i a.owl -o a.ttl)"
            raise FormatError(source.path, message, fix=fix)


def _syntax_error(path: Path, error: SyntaxError) -> FormatError:
    problem = f"not well-formed: {error.msg}"
    fix = ""
    if "LoadDocumentCallback" in str(error.msg):
        problem = "the @context is on the network, and taxoexpan never fetches anything"
        fix = "copy the context into the file"
    if "No scheme found" in str(error.msg):
        problem = str(error.msg)
        fix = "a relative IRI needs an @base (or xml:base) in the file"
    return FormatError(path, problem, fix=fix, line=error.lineno)
