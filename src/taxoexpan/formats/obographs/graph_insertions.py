"""New nodes and edges of an OBO Graphs document, in the style of the existing ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.edit import replace_value
from taxoexpan.formats.json.parser import line_of
from taxoexpan.formats.json.style import Style
from taxoexpan.formats.obographs.graph_document import CLASS, IS_A, OboGraphs
from taxoexpan.formats.text_file import Insertion
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

_EXACT = "hasExactSynonym"
_XREFS = "xrefs"
_NODE_KEYS = ("id", "lbl", "type", "meta")


def insert_additions(
    graphs: OboGraphs, expanded: Taxonomy, additions: Additions
) -> list[Insertion]:
    """Return the insertions for a document that was parsed with positions."""
    inserter = _Inserter(graphs)
    return [
        *inserter.add_nodes(additions.concepts),
        *inserter.add_edges(additions.relations),
        *inserter.move(additions),
        *inserter.add_synonyms(additions),
    ]


def _graph_with_nodes(graphs: OboGraphs) -> Any:
    """Return the first graph that has nodes; all concepts may be known from edges alone."""
    for graph in graphs.graphs:
        if graph.get("nodes"):
            return graph
    message = "no graph has a list of nodes, to which new ones can be added"
    raise FormatError(graphs.source.path, f"{message}; write at least one class into 'nodes'")


class _Inserter:
    """Formats additions like the nodes and edges of the file; they go into its first graph."""

    def __init__(self, graphs: OboGraphs) -> None:
        self.graphs = graphs
        self.graph = _graph_with_nodes(graphs)
        nodes = [node for id in graphs.classes for node in graphs.nodes.get(id, ())]
        nodes = nodes or self.graph["nodes"]
        self.node: Any = max(nodes, key=lambda node: sum(map(node.__contains__, _NODE_KEYS)))
        self.edge: Any = next(iter(graphs.edges), {})
        self.has_types = 2 * sum(node.get("type") == CLASS for node in nodes) >= len(nodes)
        metas = [graphs.object(node, "meta") for node in nodes]
        self.definitions = [meta["definition"] for meta in metas if meta.get("definition")]
        lists = [meta["synonyms"] for meta in metas if meta.get("synonyms")]
        self.synonyms = [synonym for listed in lists for synonym in listed]
        self.meta: Any = max(metas, key=len)
        self.style = Style(graphs.source, self.node, self.graph["nodes"], next(iter(lists), None))

    def add_nodes(self, concepts: Sequence[Concept]) -> Iterator[Insertion]:
        """Append nodes to the graph."""
        rows = self.graph["nodes"]
        indent = self.style.entry_indent(rows)
        if concepts:
            texts = [self._node(concept, indent) for concept in concepts]
            yield self.style.append(rows, texts, self.style.multiline_rows)

    def add_edges(self, relations: Sequence[tuple[str, str]]) -> Iterator[Insertion]:
        """Append `is_a` edges to the graph, which may have no list of edges yet."""
        if not relations:
            return
        style, rows = self.style, self.graph.get("edges")
        if rows is not None:
            indent = style.entry_indent(rows)
            parts = [self._edge(*relation, indent) for relation in relations]
            yield style.append(rows, parts, style.multiline_rows)
            return
        outer = style.deeper(style.indent_at(self.graph.start), style.is_multiline(self.graph))
        indent = style.deeper(outer, style.multiline_rows)
        parts = [self._edge(*relation, indent) for relation in relations]
        text = style.new_list(self.graph, parts, style.multiline_rows)
        if "edges" in self.graph:
            yield replace_value(style.text, self.graph, "edges", text)
        else:
            yield style.add_member(self.graph, "edges", text)

    def move(self, additions: Additions) -> Iterator[Insertion]:
        """Replace the parent in the edges of moved children."""
        new = {(move.old_parent, move.child): move.new_parent for move in additions.moves}
        for edge in self.graphs.edges if new else ():
            pair = self.graphs.ends(edge)
            if pair not in new:
                continue
            if edge.get("meta"):
                message = f"the edge from {pair[1]!r} to {pair[0]!r} has a 'meta' of its own"
                fix = "so it cannot be moved; change it by hand"
                raise FormatError(self.graphs.source.path, f"{message}, {fix}", line_of(edge))
            yield replace_value(self.style.text, edge, "obj", self.style.scalar(new[pair]))

    def add_synonyms(self, additions: Additions) -> Iterator[Insertion]:
        """Add synonyms to the nodes of existing classes."""
        style = self.style
        for id, names in additions.names.items():
            nodes = self.graphs.nodes.get(id)
            if not nodes:
                message = f"{id!r} has no node of its own, so it cannot get a synonym; add a node"
                raise FormatError(self.graphs.source.path, message)
            node, meta = nodes[0], nodes[0].get("meta")
            if meta and meta.get("synonyms"):
                indent = style.entry_indent(meta["synonyms"])
                parts = [self._synonym(name, indent) for name in names]
                yield style.append(meta["synonyms"], parts, style.multiline_words)
            elif meta:
                inner = style.deeper(style.indent_at(meta.start), style.is_multiline(meta))
                text = self._synonyms(names, inner)
                yield self._set(meta, "synonyms", text)
            else:
                inner = style.deeper(style.indent_at(node.start), style.is_multiline(node))
                text = self._synonyms(names, style.deeper(inner, style.multiline_objects))
                yield self._set(node, "meta", self._object([("synonyms", text)], inner))

    def _set(self, container: Any, key: str, text: str) -> Insertion:
        if key in container:
            return replace_value(self.style.text, container, key, text)
        return self.style.add_member(container, key, text)

    def _node(self, concept: Concept, indent: str) -> str:
        inner = self.style.deeper(indent, self.style.multiline_objects)
        members = [("id", self.style.scalar(concept.id)), ("lbl", self.style.scalar(concept.label))]
        if self.has_types:
            members.append(("type", self.style.scalar(CLASS)))
        meta = self._meta(concept, inner)
        if meta:
            members.append(("meta", self._object(_in_order(meta, self.meta), inner)))
        return self._object(_in_order(members, self.node), indent)

    def _meta(self, concept: Concept, indent: str) -> list[tuple[str, str]]:
        inner = self.style.deeper(indent, self.style.multiline_objects)
        members = []
        if concept.definition:
            texts = {"val": self.style.scalar(concept.definition)}
            members.append(("definition", self._like(self.definitions, texts, inner)))
        if concept.synonyms:
            members.append(("synonyms", self._synonyms(concept.synonyms, inner)))
        if concept.deprecated:
            members.append(("deprecated", self.style.scalar(True)))
        return members

    def _synonyms(self, names: Sequence[str], indent: str) -> str:
        inner = self.style.deeper(indent, self.style.multiline_words)
        parts = [self._synonym(name, inner) for name in names]
        return self.style.enclose("[]", parts, indent, self.style.multiline_words)

    def _synonym(self, name: str, indent: str) -> str:
        texts = {"pred": self.style.scalar(_EXACT), "val": self.style.scalar(name)}
        return self._like(self.synonyms, texts, indent)

    def _like(self, samples: Sequence[Any], texts: dict[str, str], indent: str) -> str:
        """Format an object like the samples, with an empty list of xrefs if all have a list."""
        if samples and all(_XREFS in sample for sample in samples):
            texts = {**texts, _XREFS: "[]"}
        return self._object(_in_order(list(texts.items()), samples[0] if samples else {}), indent)

    def _edge(self, parent: str, child: str, indent: str) -> str:
        scalar = self.style.scalar
        members = [
            ("sub", scalar(child)),
            ("pred", scalar(self.edge.get("pred", IS_A))),
            ("obj", scalar(parent)),
        ]
        multiline = self.style.multiline_objects
        if self.edge:
            multiline = self.style.is_multiline(self.edge)
        return self.style.object(_in_order(members, self.edge), indent, multiline)

    def _object(self, members: Sequence[tuple[str, str]], indent: str) -> str:
        return self.style.object(members, indent, self.style.multiline_objects)


def _in_order(members: Sequence[tuple[str, str]], sample: Any) -> list[tuple[str, str]]:
    """Sort members as in the sample, with those that it lacks at the end."""
    order = list(sample)
    return sorted(
        members, key=lambda member: order.index(member[0]) if member[0] in order else len(order)
    )
