"""RDF/XML: checks before parsing, and the insertion of elements."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.rdf.vocabulary import RDF, STRING, by_subject
from taxoexpan.formats.text_file import Insertion, TextFile

_MAX_DEPTH = 256
"""The time of the parser grows with the square of the depth; no vocabulary is that deep."""
_MAX_ATTRIBUTES = 1000
"""Attributes of an element and of those around it: the time grows with the square of the number."""
_MAX_ENTITY_LENGTH = 1000
_MAX_GROWTH = 10
"""How many times its size a file may have after its entities are expanded."""

_ENCODING = re.compile(r"""<\?xml[^>]*encoding\s*=\s*["']([\w.-]+)["']""")
_ENTITY = re.compile(r'<!ENTITY\s*+(?:%\s*+)?([^ \t\n\f\r]++)\s++"([^"]*+)"')
_AMPERSAND = re.compile(r"&#(?:0*38|[xX]0*26);")
_REFERENCE = re.compile(r"&([^&;\s]+);")
_FINAL_NAME = re.compile(r"[^\W\d][\w.-]*$")
_FORBIDDEN = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENT_START = re.compile(r"^(?=\t<[^/])", re.MULTILINE)
_PLAIN_TEXT = re.compile(r"^(\t\t<[^\s/>]+)>", re.MULTILINE)
_TABS = re.compile(r"^\t+(?=<)", re.MULTILINE)
"""The indentation of an element; in a text, there is no unescaped `<`."""
_DEFAULT_INDENT = "  "


@dataclass
class RootElement:
    """The root element; `end` is the byte at which its end tag begins.

    `indents` has the white space before the first element at each depth, or None after other text.
    """

    name: str = ""
    end: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    indents: dict[int, str | None] = field(default_factory=dict)


def scan_elements(source: TextFile) -> RootElement:
    """Find the root element; refuse deep nesting, too many attributes, and growing entities."""
    encoding = _ENCODING.match(source.text)
    if encoding and encoding[1].lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
        message = f"the file declares the encoding {encoding[1]}"
        raise FormatError(source.path, message, fix="save it as UTF-8 and declare that", line=1)
    _refuse_growing_entities(source)
    parser = expat.ParserCreate()
    root = RootElement()
    counts = [0]

    def start(name: str, attributes: dict[str, str]) -> None:
        depth = len(counts)
        counts.append(counts[-1] + len(attributes))
        if depth == 1:
            root.name = name
            root.attributes = attributes
        if depth not in root.indents:
            # A lone CR ends a line for the parser only, so its last lines may not exist here.
            line = "".join(source.lines[parser.CurrentLineNumber - 1 :][:1]) or "?"
            before = line[: parser.CurrentColumnNumber]
            root.indents[depth] = None if before.strip() else before
        if depth > _MAX_DEPTH:
            raise refused(
                f"elements are nested more than {_MAX_DEPTH} levels deep", fix="flatten them"
            )
        if counts[-1] > _MAX_ATTRIBUTES:
            message = f"{name} has more than {_MAX_ATTRIBUTES:,} attributes or namespaces"
            raise refused(message, fix="remove those that are not used")

    def end(name: str) -> None:
        counts.pop()
        if len(counts) == 1:
            root.end = parser.CurrentByteIndex

    def entity(name: str, parameter: bool, value: str | None, *_: object) -> None:
        if parameter or value is None:
            message = f"the entity {name} is external, and taxoexpan never fetches anything"
            raise refused(message, fix="write it out")

    def refused(problem: str, fix: str) -> FormatError:
        return FormatError(source.path, problem, fix=fix, line=parser.CurrentLineNumber)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(source.text, True)
    except expat.ExpatError as error:
        message = f"not well-formed: {expat.ErrorString(error.code)}"
        raise FormatError(source.path, message, line=error.lineno) from None
    return root


def _refuse_growing_entities(source: TextFile) -> None:
    """Refuse entities that grow too much; like the RDF parser, include entities in comments."""
    lengths = dict.fromkeys(("amp", "lt", "gt", "quot", "apos"), 1)
    declared = list(_ENTITY.finditer(source.text))
    uses = Counter(_REFERENCE.findall(source.text)) if declared else Counter[str]()
    growth = 0
    for match in declared:
        name = match[1]
        value = _AMPERSAND.sub("&", match[2])
        inner = [other for other in _REFERENCE.findall(value) if not other.startswith("#")]
        length = len(value) + sum(lengths.get(other, _MAX_ENTITY_LENGTH) for other in inner)
        growth += length * uses[name]
        is_large = length > _MAX_ENTITY_LENGTH or growth > _MAX_GROWTH * len(source.text)
        if is_large or name in lengths:
            message = f"the entity {name} makes the file too large, is declared twice, or contains"
            message += " an entity that is not declared before it"
            line = source.line_at(match.start())
            raise FormatError(source.path, message, fix="write it out", line=line)
        lengths[name] = length


def has_forbidden(node: object) -> bool:
    """Return whether a literal has a character that XML cannot contain."""
    return isinstance(node, ox.Literal) and bool(_FORBIDDEN.search(node.value))


def without_forbidden(triple: ox.Triple) -> ox.Triple:
    """Return the triple without characters that XML cannot contain."""
    literal = triple.object
    if not isinstance(literal, ox.Literal) or not has_forbidden(literal):
        return triple
    kind = None if literal.language else literal.datatype
    text = _FORBIDDEN.sub("", literal.value)
    cleaned = ox.Literal(text, language=literal.language, datatype=kind)
    return ox.Triple(triple.subject, triple.predicate, cleaned)


def refuse_predicates_without_name(source: TextFile, triples: Iterable[ox.Triple]) -> None:
    """Refuse predicates whose IRI does not end in an XML name, because they cannot be elements."""
    for iri in {triple.predicate.value for triple in triples}:
        if not _FINAL_NAME.search(iri):
            message = f"RDF/XML cannot express the predicate {iri!r}"
            raise FormatError(source.path, message, fix="convert to .ttl, .nt or .jsonld instead")


def insert_elements(
    source: TextFile, triples: list[ox.Triple], usual_prefixes: Mapping[str, str]
) -> Insertion:
    """Insert elements before the root's end tag; they declare the prefixes that the root lacks."""
    root = source.parsed(scan_elements)
    before = source.text.encode("utf-8")[: root.end].decode("utf-8")
    if not source.text.startswith(f"</{root.name}", len(before)) or "RDF" not in root.name:
        message = "the root is not an rdf:RDF element with an end tag"
        raise FormatError(source.path, message, fix="add one around the content")
    if forbidden := next((t.object for t in triples if has_forbidden(t.object)), None):
        message = f"{str(forbidden)[:100]} has a character that XML cannot contain"
        raise FormatError(source.path, message, fix="remove it")
    named = {name.partition(":")[::2]: iri for name, iri in root.attributes.items()}
    own = {prefix: iri for (name, prefix), iri in named.items() if name == "xmlns"}
    usual = {name: iri for name, iri in usual_prefixes.items() if iri not in own.values()}
    elements = _elements(triples, {**own, **usual})
    missing = {name: iri for name, iri in {**usual, "rdf": RDF}.items() if own.get(name) != iri}
    outer = root.indents.get(2)
    inner = root.indents.get(3)
    indent = _DEFAULT_INDENT if outer is None else outer
    is_nested = inner is not None and inner.startswith(indent)
    unit = (inner or "").removeprefix(indent) if is_nested else _DEFAULT_INDENT
    text = "".join(_declared(each, missing, "xml:lang" in root.attributes) for each in elements)
    text = _TABS.sub(lambda tabs: indent + unit * (len(tabs[0]) - 1), text)
    text = text.replace("\r", "&#13;").replace("\n", source.newline)
    encoding = _ENCODING.match(source.text)
    if encoding and "ascii" in encoding[1].lower():
        text = text.encode("ascii", "xmlcharrefreplace").decode("ascii")
    space = before[len(before.rstrip(" \t")) :]
    if before.removesuffix(space).endswith("\n"):
        return Insertion(len(before) - len(space), text)
    return Insertion(len(before), source.newline + text)


def _elements(triples: list[ox.Triple], prefixes: Mapping[str, str]) -> list[str]:
    """Return one element per subject, in the layout of pyoxigraph."""
    grouped = [triple for group in by_subject(triples) for triple in group]
    document = ox.serialize(grouped, format=ox.RdfFormat.RDF_XML, prefixes=dict(prefixes)) or b""
    # Quotes need no escapes outside attributes, and IRIs have none.
    text = document.decode("utf-8").replace("&quot;", '"').replace("&apos;", "'")
    return _ELEMENT_START.split(text[: text.rindex("</rdf:RDF>")])[1:]


def _declared(element: str, missing: Mapping[str, str], has_language: bool) -> str:
    """Return an element with the declarations it needs, and without the language of the root."""
    if has_language:
        element = _PLAIN_TEXT.sub(f'\\1 rdf:datatype="{STRING}">', element)
    used = {name: iri for name, iri in missing.items() if f"{name}:" in element}
    attributes = "".join(f" xmlns:{name}={quoteattr(iri)}" for name, iri in used.items())
    return element.replace(">", f"{attributes}>", 1)
