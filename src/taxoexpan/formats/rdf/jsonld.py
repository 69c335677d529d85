"""JSON-LD: what must be known before it is parsed, and how statements are written in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.parser import Array, Object, parse
from taxoexpan.formats.json.style import Style
from taxoexpan.formats.rdf.jsonld_context import ENDS_OF_PREFIXES, Context, Node
from taxoexpan.formats.text_file import Insertion, TextFile

DEEPEST = 64
"""The parser's memory grows with the square of the nesting, and no vocabulary nests so."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.S)


def refuse_deep(source: TextFile) -> None:
    """Refuse a file that nests so deep that parsing it would fill the memory."""
    bare = np.frombuffer(_STRING.sub(b"", source.text.encode("utf-8")), dtype=np.uint8)
    steps = np.isin(bare, list(b"[{")).astype(np.int64) - np.isin(bare, list(b"]}"))
    if int(np.cumsum(steps).max(initial=0)) > DEEPEST:
        message = f"nested more than {DEEPEST} levels deep; flatten it (JSON-LD has a form for it)"
        raise FormatError(source.path, message)


def insertions(source: TextFile, triples: list[ox.Triple]) -> list[Insertion]:
    """New node objects at the end of the list of nodes, in the words of the file's context.

    A file that is one node becomes a list of nodes, by brackets around what is there.
    """
    value = source.parsed(parse)
    context = value.get("@context") if isinstance(value, Object) else None
    graph = _graph(value, Context(context))
    # Beside the whole of the file, its context does not hold.
    holds = context if graph is not value else None
    nodes = _meant(source, graph, holds, triples)
    style, spread_values = _style(source, value, graph)
    indent = _indent(style, graph)
    texts = [_text(style, node, indent, style.multiline_objects, spread_values) for node in nodes]
    if isinstance(graph, Array):
        return [_appended(style, graph, texts)]
    glue = f",{source.newline}{indent}" if style.multiline_objects else style.comma
    added = "".join(glue + text for text in texts)
    return [Insertion(graph.start, "["), Insertion(graph.end, f"{added}]")]


def document(triples: list[ox.Triple], prefixes: Mapping[str, str]) -> str:
    """A whole new file: a context of prefixes, and one object for each subject."""
    # A prefix with the name of a scheme, such as urn, would turn a whole IRI into another.
    schemes = {iri.partition(":")[0] for iri in (*_iris(triples), *prefixes.values())}
    context = {
        name: iri
        for name, iri in prefixes.items()
        if name and name not in schemes and iri.endswith(ENDS_OF_PREFIXES)
    }
    nodes = Context(context, compact_ids=True).nodes(triples)
    return json.dumps({"@context": context, "@graph": nodes}, ensure_ascii=False, indent=2) + "\n"


def _iris(triples: Iterable[ox.Triple]) -> Iterator[str]:
    for triple in triples:
        for part in (triple.subject, triple.predicate, triple.object):
            named = part.datatype if isinstance(part, ox.Literal) else part
            if isinstance(named, ox.NamedNode):
                yield named.value


def _graph(value: Any, context: Context) -> Any:
    """Where nodes lie: under `@graph` or its alias, else the whole; a named graph is left alone."""
    if isinstance(value, Object) and not {"@id", *context.names.get("@id", [])} & value.keys():
        for key in ("@graph", *context.names.get("@graph", [])):
            if isinstance(value.get(key), Array | Object):
                return value[key]
    return value


def _meant(source: TextFile, graph: Any, context: Any, triples: list[ox.Triple]) -> list[Node]:
    """Nodes in the shortest form that means these triples under the context, and nothing else."""
    if context is None:
        return Context().nodes(triples)
    known, wanted = Context(context), set(triples)
    ids = (node[key] for node in _objects(graph) for key in node if known.expanded(key) == "@id")
    known.compact_ids = known.is_compact(next(ids, ""))
    written = source.text[context.start : context.end]
    for form in (known, Context()):
        nodes = form.nodes(triples)
        text = f'{{"@context": {written}, "@graph": {json.dumps(nodes)}}}'
        try:
            if {quad.triple for quad in ox.parse(text, format=ox.RdfFormat.JSON_LD)} == wanted:
                return nodes
        except (SyntaxError, ValueError):
            continue
    return [{"@context": None, **node} for node in nodes]


def _style(source: TextFile, value: Any, graph: Any) -> tuple[Style, bool]:
    """How the nodes of a file are set, and whether objects inside of them are spread."""
    nodes = graph if isinstance(graph, Array) else [graph]
    within = (part for node in _objects(graph) for part in node.values())
    words = next((part for part in within if isinstance(part, Array) and part), None)
    rows = graph if isinstance(graph, Array) and graph else None
    style = Style(source, next(_objects(graph), value), rows, words)
    inner = next((part for node in nodes for part in islice(_objects(node), 1, None)), None)
    return style, style.multiline_objects if inner is None else style.is_multiline(inner)


def _objects(value: Any) -> Iterator[Object]:
    """Objects that are not blank, from the outside in."""
    if isinstance(value, Object) and value:
        yield value
    if isinstance(value, Object | Array):
        for part in value.values() if isinstance(value, Object) else value:
            yield from _objects(part)


def _glue(style: Style, graph: Any) -> str:
    """What lies between two nodes; blank where nothing tells."""
    if isinstance(graph, Array) and len(graph) > 1:
        first, second = graph[:2]
        if isinstance(first, Object) and isinstance(second, Object):
            return style.text[first.end : second.start]
    return ""


def _indent(style: Style, graph: Any) -> str:
    """The indentation of a node."""
    _, broken, margin = _glue(style, graph).rpartition("\n")
    if broken:
        return margin
    return style.entry_indent(graph) if isinstance(graph, Array) else style.indent_at(graph.start)


def _text(style: Style, value: Any, indent: str, spread: bool, spread_values: bool) -> str:
    """A value set like those of the file; `indent` is that of the line on which it opens."""
    if isinstance(value, dict):
        inner = style.deeper(indent, spread)
        members = [
            (key, _text(style, part, inner, spread_values, spread_values))
            for key, part in value.items()
        ]
        return style.object(members, indent, spread)
    if isinstance(value, list):
        inner = style.deeper(indent, style.multiline_words)
        parts = [_text(style, part, inner, spread_values, spread_values) for part in value]
        return style.enclose("[]", parts, indent, style.multiline_words)
    return style.scalar(value)


def _appended(style: Style, graph: Array, texts: list[str]) -> Insertion:
    """Nodes after the last one, with what lies between the others."""
    glue = _glue(style, graph)
    if not glue:
        return style.append(graph, texts, style.multiline_objects)
    end = len(style.text[: graph.end - 1].rstrip(" \t\r\n"))
    return Insertion(end, "".join(glue + text for text in texts))
