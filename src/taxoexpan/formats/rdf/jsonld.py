"""JSON-LD: a check before parsing, insertion of nodes, and new documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyoxigraph as ox

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.editor import JsonEditor
from taxoexpan.formats.json.parser import Array, Object, objects_in, parse
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
    if isinstance(graph, Array):
        return JsonEditor(source, [graph or value], {"": graph}).append(graph, nodes)
    return JsonEditor(source, [graph], {}).enlist((graph.start, graph.end), graph, nodes)


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
    keys = (
        node[key] for node, _ in objects_in(graph) for key in node if known.expand(key) == "@id"
    )
    known.compact_ids = known.is_compact(next(keys, ""))
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
