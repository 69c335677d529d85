"""RDF/XML: what must be known before it is parsed, and how statements are put into it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.rdf.vocabulary import CONCEPT, PREFIXES, RDF, STRING, TYPE, Triple
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy.ids import numbered

DEEPEST = 256
"""The parser's time grows with the square of the nesting, and no vocabulary nests so."""

LONGEST_ENTITY = 1000
MOST_GROWTH = 10
"""How many times its size a file may become when its entities are put in."""

_ENCODING = re.compile(r"""<\?xml[^>]*encoding\s*=\s*["']([\w.-]+)["']""")
_ENTITY = re.compile(r'<!ENTITY\s*+(?:%\s*+)?([^ \t\n\f\r]++)\s++"([^"]*+)"')
_AMPERSAND = re.compile(r"&#(?:0*38|[xX]0*26);")
_REFERENCE = re.compile(r"&([^&;\s]+);")
_PREDEFINED = {"amp": 1, "lt": 1, "gt": 1, "quot": 1, "apos": 1}
_NAME_AT_END = re.compile(r"[^\W\d][\w.-]*$")
_FORBIDDEN = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_DEPTHS = 3
_IS_CONCEPT = (TYPE, ox.NamedNode(CONCEPT))


@dataclass
class Outline:
    """The root element: its name, the byte where its end tag begins, and what it declares.

    `starts` are the bytes where the first elements in it, and in those, begin.
    """

    name: str = ""
    end: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)


def outline(source: TextFile) -> Outline:
    """Walk through the elements, and refuse what is too deep, grows, or is kept elsewhere."""
    encoding = _ENCODING.match(source.text)
    if encoding and encoding[1].lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
        message = f"the file says that it is {encoding[1]}; save it as UTF-8, and let it say so"
        raise FormatError(source.path, message, 1)
    _refuse_growing(source)
    parser = expat.ParserCreate()
    found, depth = Outline(), 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth == 1:
            found.name, found.attributes = name, attributes
        elif depth <= _DEPTHS:
            found.starts.setdefault(depth, parser.CurrentByteIndex)
        if depth > DEEPEST:
            raise refused(f"elements nested more than {DEEPEST} levels deep")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        if depth == 0:
            found.end = parser.CurrentByteIndex

    def entity(name: str, parameter: bool, value: str | None, *_: object) -> None:
        if parameter or value is None:
            raise refused(f"the entity {name} is kept elsewhere, and nothing is ever fetched")

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


def refuse_unnameable(source: TextFile, predicates: Iterable[str]) -> None:
    """In RDF/XML a predicate is an element, so its IRI must end in an XML name."""
    for iri in set(predicates):
        if not _NAME_AT_END.search(iri):
            message = f"RDF/XML has no way to write the predicate {iri!r}"
            raise FormatError(source.path, f"{message}; convert to .ttl, .nt or .jsonld instead")


def insertion(source: TextFile, triples: list[Triple]) -> Insertion:
    """New elements before the end of the root."""
    known = outline(source)
    before = source.text.encode("utf-8")[: known.end].decode("utf-8")
    if not source.text.startswith(f"</{known.name}", len(before)) or "RDF" not in known.name:
        message = "the root is not an rdf:RDF element with an end tag; put one around what is there"
        raise FormatError(source.path, message)
    lines = _Elements(source, known).lines(triples)
    text = "".join(line + source.newline for line in lines)
    margin = before[len(before.rstrip(" \t")) :]
    if before.removesuffix(margin).endswith("\n"):
        return Insertion(len(before) - len(margin), text)
    return Insertion(len(before), source.newline + text)


def _refuse_growing(source: TextFile) -> None:
    """Refuse entities that make much of little.

    They are sought in the text, as the parser of RDF does it: it takes the last of two that have
    one name, and those in comments too.
    """
    sizes = dict(_PREDEFINED)
    uses: Counter[str] | None = None
    growth = 0
    for found in _ENTITY.finditer(source.text):
        name, value = found[1], _AMPERSAND.sub("&", found[2])

        def refused(message: str, at: int = found.start(), name: str = name) -> FormatError:
            return FormatError(source.path, f"the entity {name} {message}", source.line_at(at))

        references = _REFERENCE.findall(value)
        inner = [other for other in references if not other.startswith("#")]
        if name in sizes and name not in _PREDEFINED:
            raise refused("is declared twice; keep one")
        if unknown := next((other for other in inner if other not in sizes), None):
            raise refused(f"holds {unknown}, which is not declared before it; write it out")
        signs = len(_REFERENCE.sub("", value)) + len(references) - len(inner)
        sizes[name] = signs + sum(sizes[other] for other in inner)
        if sizes[name] > LONGEST_ENTITY:
            raise refused("is long; write it out")
        uses = Counter(_REFERENCE.findall(source.text)) if uses is None else uses
        growth += sizes[name] * uses[name]
        if growth > MOST_GROWTH * len(source.text):
            raise refused("makes the file too large; write it out")


class _Elements:
    """New elements in the way of those that are there: their prefixes and their margins."""

    def __init__(self, source: TextFile, known: Outline) -> None:
        self.source, self.attributes = source, known.attributes
        declared = [
            (iri, name.removeprefix("xmlns:"))
            for name, iri in known.attributes.items()
            if name.startswith("xmlns:")
        ]
        # Of several prefixes the first is taken, and the default namespace where there is none.
        self.bound = {known.attributes.get("xmlns", ""): "", **dict(reversed(declared))}
        # An attribute needs a prefix, which the default namespace has not.
        self.rdf = self.bound.get(RDF) or self._free("rdf")
        content = source.text.encode("utf-8")
        margins = [_margin(content, known.starts.get(depth)) for depth in range(2, _DEPTHS + 1)]
        self.margin = "  " if margins[0] is None else margins[0]
        inner = margins[1]
        follows = inner is not None and inner.startswith(self.margin)
        self.unit = (inner or "").removeprefix(self.margin) if follows else "  "

    def lines(self, triples: Iterable[Triple]) -> list[str]:
        """One element for each subject."""
        by_subject: dict[str, list[Triple]] = {}
        for triple in dict.fromkeys(triples):
            by_subject.setdefault(triple.subject, []).append(triple)
        lines = [line for about in by_subject.values() for line in self._element(about)]
        encoding = _ENCODING.match(self.source.text)
        if encoding and "ascii" in encoding[1].lower():
            return [line.encode("ascii", "xmlcharrefreplace").decode("ascii") for line in lines]
        return lines

    def _element(self, triples: list[Triple]) -> list[str]:
        """What is said of one subject; a concept is named as one, anything else described."""
        is_concept = any((t.predicate, t.object) == _IS_CONCEPT for t in triples)
        kind = CONCEPT if is_concept else f"{RDF}Description"
        said = [t for t in triples if not is_concept or (t.predicate, t.object) != _IS_CONCEPT]
        missing = {} if self.bound.get(RDF) else {self.rdf: RDF}
        name = self._name(kind, missing)
        inside = [self._property(triple, missing) for triple in said]
        declared = "".join(f" xmlns:{name}={quoteattr(iri)}" for name, iri in missing.items())
        about = f"{self.rdf}:about={quoteattr(triples[0].subject)}"
        return [
            f"{self.margin}<{name} {about}{declared}>",
            *(self.margin + self.unit + line for line in inside),
            f"{self.margin}</{name}>",
        ]

    def _name(self, iri: str, missing: dict[str, str]) -> str:
        """The name of an element; a namespace without a prefix is put to what is missing."""
        found = _NAME_AT_END.search(iri)
        if found is None:
            raise FormatError(self.source.path, f"RDF/XML has no way to write {iri!r}")
        space, local = iri[: found.start()], found[0]
        prefix = self.bound.get(space)
        if prefix is None:
            usual = (name for name, usual in PREFIXES.items() if usual == space)
            named = (name for name, other in missing.items() if other == space)
            prefix = next(named, "") or self._free(next(usual, "ns"), missing)
            missing[prefix] = space
        return f"{prefix}:{local}" if prefix else local

    def _free(self, name: str, missing: Iterable[str] = ()) -> str:
        """A prefix that stands for nothing else."""
        taken = {*self.bound.values(), *missing}
        return next(prefix for prefix in numbered(name) if prefix not in taken)

    def _property(self, triple: Triple, missing: dict[str, str]) -> str:
        name, value = self._name(triple.predicate, missing), triple.object
        if isinstance(value, ox.NamedNode):
            return f"<{name} {self.rdf}:resource={quoteattr(value.value)}/>"
        if _FORBIDDEN.search(value.value):
            message = f"{value.value[:100]!r} has a character that XML cannot hold; take it out"
            raise FormatError(self.source.path, message)
        # A bare "\r" would be read back as a line feed.
        text = escape(value.value, {"\r": "&#13;"})
        return f"<{name}{self._kind(value)}>{text}</{name}>"

    def _kind(self, value: ox.Literal) -> str:
        if value.language:
            return f" xml:lang={quoteattr(value.language)}"
        # Without a type, the language of the root would hold.
        if value.datatype.value == STRING and "xml:lang" not in self.attributes:
            return ""
        return f" {self.rdf}:datatype={quoteattr(value.datatype.value)}"


def _margin(content: bytes, start: int | None) -> str | None:
    """The white space before an element that begins a line."""
    before = b"" if start is None else content[:start]
    margin = before[len(before.rstrip(b" \t")) :]
    return margin.decode() if before.removesuffix(margin).endswith(b"\n") else None
