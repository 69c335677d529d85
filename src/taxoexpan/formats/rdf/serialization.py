"""Serialization of triples to new files, to other syntaxes, and into existing files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.compression import format_suffix
from taxoexpan.formats.format import Target
from taxoexpan.formats.rdf import jsonld, rdfxml, vocabulary
from taxoexpan.formats.rdf.index import GraphIndex
from taxoexpan.formats.rdf.statements import (
    JSON_LD,
    RDF_XML,
    SYNTAXES,
    TRIG,
    TURTLE,
    Statements,
    detect_syntax,
    respell_tags,
    tag_spellings,
)
from taxoexpan.formats.rdf.vocabulary import TYPE, by_subject, namespace_of
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.phrasing import pluralize

_DEFAULT_INDENT = "    "
_INDENT = re.compile(r"^[ \t]+(?=\S)", re.MULTILINE)
_LONG_STRING = re.compile(r"""\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}""")


def write_triples(triples: Iterable[ox.Triple], target: Target, prefixes: Mapping[str, str]) -> str:
    """Return the content of a new file with these prefixes."""
    syntax = _target_syntax(target)
    if syntax == RDF_XML:
        triples = map(rdfxml.without_forbidden, triples)
    tags = [*target.other_tags.values(), target.language]
    text = _document(triples, syntax, prefixes)
    return respell_tags(text, {tag.lower(): tag for tag in tags}, syntax)


def transcode(source: TextFile, target: Target) -> tuple[str, list[str]]:
    """Return all statements of a file in another syntax, and messages about losses."""
    syntax = _target_syntax(target)
    statements = Statements(source)
    losses = []
    quads = list(statements)
    in_named_graphs = sum(not isinstance(quad.graph_name, ox.DefaultGraph) for quad in quads)
    if in_named_graphs:
        count = pluralize(in_named_graphs, "statement")
        losses.append(f"moved from named graphs to the default graph: {count}")
    if statements.others:
        others = pluralize(statements.others, "statement")
        losses.append(f"not converted, because only one graph is read: {others}")
    triples = list(dict.fromkeys(quad.triple for quad in quads))
    if syntax == RDF_XML:
        rdfxml.refuse_predicates_without_name(source, triples)
        changed = sum(rdfxml.has_forbidden(triple.object) for triple in triples)
        triples = list(map(rdfxml.without_forbidden, triples))
        if changed:
            losses.append(f"without characters that XML forbids: {pluralize(changed, 'text')}")
    if syntax == JSON_LD and any(isinstance(triple.object, ox.Triple) for triple in triples):
        message = "JSON-LD cannot express statements about statements"
        raise FormatError(source.path, message, fix="convert to .ttl, .nt or .rdf instead")
    # JSON-LD has no empty prefix.
    own = {name: iri for name, iri in statements.prefixes.items() if name or syntax != JSON_LD}
    text = _document(triples, syntax, _with_defaults(own, vocabulary.PREFIXES))
    if statements.base:
        text = text.replace(statements.base, target.base)
    return respell_tags(text, source.parsed(tag_spellings), syntax), losses


def insert_triples(
    source: TextFile, index: GraphIndex, triples: list[ox.Triple]
) -> list[Insertion]:
    """Return the insertions that add triples to a file, with its prefixes and indentation."""
    syntax = detect_syntax(source) or TURTLE
    if not triples:
        insertions = []
    elif syntax == RDF_XML:
        insertions = [rdfxml.insert_elements(source, triples, _needed_prefixes(triples))]
    elif syntax == JSON_LD:
        insertions = jsonld.insert_nodes(source, triples)
    else:
        known = _with_defaults(index.prefixes, _needed_prefixes(triples))
        lines = _serialize_lines(triples, syntax, known, index.statements.graph)
        if syntax in (TURTLE, TRIG):
            declared = {f"@prefix {name}: <{iri}> ." for name, iri in index.prefixes.items()}
            found = _INDENT.search(_LONG_STRING.sub('""', source.text))
            new = [line for line in lines if line not in declared]
            lines = _lay_out(new, found[0] if found else _DEFAULT_INDENT)
            lines = ["", *lines] if source.lines[-1].strip() else lines
        insertions = source.append(lines)
    spellings = source.parsed(tag_spellings)
    return [replace(each, text=respell_tags(each.text, spellings, syntax)) for each in insertions]


def _target_syntax(target: Target) -> ox.RdfFormat:
    """Return the syntax of a file to write."""
    return SYNTAXES.get(target.syntax or format_suffix(target.path), TURTLE)


def _needed_prefixes(triples: Sequence[ox.Triple]) -> dict[str, str]:
    """Return the usual prefixes of the predicates and types in the triples."""
    iris = {triple.predicate.value for triple in triples}
    types = {triple.object for triple in triples if triple.predicate.value == TYPE}
    iris |= {type.value for type in types if isinstance(type, ox.NamedNode)}
    namespaces = set(map(namespace_of, iris - {TYPE}))
    return {name: iri for name, iri in vocabulary.USUAL_PREFIXES.items() if iri in namespaces}


def _with_defaults(own: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """Return the prefixes of a file, and default prefixes for other namespaces."""
    missing = {name: iri for name, iri in defaults.items() if iri not in own.values()}
    return dict(sorted({**missing, **own}.items()))


def _document(
    triples: Iterable[ox.Triple], syntax: ox.RdfFormat, prefixes: Mapping[str, str]
) -> str:
    if syntax == JSON_LD:
        return jsonld.write_document(list(triples), prefixes)
    lines = _serialize_lines(triples, syntax, prefixes)
    lines = _lay_out(lines) if syntax in (TURTLE, TRIG) else lines
    text = "".join(f"{line}\n" for line in lines)
    # In XML, a plain "\r" would be read back as a line feed.
    return text.replace("\r", "&#13;") if syntax == RDF_XML else text


def _serialize_lines(
    triples: Iterable[ox.Triple],
    syntax: ox.RdfFormat,
    prefixes: Mapping[str, str],
    graph: ox.NamedNode | ox.BlankNode | ox.DefaultGraph | None = None,
) -> list[str]:
    """Serialize triples with pyoxigraph, grouped by subject, in this graph."""
    grouped = (triple for group in by_subject(triples) for triple in group)
    quads = [ox.Quad(each.subject, each.predicate, each.object, graph) for each in grouped]
    text = ox.serialize(quads, format=syntax, prefixes=dict(prefixes))
    lines = (text or b"").decode("utf-8").split("\n")
    return lines if lines[-1] else lines[:-1]


def _lay_out(lines: Iterable[str], indent: str = _DEFAULT_INDENT) -> list[str]:
    """Return serialized Turtle with this indentation and blank lines between subjects."""
    laid_out: list[str] = []
    for line in lines:
        bare = line.lstrip("\t")
        if laid_out and not line.startswith(("\t", "@prefix", "}")):
            laid_out.append("")
        laid_out.append(indent * (len(line) - len(bare)) + bare)
    return laid_out
