"""The OBO Graphs format: JSON with a list of graphs, each with nodes and edges.

Only classes and `is_a` edges are a taxonomy. Other nodes, edges and axioms stay unchanged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Insertions, Target
from taxoexpan.formats.json.document import DocumentFormat
from taxoexpan.formats.json.editor import JsonEditor, in_order
from taxoexpan.formats.obographs.document import CLASS, IS_A, OboGraphs, is_obo_graphs
from taxoexpan.formats.property_index import PropertyIndex
from taxoexpan.formats.rdf.vocabulary import as_iris, local_name
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

_READ = {
    "graph": ("id", "lbl", "nodes", "edges"),
    "node": ("id", "lbl", "type", "meta"),
    "meta": ("definition", "synonyms", "deprecated"),
}
"""The keys that are part of a taxonomy, or that only frame it."""
_NODE_KEYS = ("id", "lbl", "type", "meta")


class OboGraphsFormat(DocumentFormat):
    """OBO Graphs: JSON with classes as nodes and `is_a` edges."""

    document = OboGraphs
    usual_suffix = ".json"

    def can_read(self, source: TextFile) -> bool:
        """Return whether the file is JSON with a list of graphs."""
        return is_obo_graphs(source)

    def build(self, graphs: OboGraphs) -> TaxonomyBuilder:
        """Read every class with its texts, and the `is_a` edges between classes."""
        builder = TaxonomyBuilder(graphs.source.path)
        lines: list[int] = []
        for row, id in enumerate(graphs.classes):
            nodes = graphs.nodes.get(id, [])
            lines.append(graphs.line(nodes[0]) if nodes else 0)
            builder.ids.append(id)
            builder.labels.append(graphs.label(id) or _substitute_label(builder, graphs, id))
            if definition := graphs.definition(id):
                builder.definitions[row] = definition
            if synonyms := [name for name in graphs.synonyms(id) if name != builder.labels[row]]:
                builder.synonyms[row] = tuple(synonyms)
            if graphs.is_deprecated(id):
                builder.deprecated.append(row)
        relations: dict[tuple[str, str], int] = {}
        for edge in graphs.edges:
            relations.setdefault(graphs.ends(edge), graphs.line(edge))
        builder.parents = [parent for parent, _ in relations]
        builder.children = [child for _, child in relations]
        builder.lines, builder.relation_lines = lines, list(relations.values())
        builder.tops = graphs.tops & set(builder.ids)
        builder.reserved = {*graphs.nodes, *(id for e in graphs.all_edges for id in graphs.ends(e))}
        builder.ignored.update(_count_ignored(graphs))
        return builder

    def extend(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Append nodes and `is_a` edges, in the style of the existing ones."""
        graphs = source.parsed(OboGraphs.locate)
        return {source.path: list(_insertions(graphs, additions))}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write one graph with one node or edge per line; ids that are not IRIs become IRIs."""
        ids = as_iris(taxonomy, target.base)
        nodes = [_node(ids[concept.id], concept) for concept in taxonomy.concepts]
        edges = [{"sub": ids[c], "pred": IS_A, "obj": ids[p]} for p, c in taxonomy.relations]
        listed = {
            key: ",\n".join(f"        {json.dumps(entry, ensure_ascii=False)}" for entry in entries)
            for key, entries in (("nodes", nodes), ("edges", edges))
        }
        members = [
            f'      "{key}": [\n{text}\n      ]' if text else f'      "{key}": []'
            for key, text in listed.items()
        ]
        body = ",\n".join([f'      "id": {json.dumps(target.base + "ontology")}', *members])
        return Copy({target.path: f'{{\n  "graphs": [\n    {{\n{body}\n    }}\n  ]\n}}\n'}, ids)

    def index_properties(self, source: TextFile, taxonomy: Taxonomy) -> PropertyIndex:
        """Return which members the nodes of classes and their `meta` objects have."""
        graphs, index = source.parsed(OboGraphs.load), PropertyIndex(set(taxonomy))
        for id in taxonomy:
            for node in graphs.nodes.get(id, ()):
                index.add(id, [key for key in node if key not in ("id", "meta")])
            for meta in graphs.metas(id):
                index.add(id, (f"meta.{key}" for key in meta if key != "basicPropertyValues"))
                index.add(id, map(local_name, _property_values(meta)))
        return index.leave_out(["meta.deprecated"])


def _substitute_label(builder: TaxonomyBuilder, graphs: OboGraphs, id: str) -> str:
    """Return the end of the id as a label, with a note unless the class is deprecated."""
    name, nodes = local_name(id), graphs.nodes.get(id)
    message, code = f"no label; {name!r} is used", "missing-label"
    if not nodes:
        message, code = f"only named in an edge; {name!r} is used as its label", "external-concept"
    if not graphs.is_deprecated(id):
        builder.notes.append(Note(graphs.line(nodes[0]) if nodes else 0, message, code, id))
    return name


def _count_ignored(graphs: OboGraphs) -> Mapping[str, int]:
    """Count the content that a taxonomy does not represent."""
    counts = Counter(f"{local_name(edge['pred'])} edges" for edge in graphs.other_edges)
    classes = set(graphs.classes)
    counts["other nodes"] = len(graphs.nodes.keys() - classes)
    for graph in graphs.graphs:
        others = (key for key in graph if key not in _READ["graph"])
        counts.update({key: len(graph[key]) for key in others if isinstance(graph[key], list)})
    for id in classes & graphs.nodes.keys():
        for node in graphs.nodes[id]:
            counts.update(key for key in node if key not in _READ["node"])
        for meta in graphs.metas(id):
            counts.update(f"meta.{key}" for key in meta if key not in _READ["meta"])
    return counts


def _property_values(meta: Any) -> list[str]:
    """Return the predicates of the further annotations of a class."""
    values = meta.get("basicPropertyValues")
    entries = values if isinstance(values, list) else []
    return [str(entry.get("pred")) for entry in entries if isinstance(entry, dict)]


def _node(id: str, concept: Concept) -> dict[str, Any]:
    """Return the node of a class."""
    meta: dict[str, Any] = {}
    if concept.definition:
        meta["definition"] = {"val": concept.definition}
    if concept.synonyms:
        meta["synonyms"] = [_synonym(name) for name in concept.synonyms]
    if concept.deprecated:
        meta["deprecated"] = True
    node: dict[str, Any] = {"id": id, "lbl": concept.label, "type": CLASS}
    return {**node, "meta": meta} if meta else node


def _synonym(name: str) -> dict[str, Any]:
    """Return a synonym of a class."""
    return {"pred": "hasExactSynonym", "val": name}


def _insertions(graphs: OboGraphs, additions: Additions) -> Iterator[Insertion]:
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
        node = _node(concept.id, concept)
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
        return [_like(self.old_synonyms, _synonym(name)) for name in names]

    def edge(self, parent: str, child: str) -> dict[str, Any]:
        """Return a new edge."""
        predicate = self.old_edge.get("pred", IS_A)
        return in_order({"sub": child, "pred": predicate, "obj": parent}, self.old_edge)


def _like(samples: Sequence[Any], value: dict[str, Any]) -> dict[str, Any]:
    """Return a value in the order of the samples, with empty xrefs if all of them have xrefs."""
    if samples and all("xrefs" in sample for sample in samples):
        value = {**value, "xrefs": []}
    return in_order(value, samples[0] if samples else ())
