"""New nodes and edges of an OBO Graphs document, in the style of the existing ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.editor import JsonEditor, in_order
from taxoexpan.formats.obographs.document import CLASS, IS_A, OboGraphs
from taxoexpan.formats.text_file import Insertion
from taxoexpan.taxonomy import Additions, Concept

_NODE_KEYS = ("id", "lbl", "type", "meta")


def node_value(id: str, concept: Concept) -> dict[str, Any]:
    """Return the node of a class."""
    meta: dict[str, Any] = {}
    if concept.definition:
        meta["definition"] = {"val": concept.definition}
    if concept.synonyms:
        meta["synonyms"] = [synonym_value(name) for name in concept.synonyms]
    if concept.deprecated:
        meta["deprecated"] = True
    node: dict[str, Any] = {"id": id, "lbl": concept.label, "type": CLASS}
    return {**node, "meta": meta} if meta else node


def synonym_value(name: str) -> dict[str, Any]:
    """Return a synonym of a class."""
    return {"pred": "hasExactSynonym", "val": name}


def insert_additions(graphs: OboGraphs, additions: Additions) -> Iterator[Insertion]:
    """Yield the insertions for a document that was parsed with positions.

    New nodes and edges go into the first graph with nodes.
    """
    graph = next((graph for graph in graphs.graphs if graph.get("nodes")), None)
    if graph is None:
        message = "no graph has a list of nodes, to which new ones can be added"
        raise FormatError(graphs.source.path, f"{message}; write at least one class into 'nodes'")
    style = _NodeStyle(graphs, graph["nodes"])
    editor = JsonEditor(graphs.source, style.nodes, {"edges": graph["nodes"]})
    nodes = [style.node(concept) for concept in additions.concepts]
    yield from editor.append(graph["nodes"], nodes)
    if additions.relations:
        yield from editor.add(graph, "edges", [style.edge(*pair) for pair in additions.relations])
    yield from _move(graphs, editor, additions)
    for id, names in additions.names.items():
        if id not in graphs.nodes:
            message = f"{id!r} has no node of its own, so it cannot get a synonym; add a node"
            raise FormatError(graphs.source.path, message)
        node, values = graphs.nodes[id][0], style.synonyms(names)
        if node.get("meta"):
            yield from editor.add(node["meta"], "synonyms", values)
        else:
            yield editor.set(node, "meta", {"synonyms": values})


def _move(graphs: OboGraphs, editor: JsonEditor, additions: Additions) -> Iterator[Insertion]:
    """Replace the parent in the edges of moved children."""
    new = {(move.old_parent, move.child): move.new_parent for move in additions.moves}
    for edge in graphs.edges if new else ():
        pair = graphs.ends(edge)
        if pair in new and edge.get("meta"):
            message = f"the edge from {pair[1]!r} to {pair[0]!r} has a 'meta' of its own"
            raise graphs.error(f"{message}, so it cannot be moved; change it by hand", edge)
        if pair in new:
            yield editor.set(edge, "obj", new[pair])


class _NodeStyle:
    """Which members the nodes and edges of a document have, and in which order."""

    def __init__(self, graphs: OboGraphs, nodes: list[Any]) -> None:
        classes = [node for id in graphs.classes for node in graphs.nodes.get(id, ())]
        self.nodes = classes or nodes
        self.has_types = 2 * sum(node.get("type") == CLASS for node in self.nodes) >= len(
            self.nodes
        )
        metas = [graphs.object(node, "meta") for node in self.nodes]
        self.sample = max(self.nodes, key=lambda node: sum(map(node.__contains__, _NODE_KEYS)))
        self.meta = max(metas, key=len)
        self.definitions = [meta["definition"] for meta in metas if meta.get("definition")]
        self.old_synonyms = [each for meta in metas for each in meta.get("synonyms") or ()]
        self.old_edge: Any = next(iter(graphs.edges), {})

    def node(self, concept: Concept) -> dict[str, Any]:
        """Return a new node."""
        node = node_value(concept.id, concept)
        if not self.has_types:
            del node["type"]
        if "meta" in node:
            meta = node["meta"] = in_order(node["meta"], self.meta)
            if "definition" in meta:
                meta["definition"] = _like(self.definitions, meta["definition"])
            if "synonyms" in meta:
                meta["synonyms"] = self.synonyms(concept.synonyms)
        return in_order(node, self.sample)

    def synonyms(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return new synonyms."""
        return [_like(self.old_synonyms, synonym_value(name)) for name in names]

    def edge(self, parent: str, child: str) -> dict[str, Any]:
        """Return a new edge."""
        predicate = self.old_edge.get("pred", IS_A)
        return in_order({"sub": child, "pred": predicate, "obj": parent}, self.old_edge)


def _like(samples: Sequence[Any], value: dict[str, Any]) -> dict[str, Any]:
    """Return a value in the order of the samples, with empty xrefs if all of them have xrefs."""
    if samples and all("xrefs" in sample for sample in samples):
        value = {**value, "xrefs": []}
    return in_order(value, samples[0] if samples else ())
