"""Inserting triples into RDF/XML as new elements, in the style of the file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.rdf.rdfxml_checks import ENCODING, SAMPLE_DEPTHS, RootElement, scan_elements
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

_FINAL_NAME = re.compile(r"[^\W\d][\w.-]*$")
_FORBIDDEN = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENT_TYPES = (CONCEPT, OWL_CLASS, RDFS_CLASS)
"""Types that are written as the name of the element."""
_DEFAULT_INDENT = "  "
_IRI_COMMENT = re.compile(r"<!-- [^\s:]+:\S+ -->([ \t]*\r?\n\s*)<[\w.-]+:Class\s")
_ANY_IRI = "{iri}"


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
    lines = _ElementWriter(source, root).lines(triples)
    text = "".join(line + source.newline for line in lines)
    indent = before[len(before.rstrip(" \t")) :]
    if before.removesuffix(indent).endswith("\n"):
        return Insertion(len(before) - len(indent), text)
    return Insertion(len(before), source.newline + text)


class _ElementWriter:
    """Formats elements with the prefixes and the indentation of the file."""

    def __init__(self, source: TextFile, root: RootElement) -> None:
        self.source, self.attributes = source, root.attributes
        declared = [
            (iri, name.removeprefix("xmlns:"))
            for name, iri in root.attributes.items()
            if name.startswith("xmlns:")
        ]
        # The first of several prefixes counts; the default namespace only if there is no prefix.
        self.prefixes = {root.attributes.get("xmlns", ""): "", **dict(reversed(declared))}
        # An attribute needs a prefix, so the default namespace is not enough.
        self.rdf = self.prefixes.get(RDF) or self._unused_prefix("rdf")
        self.comment_lines = _comment_lines(source)
        uses_fragments = f'{self.rdf}:about="#' in source.text
        self.base = root.attributes.get("xml:base", "").partition("#")[0] if uses_fragments else ""
        content = source.text.encode("utf-8")
        outer, inner = (_indent_at(content, root.sample_starts.get(d)) for d in SAMPLE_DEPTHS)
        self.indent = _DEFAULT_INDENT if outer is None else outer
        is_nested = inner is not None and inner.startswith(self.indent)
        self.unit = (inner or "").removeprefix(self.indent) if is_nested else _DEFAULT_INDENT

    def lines(self, triples: Iterable[ox.Triple]) -> list[str]:
        """Return one element per subject."""
        lines = [line for group in by_subject(triples) for line in self._element(group)]
        encoding = ENCODING.match(self.source.text)
        if encoding and "ascii" in encoding[1].lower():
            return [line.encode("ascii", "xmlcharrefreplace").decode("ascii") for line in lines]
        return lines

    def _element(self, triples: list[ox.Triple]) -> list[str]:
        """Format the triples of one subject as a skos:Concept or an rdf:Description element."""
        typed = next(filter(_element_type, triples), None)
        properties = [triple for triple in triples if triple is not typed]
        missing = {} if self.prefixes.get(RDF) else {self.rdf: RDF}
        name = self._name(_element_type(typed) if typed else f"{RDF}Description", missing)
        inner = [self._property(triple, missing) for triple in properties]
        declarations = "".join(f" xmlns:{name}={quoteattr(iri)}" for name, iri in missing.items())
        subject = triples[0].subject
        assert isinstance(subject, ox.NamedNode)
        about = f"{self.rdf}:about={self._reference(subject.value)}"
        comment = self.comment_lines if typed and "--" not in subject.value else []
        return [
            *(line.replace(_ANY_IRI, subject.value) for line in comment),
            f"{self.indent}<{name} {about}{declarations}>",
            *(self.indent + self.unit + line for line in inner),
            f"{self.indent}</{name}>",
        ]

    def _name(self, iri: str, missing: dict[str, str]) -> str:
        """Return the name of an element; a namespace without a prefix is added to `missing`."""
        match = _FINAL_NAME.search(iri)
        if match is None:
            raise FormatError(self.source.path, f"RDF/XML cannot express {iri!r}; rename it")
        namespace, local = iri[: match.start()], match[0]
        prefix = self.prefixes.get(namespace)
        if prefix is None:
            usual = (name for name, other in USUAL_PREFIXES.items() if other == namespace)
            declared = (name for name, other in missing.items() if other == namespace)
            prefix = next(declared, "") or self._unused_prefix(next(usual, "ns"), missing)
            missing[prefix] = namespace
        return f"{prefix}:{local}" if prefix else local

    def _unused_prefix(self, name: str, missing: Iterable[str] = ()) -> str:
        used = {*self.prefixes.values(), *missing}
        return next(prefix for prefix in numbered(name) if prefix not in used)

    def _property(self, triple: ox.Triple, missing: dict[str, str]) -> str:
        name, value = self._name(triple.predicate.value, missing), triple.object
        if isinstance(value, ox.NamedNode):
            return f"<{name} {self.rdf}:resource={self._reference(value.value)}/>"
        assert isinstance(value, ox.Literal)
        if _FORBIDDEN.search(value.value):
            message = f"{value.value[:100]!r} has a character that XML cannot contain; remove it"
            raise FormatError(self.source.path, message)
        # A plain "\r" would be read back as a line feed.
        text = escape(value.value, {"\r": "&#13;"})
        return f"<{name}{self._type_attribute(value)}>{text}</{name}>"

    def _reference(self, iri: str) -> str:
        """Return an IRI as an attribute value, relative to the base if the file writes it so."""
        is_relative = self.base and iri.startswith(f"{self.base}#")
        return quoteattr(iri.removeprefix(self.base) if is_relative else iri)

    def _type_attribute(self, value: ox.Literal) -> str:
        if value.language:
            return f" xml:lang={quoteattr(value.language)}"
        # Without a datatype, the language of the root element would apply.
        if value.datatype.value == STRING and "xml:lang" not in self.attributes:
            return ""
        return f" {self.rdf}:datatype={quoteattr(value.datatype.value)}"


def _comment_lines(source: TextFile) -> list[str]:
    """Return the lines before an element if the file has its IRI in a comment, as the OWL API.

    `_ANY_IRI` stands for the IRI.
    """
    # The first class often has another gap before it, so one in the middle is better.
    middle = len(source.text) // 2
    comment = _IRI_COMMENT.search(source.text, middle) or _IRI_COMMENT.search(source.text)
    if comment is None:
        return []
    before = source.text[: comment.start()]
    gap = before[len(before.rstrip()) :]
    lines = f"{gap}<!-- {_ANY_IRI} -->{comment[1]}".split("\n")
    return [line.removesuffix("\r") for line in lines[1:-1]]


def _element_type(triple: ox.Triple) -> str:
    """Return the type of a concept, or "" for another statement."""
    if triple.predicate.value != TYPE or not isinstance(triple.object, ox.NamedNode):
        return ""
    return triple.object.value if triple.object.value in _ELEMENT_TYPES else ""


def _indent_at(content: bytes, start: int | None) -> str | None:
    """Return the white space before an element that begins a line, or None if it does not."""
    before = b"" if start is None else content[:start]
    indent = before[len(before.rstrip(b" \t")) :]
    return indent.decode() if before.removesuffix(indent).endswith(b"\n") else None
