"""JSON-LD: a check before parsing, insertion of nodes, and new documents."""

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
from taxoexpan.formats.rdf.jsonld_context import PREFIX_ENDS, Context, Node
from taxoexpan.formats.text_file import Insertion, TextFile

_MAX_DEPTH = 64
"""The memory of the parser grows with the square of the depth; no vocabulary is that deep."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.S)


def refuse_deep_nesting(source: TextFile) -> None:
    """Refuse a file that is nested so deeply that parsing it would need too much memory."""
    bare = np.frombuffer(_STRING.sub(b"", source.text.encode("utf-8")), dtype=np.uint8)
    steps = np.isin(bare, list(b"[{")).astype(np.int64) - np.isin(bare, list(b"]}"))
    if int(np.cumsum(steps).max(initial=0)) > _MAX_DEPTH:
        message = f"nested more than {_MAX_DEPTH} levels deep; use the flattened form of JSON-LD"
        raise FormatError(source.path, message)


def insert_nodes(source: TextFile, triples: list[ox.Triple]) -> list[Insertion]:
    """Append node objects to the list of nodes, with the terms of the file's context.

    A file that is a single node becomes a list of nodes.
    """
    value = source.parsed(parse)
    context = value.get("@context") if isinstance(value, Object) else None
    graph = _node_list(value, Context(context))
    # Next to the root object, its context does not apply.
    nodes = _compact_nodes(source, graph, context if graph is not value else None, triples)
    writer = _NodeWriter(source, value, graph)
    texts = [writer.format(node) for node in nodes]
    if isinstance(graph, Array):
        return [writer.append(graph, texts)]
    style = writer.style
    separator = f",{source.newline}{writer.indent}" if style.multiline_objects else style.comma
    added = "".join(separator + text for text in texts)
    return [Insertion(graph.start, "["), Insertion(graph.end, f"{added}]")]


def write_document(triples: list[ox.Triple], prefixes: Mapping[str, str]) -> str:
    """Return the text of a new file: a context with prefixes, and one object per subject."""
    # A prefix that equals a scheme, such as urn, would change the meaning of whole IRIs.
    schemes = {iri.partition(":")[0] for iri in (*_iris(triples), *prefixes.values())}
    context = {
        name: iri
        for name, iri in prefixes.items()
        if name and name not in schemes and iri.endswith(PREFIX_ENDS)
    }
    nodes = Context(context, compact_ids=True).nodes(triples)
    return json.dumps({"@context": context, "@graph": nodes}, ensure_ascii=False, indent=2) + "\n"


def _iris(triples: Iterable[ox.Triple]) -> Iterator[str]:
    for triple in triples:
        for part in (triple.subject, triple.predicate, triple.object):
            node = part.datatype if isinstance(part, ox.Literal) else part
            if isinstance(node, ox.NamedNode):
                yield node.value


def _node_list(value: Any, context: Context) -> Any:
    """Return the value of `@graph` or its alias, or the whole file; named graphs are ignored."""
    if isinstance(value, Object) and not {"@id", *context.names.get("@id", [])} & value.keys():
        for key in ("@graph", *context.names.get("@graph", [])):
            if isinstance(value.get(key), Array | Object):
                return value[key]
    return value


def _compact_nodes(
    source: TextFile, graph: Any, context: Any, triples: list[ox.Triple]
) -> list[Node]:
    """Return nodes in the shortest form that means exactly these triples in the context."""
    if context is None:
        return Context().nodes(triples)
    known, expected = Context(context), set(triples)
    ids = (node[key] for node in _objects(graph) for key in node if known.expand(key) == "@id")
    known.compact_ids = known.is_compact(next(ids, ""))
    context_text = source.text[context.start : context.end]
    for form in (known, Context()):
        nodes = form.nodes(triples)
        text = f'{{"@context": {context_text}, "@graph": {json.dumps(nodes)}}}'
        try:
            if {quad.triple for quad in ox.parse(text, format=ox.RdfFormat.JSON_LD)} == expected:
                return nodes
        except (SyntaxError, ValueError):
            continue
    return [{"@context": None, **node} for node in nodes]


def _objects(value: Any) -> Iterator[Object]:
    """Yield all objects that are not empty, outer ones first."""
    if isinstance(value, Object) and value:
        yield value
    if isinstance(value, Object | Array):
        for part in value.values() if isinstance(value, Object) else value:
            yield from _objects(part)


class _NodeWriter:
    """Formats node objects like the existing nodes of a file.

    `separator` is the text between two existing nodes, or "" if there are not two.
    """

    def __init__(self, source: TextFile, value: Any, graph: Any) -> None:
        nodes = graph if isinstance(graph, Array) else [graph]
        parts = (part for node in _objects(graph) for part in node.values())
        words = next((part for part in parts if isinstance(part, Array) and part), None)
        rows = graph if isinstance(graph, Array) and graph else None
        self.style = Style(source, next(_objects(graph), value), rows, words)
        inner = next((part for node in nodes for part in islice(_objects(node), 1, None)), None)
        outer_multiline = self.style.multiline_objects
        self.multiline_values = outer_multiline if inner is None else self.style.is_multiline(inner)
        self.separator = ""
        if len(nodes) > 1 and isinstance(nodes[0], Object) and isinstance(nodes[1], Object):
            self.separator = source.text[nodes[0].end : nodes[1].start]
        self.indent = self._node_indent(graph)

    def format(self, node: Node) -> str:
        """Return the text of a node."""
        return self._format(node, self.indent, self.style.multiline_objects)

    def append(self, graph: Array, texts: list[str]) -> Insertion:
        """Insert nodes after the last one, with the existing separator."""
        style = self.style
        if not self.separator:
            return style.append(graph, texts, style.multiline_objects)
        end = len(style.text[: graph.end - 1].rstrip(" \t\r\n"))
        return Insertion(end, "".join(self.separator + text for text in texts))

    def _node_indent(self, graph: Any) -> str:
        _, line_break, indent = self.separator.rpartition("\n")
        if line_break:
            return indent
        is_list = isinstance(graph, Array)
        return self.style.entry_indent(graph) if is_list else self.style.indent_at(graph.start)

    def _format(self, value: Any, indent: str, multiline: bool) -> str:
        """Format a value; `indent` is that of the line on which it begins."""
        style = self.style
        if isinstance(value, dict):
            inner = style.deeper(indent, multiline)
            members = [
                (key, self._format(part, inner, self.multiline_values))
                for key, part in value.items()
            ]
            return style.object(members, indent, multiline)
        if isinstance(value, list):
            inner = style.deeper(indent, style.multiline_words)
            parts = [self._format(part, inner, self.multiline_values) for part in value]
            return style.enclose("[]", parts, indent, style.multiline_words)
        return style.scalar(value)
