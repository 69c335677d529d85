"""The lines on which an RDF file describes resources.

pyoxigraph knows what a file means, but not where. This search looks for the subject as most files
write it, and finds nothing where a file is written in another way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from urllib.parse import urljoin
from xml.parsers import expat

from taxoexpan.formats.json.document import JsonDocument
from taxoexpan.formats.json.parser import Object, objects_in, parse
from taxoexpan.formats.rdf.jsonld import Context
from taxoexpan.formats.rdf.statements import JSON_LD, RDF_XML, detect_syntax
from taxoexpan.formats.text_file import TextFile

_PREFIX = re.compile(r"^\s*@?prefix\s+([^\s:]*):\s*<([^>]*)>", re.IGNORECASE | re.MULTILINE)
_BASE = re.compile(r"^\s*@?base\s+<([^>]*)>", re.IGNORECASE | re.MULTILINE)
_SUBJECT = re.compile(
    r"""^([ \t]*)(<[^<>"\s]*>|[^\s<>"'#;,\[\](){}@]*:[^\s<>"'#;,\[\](){}]*)(?=\s*$|\s+[^\s,;.])"""
)
"""A term at the start of a line that is followed by a predicate, and not by a comma or a dot."""


def subject_lines(source: TextFile, iris: Collection[str]) -> dict[str, int]:
    """Return the line on which each of these resources is described, as far as it is found."""
    syntax = detect_syntax(source)
    if syntax not in (JSON_LD, RDF_XML):
        return _turtle_lines(source, set(iris))
    subjects: Iterable[tuple[str, int]] = (
        _json_subjects(source) if syntax == JSON_LD else _xml_subjects(source)
    )
    wanted, found = set(iris), dict[str, int]()
    for iri, line in subjects:
        if iri in wanted:
            found.setdefault(iri, line)
    return found


def _turtle_lines(source: TextFile, iris: set[str]) -> dict[str, int]:
    """Search the starts of lines; a line without an indent is more likely to be a subject."""
    terms = _turtle_terms(source, iris)
    found, indented = dict[str, int](), dict[str, int]()
    for number, line in enumerate(source.lines, start=1):
        subject = _SUBJECT.match(line)
        if subject and (iri := terms.get(subject[2])):
            (indented if subject[1] else found).setdefault(iri, number)
    return indented | found


def _turtle_terms(source: TextFile, iris: set[str]) -> dict[str, str]:
    """Return the IRI of every way to write one of the resources."""
    prefixes = _PREFIX.findall(source.text)
    bases = _BASE.findall(source.text)
    terms = {f"<{iri}>": iri for iri in iris}
    for iri in iris:
        for prefix, namespace in prefixes:
            namespace = urljoin(bases[0], namespace) if bases else namespace
            if namespace and iri.startswith(namespace):
                terms[f"{prefix}:{iri.removeprefix(namespace)}"] = iri
        for base in bases:
            if iri.startswith(base):
                terms[f"<{iri.removeprefix(base)}>"] = iri
    return terms


def _xml_subjects(source: TextFile) -> list[tuple[str, int]]:
    """Return the resources that elements are about, relative to the base of the root."""
    parser, found, bases = expat.ParserCreate(), list[tuple[str, int]](), list[str]()

    def start(_: str, attributes: dict[str, str]) -> None:
        if not bases:
            bases.append(attributes.get("xml:base", ""))
        for name, value in attributes.items():
            if name.endswith((":about", ":ID")):
                iri = f"#{value}" if name.endswith(":ID") else value
                found.append((urljoin(bases[0], iri), parser.CurrentLineNumber))

    parser.StartElementHandler = start
    parser.Parse(source.text, True)
    return found


def _json_subjects(source: TextFile) -> Iterator[tuple[str, int]]:
    """Yield the objects that say more about a resource than its IRI."""
    value = source.parsed(parse)
    context = Context(value.get("@context") if isinstance(value, Object) else None)
    document = JsonDocument(source, value)
    for node, _ in objects_in(value):
        for key, id in node.items():
            if len(node) > 1 and isinstance(id, str) and context.expand(key) == "@id":
                yield context.expand(id) if ":" in id else id, document.line(node, key)
