"""RDF/XML: checks before parsing, and the insertion of elements."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.rdf.vocabulary import (
    CONCEPT,
    OWL_CLASS,
    RDF,
    RDFS_CLASS,
    STRING,
    TYPE,
    USUAL_PREFIXES,
    by_subject,
)
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy.ids import numbered

_MAX_DEPTH = 256
"""The time of the parser grows with the square of the depth; no vocabulary is that deep."""
_MAX_ENTITY_LENGTH = 1000
_MAX_GROWTH = 10
"""How many times its size a file may have after its entities are expanded."""

_ENCODING = re.compile(r"""<\?xml[^>]*encoding\s*=\s*["']([\w.-]+)["']""")
_ENTITY = re.compile(r'<!ENTITY\s*+(?:%\s*+)?([^ \t\n\f\r]++)\s++"([^"]*+)"')
_AMPERSAND = re.compile(r"&#(?:0*38|[xX]0*26);")
_REFERENCE = re.compile(r"&([^&;\s]+);")
_FINAL_NAME = re.compile(r"[^\W\d][\w.-]*$")
_FORBIDDEN = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENT_TYPES = (CONCEPT, OWL_CLASS, RDFS_CLASS)
"""Types that are written as the name of the element."""
_DEFAULT_INDENT = "  "


@dataclass
class RootElement:
    """The root element: its name, its attributes, and the byte at which its end tag begins.

    `indents` has the white space before the first element at each depth, if it begins a line.
    """

    name: str = ""
    end: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    indents: dict[int, str | None] = field(default_factory=dict)


def scan_elements(source: TextFile) -> RootElement:
    """Find the root element; refuse deep nesting, and growing or external entities."""
    encoding = _ENCODING.match(source.text)
    if encoding and encoding[1].lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
        message = f"the file declares the encoding {encoding[1]}; save it as UTF-8 and declare that"
        raise FormatError(source.path, message, 1)
    _refuse_growing_entities(source)
    parser = expat.ParserCreate()
    root, depth = RootElement(), 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth == 1:
            root.name, root.attributes = name, attributes
        if depth not in root.indents:
            line = source.lines[parser.CurrentLineNumber - 1]
            before = line[: parser.CurrentColumnNumber]
            root.indents[depth] = None if before.strip() else before
        if depth > _MAX_DEPTH:
            raise refused(f"elements are nested more than {_MAX_DEPTH} levels deep; flatten them")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        if depth == 0:
            root.end = parser.CurrentByteIndex

    def entity(name: str, parameter: bool, value: str | None, *_: object) -> None:
        if parameter or value is None:
            message = f"the entity {name} is external, and taxoexpan never fetches anything"
            raise refused(f"{message}; write it out")

    def refused(message: str) -> FormatError:
        return FormatError(source.path, message, parser.CurrentLineNumber)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(source.text, True)
    except expat.ExpatError as error:
        message = f"not well-formed: {expat.ErrorString(error.code)}"
        raise FormatError(source.path, message, error.lineno) from None
    return root


def _refuse_growing_entities(source: TextFile) -> None:
    """Refuse entities that expand to much more text.

    Searches the text as the RDF parser does, for which entities in comments count too.
    """
    lengths = dict.fromkeys(("amp", "lt", "gt", "quot", "apos"), 1)
    declared = list(_ENTITY.finditer(source.text))
    uses = Counter(_REFERENCE.findall(source.text)) if declared else Counter[str]()
    growth = 0
    for match in declared:
        name, value = match[1], _AMPERSAND.sub("&", match[2])
        inner = [other for other in _REFERENCE.findall(value) if not other.startswith("#")]
        length = len(value) + sum(lengths.get(other, _MAX_ENTITY_LENGTH) for other in inner)
        growth += length * uses[name]
        is_large = length > _MAX_ENTITY_LENGTH or growth > _MAX_GROWTH * len(source.text)
        if is_large or name in lengths:
            message = f"the entity {name} makes the file too large, is declared twice, or contains"
            fix = "an entity that is not declared before it; write it out"
            raise FormatError(source.path, f"{message} {fix}", source.line_at(match.start()))
        lengths[name] = length


def has_forbidden(node: object) -> bool:
    """Return whether a literal has a character that XML cannot contain."""
    return isinstance(node, ox.Literal) and bool(_FORBIDDEN.search(node.value))


def without_forbidden(triple: ox.Triple) -> ox.Triple:
    """Return the triple without characters that XML cannot contain."""
    literal = triple.object
    if not isinstance(literal, ox.Literal) or not has_forbidden(literal):
        return triple
    text = _FORBIDDEN.sub("", literal.value)
    cleaned = (
        ox.Literal(text, language=literal.language)
        if literal.language
        else ox.Literal(text, datatype=literal.datatype)
    )
    return ox.Triple(triple.subject, triple.predicate, cleaned)


def refuse_predicates_without_name(source: TextFile, triples: Iterable[ox.Triple]) -> None:
    """Refuse predicates that cannot be elements, because their IRI does not end in an XML name."""
    for iri in {triple.predicate.value for triple in triples}:
        if not _FINAL_NAME.search(iri):
            message = f"RDF/XML cannot express the predicate {iri!r}"
            raise FormatError(source.path, f"{message}; convert to .ttl, .nt or .jsonld instead")


def insert_elements(source: TextFile, triples: list[ox.Triple]) -> Insertion:
    """Insert new elements before the end tag of the root."""
    root = source.parsed(scan_elements)
    before = source.text.encode("utf-8")[: root.end].decode("utf-8")
    if not source.text.startswith(f"</{root.name}", len(before)) or "RDF" not in root.name:
        message = "the root is not an rdf:RDF element with an end tag; add one around the content"
        raise FormatError(source.path, message)
    refuse_predicates_without_name(source, triples)
    if forbidden := next((t.object for t in triples if has_forbidden(t.object)), None):
        message = f"{str(forbidden)[:100]} has a character that XML cannot contain; remove it"
        raise FormatError(source.path, message)
    writer = _ElementWriter(root)
    lines = [line for group in by_subject(triples) for line in writer.element(group)]
    text = "".join(line + source.newline for line in lines)
    encoding = _ENCODING.match(source.text)
    if encoding and "ascii" in encoding[1].lower():
        text = text.encode("ascii", "xmlcharrefreplace").decode("ascii")
    indent = before[len(before.rstrip(" \t")) :]
    if before.removesuffix(indent).endswith("\n"):
        return Insertion(len(before) - len(indent), text)
    return Insertion(len(before), source.newline + text)


class _ElementWriter:
    """Formats elements with the prefixes and the indentation of the file."""

    def __init__(self, root: RootElement) -> None:
        declared = [
            (iri, name.removeprefix("xmlns:"))
            for name, iri in root.attributes.items()
            if name.startswith("xmlns:")
        ]
        # The first of several prefixes counts; the default namespace only if there is no prefix.
        self.prefixes = {root.attributes.get("xmlns", ""): "", **dict(reversed(declared))}
        self.has_language = "xml:lang" in root.attributes
        outer, inner = root.indents.get(2), root.indents.get(3)
        self.indent = _DEFAULT_INDENT if outer is None else outer
        is_nested = inner is not None and inner.startswith(self.indent)
        self.unit = (inner or "").removeprefix(self.indent) if is_nested else _DEFAULT_INDENT

    def element(self, triples: list[ox.Triple]) -> list[str]:
        """Format the triples of one subject as a skos:Concept or an rdf:Description element."""
        typed = next(filter(_element_type, triples), None)
        missing: dict[str, str] = {}
        # An attribute needs a prefix, so the default namespace is not enough.
        rdf = self.prefixes.get(RDF) or self._declare(RDF, missing)
        name = self._name(_element_type(typed) if typed else f"{RDF}Description", missing)
        inner = [self._property(triple, rdf, missing) for triple in triples if triple is not typed]
        declarations = "".join(f" xmlns:{name}={quoteattr(iri)}" for name, iri in missing.items())
        subject = triples[0].subject
        assert isinstance(subject, ox.NamedNode)
        return [
            f"{self.indent}<{name} {rdf}:about={quoteattr(subject.value)}{declarations}>",
            *(self.indent + self.unit + line for line in inner),
            f"{self.indent}</{name}>",
        ]

    def _property(self, triple: ox.Triple, rdf: str, missing: dict[str, str]) -> str:
        name, value = self._name(triple.predicate.value, missing), triple.object
        if isinstance(value, ox.NamedNode):
            return f"<{name} {rdf}:resource={quoteattr(value.value)}/>"
        assert isinstance(value, ox.Literal)
        attribute = ""
        if value.language:
            attribute = f" xml:lang={quoteattr(value.language)}"
        # Without a datatype, the language of the root element would apply.
        elif value.datatype.value != STRING or self.has_language:
            attribute = f" {rdf}:datatype={quoteattr(value.datatype.value)}"
        # A plain "\r" would be read back as a line feed.
        text = escape(value.value, {"\r": "&#13;"})
        return f"<{name}{attribute}>{text}</{name}>"

    def _name(self, iri: str, missing: dict[str, str]) -> str:
        """Return the name of an element; a namespace without a prefix is added to `missing`."""
        match = _FINAL_NAME.search(iri)
        assert match is not None
        namespace = iri[: match.start()]
        declared = {**{iri: name for name, iri in missing.items()}, **self.prefixes}
        prefix = declared.get(namespace)
        prefix = self._declare(namespace, missing) if prefix is None else prefix
        return f"{prefix}:{match[0]}" if prefix else match[0]

    def _declare(self, namespace: str, missing: dict[str, str]) -> str:
        """Choose an unused prefix for a namespace."""
        usual = (name for name, other in USUAL_PREFIXES.items() if other == namespace)
        used = {*self.prefixes.values(), *missing}
        prefix = next(name for name in numbered(next(usual, "ns")) if name not in used)
        missing[prefix] = namespace
        return prefix


def _element_type(triple: ox.Triple) -> str:
    """Return the type of a concept, or "" for another statement."""
    if triple.predicate.value != TYPE or not isinstance(triple.object, ox.NamedNode):
        return ""
    return triple.object.value if triple.object.value in _ELEMENT_TYPES else ""
