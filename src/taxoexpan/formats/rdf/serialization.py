"""Writing triples: new files, conversion between syntaxes, and insertion into existing files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.rdf import jsonld, rdfxml
from taxoexpan.formats.rdf.statements import JSON_LD, RDF_XML, TURTLE, Statements, detect_syntax
from taxoexpan.formats.rdf.tag_case import respelled, tag_spellings
from taxoexpan.formats.rdf.vocabulary import (
    PREFIXES,
    TYPE,
    USUAL_PREFIXES,
    by_subject,
    namespace_of,
)
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.phrasing import pluralize

_DEFAULT_INDENT = "    "
_INDENT = re.compile(r"[ \t]+(?=\S)")
_SUBJECT_LINE = re.compile(r"(?!@|#|prefix\b|base\b|[.;,\])])\S", re.I)
_LONG_STRING = re.compile(r"""\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}""")


def serialize(
    triples: Iterable[ox.Triple], syntax: ox.RdfFormat, prefixes: Mapping[str, str]
) -> str:
    """Return the text of a new file with these prefixes."""
    if syntax == RDF_XML:
        triples = map(rdfxml.without_forbidden, triples)
    return _document(triples, syntax, prefixes)


def transcode(source: TextFile, syntax: ox.RdfFormat) -> tuple[str, list[str]]:
    """Return all statements of a file in another syntax, and messages about losses."""
    statements = Statements(source)
    quads = list(statements)
    losses = []
    in_named_graphs = sum(not isinstance(quad.graph_name, ox.DefaultGraph) for quad in quads)
    if in_named_graphs:
        count = pluralize(in_named_graphs, "statement")
        losses.append(f"moved from named graphs to the default graph: {count}")
    triples = list(dict.fromkeys(quad.triple for quad in quads))
    if syntax == RDF_XML:
        rdfxml.refuse_predicates_without_name(source, triples)
        changed = sum(rdfxml.has_forbidden(triple.object) for triple in triples)
        triples = list(map(rdfxml.without_forbidden, triples))
        if changed:
            losses.append(f"without characters that XML forbids: {pluralize(changed, 'text')}")
    if syntax == JSON_LD and any(isinstance(triple.object, ox.Triple) for triple in triples):
        message = "JSON-LD cannot express statements about statements"
        raise FormatError(source.path, f"{message}; convert to .ttl, .nt or .rdf instead")
    # JSON-LD has no empty prefix.
    own = {name: iri for name, iri in statements.prefixes.items() if name or syntax != JSON_LD}
    text = _document(triples, syntax, _with_defaults(own, PREFIXES))
    return respelled(text, source.parsed(tag_spellings), syntax), losses


def insert_triples(
    source: TextFile, prefixes: dict[str, str], triples: list[ox.Triple]
) -> list[Insertion]:
    """Return the insertions that add triples to a file with these prefixes, in its style."""
    if not triples:
        return []
    known, syntax = source.parsed(tag_spellings), detect_syntax(source) or TURTLE
    insertions = _insertions(source, syntax, prefixes, triples)
    return [replace(each, text=respelled(each.text, known, syntax)) for each in insertions]


def _insertions(
    source: TextFile, syntax: ox.RdfFormat, prefixes: dict[str, str], triples: list[ox.Triple]
) -> list[Insertion]:
    if syntax == RDF_XML:
        return [rdfxml.insert_elements(source, triples)]
    if syntax == JSON_LD:
        return jsonld.insert_nodes(source, triples)
    lines = _serialize_lines(triples, syntax, _with_defaults(prefixes, _needed_prefixes(triples)))
    return source.append(_in_file_layout(source, prefixes, lines) if syntax == TURTLE else lines)


def _needed_prefixes(triples: Sequence[ox.Triple]) -> dict[str, str]:
    """Return the usual prefixes of the predicates and types in the triples."""
    iris = {triple.predicate.value for triple in triples}
    types = {triple.object for triple in triples if triple.predicate.value == TYPE}
    iris |= {type.value for type in types if isinstance(type, ox.NamedNode)}
    namespaces = set(map(namespace_of, iris - {TYPE}))
    return {name: iri for name, iri in USUAL_PREFIXES.items() if iri in namespaces}


def _with_defaults(own: dict[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """Return the prefixes of a file, and default prefixes for other namespaces."""
    missing = {name: iri for name, iri in defaults.items() if iri not in own.values()}
    return dict(sorted({**missing, **own}.items()))


def _in_file_layout(source: TextFile, prefixes: dict[str, str], lines: list[str]) -> list[str]:
    """Return Turtle in the layout of the file, without declarations that it already has."""
    declared = {f"@prefix {name}: <{iri}> ." for name, iri in prefixes.items()}
    indent, blank_lines = _detect_layout(source)
    new = [line for line in lines if line not in declared]
    laid_out = _lay_out(new, indent, blank_lines)
    ends_blank = not source.lines or not source.lines[-1].strip()
    return ["", *laid_out] if blank_lines and not ends_blank else laid_out


def _detect_layout(source: TextFile) -> tuple[str, bool]:
    """Return the indentation of a Turtle file, and whether blank lines separate its subjects."""
    lines = _LONG_STRING.sub('""', source.text).split("\n")
    indents = (match[0] for line in lines if (match := _INDENT.match(line)))
    starts = [number for number, line in enumerate(lines) if _SUBJECT_LINE.match(line)][1:]
    separated = sum(
        not lines[number - 1].strip() or lines[number - 1][0] == "#" for number in starts
    )
    return next(indents, _DEFAULT_INDENT), 2 * separated >= len(starts)


def _lay_out(
    lines: Iterable[str], indent: str = _DEFAULT_INDENT, blank_lines: bool = True
) -> list[str]:
    """Return serialized Turtle with this indentation, and blank lines between subjects."""
    laid_out: list[str] = []
    for line in lines:
        if line.startswith("\t"):
            laid_out.append(indent + line[1:])
            continue
        if blank_lines and laid_out and not line.startswith("@prefix"):
            laid_out.append("")
        laid_out.append(line)
    return laid_out


def _document(
    triples: Iterable[ox.Triple], syntax: ox.RdfFormat, prefixes: Mapping[str, str]
) -> str:
    if syntax == JSON_LD:
        return jsonld.write_document(list(triples), prefixes)
    lines = _serialize_lines(triples, syntax, prefixes)
    text = "".join(f"{line}\n" for line in (_lay_out(lines) if syntax == TURTLE else lines))
    # In XML, a plain "\r" would be read back as a line feed.
    return text.replace("\r", "&#13;") if syntax == RDF_XML else text


def _serialize_lines(
    triples: Iterable[ox.Triple], syntax: ox.RdfFormat, prefixes: Mapping[str, str]
) -> list[str]:
    """Serialize triples with pyoxigraph, all triples of a subject together."""
    grouped = [triple for group in by_subject(triples) for triple in group]
    text = ox.serialize(grouped, format=syntax, prefixes=dict(prefixes))
    lines = (text or b"").decode("utf-8").split("\n")
    return lines if lines[-1] else lines[:-1]
