"""The OBO Graphs format: JSON graphs, whose classes and `is_a` edges make up a taxonomy."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Insertions, Target
from taxoexpan.formats.json.document import DocumentFormat, JsonDocument, load
from taxoexpan.formats.json.editor import JsonEditor, in_order
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.rdf.vocabulary import as_iris, local_name
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

IS_A = "is_a"
CLASS = "CLASS"
_SUBCLASS = frozenset({IS_A, "rdfs:subClassOf", vocabulary.SUBCLASS_OF})
_THINGS = frozenset({vocabulary.THING, "owl:Thing"})
_NOT_CONCEPTS = ("_:", vocabulary.RDF, vocabulary.RDFS, vocabulary.OWL)
_GRAPHS = re.compile(r'"graphs"\s*:\s*\[')
_READ = {
    "graph": ("id", "lbl", "nodes", "edges"),
    "node": ("id", "lbl", "type", "meta"),
    "meta": ("definition", "synonyms", "deprecated"),
}
"""The keys that are part of a taxonomy, or that only frame it."""


def is_obo_graphs(source: TextFile) -> bool:
    """Return whether a JSON file has a list `graphs` of objects with `nodes`."""
    if not _GRAPHS.search(source.text):
        return False
    try:
        value = source.parsed(load)
    except FormatError:
        return False
    graphs = value.get("graphs") if isinstance(value, dict) else None
    return isinstance(graphs, list) and any(
        isinstance(graph, dict) and "nodes" in graph for graph in graphs
    )


class OboGraphs(JsonDocument):
    """The classes and `is_a` edges of all graphs; a class that only an edge names has no node."""

    def __init__(self, source: TextFile, value: Any) -> None:
        super().__init__(source, value)
        if not isinstance(value, dict):
            raise FormatError(source.path, 'not OBO Graphs: write {"graphs": […]}', line=1)
        self.graphs = self._objects(value, "graphs")
        self.nodes: dict[str, list[Any]] = {}
        for graph in self.graphs:
            for node in self._objects(graph, "nodes"):
                self.nodes.setdefault(self._needed(node, "id"), []).append(node)
        self.all_edges = [edge for graph in self.graphs for edge in self._objects(graph, "edges")]
        self.edges: list[Any] = []
        self.other_edges: list[Any] = []
        self.tops: set[str] = set()
        for edge in self.all_edges:
            self._add_edge(edge)

    @cached_property
    def classes(self) -> list[str]:
        """The ids of all classes: nodes with the type CLASS, or without a type but with `is_a`."""
        related = dict.fromkeys(id for edge in self.edges for id in self.ends(edge))
        related |= dict.fromkeys(sorted(self.tops))
        no_types = not any(map(self._types, self.nodes))
        untyped = self.nodes.keys() if no_types else related.keys()
        found = {
            id: None
            for id in self.nodes
            if not id.startswith(_NOT_CONCEPTS)
            and (CLASS in self._types(id) or (id in untyped and not self._types(id)))
        }
        return list(found | related)

    def ends(self, edge: Any) -> tuple[str, str]:
        """Return the parent and the child of an edge."""
        return self._needed(edge, "obj"), self._needed(edge, "sub")

    def label(self, id: str) -> str:
        """Return the first label of a class, or ""."""
        labels = (self._optional(node, "lbl") for node in self.nodes.get(id, ()))
        return next(filter(None, labels), "")

    def definition(self, id: str) -> str:
        """Return the first definition of a class, or ""."""
        found = (self.object(meta, "definition") for meta in self.metas(id))
        return next(filter(None, (self._optional(each, "val") for each in found)), "")

    def synonyms(self, id: str) -> list[str]:
        """Return the synonyms of a class, of all kinds."""
        listed = (each for meta in self.metas(id) for each in self._objects(meta, "synonyms"))
        return list(dict.fromkeys(filter(None, (self._optional(each, "val") for each in listed))))

    def is_deprecated(self, id: str) -> bool:
        """Return whether a class is marked as deprecated."""
        return any(meta.get("deprecated") is True for meta in self.metas(id))

    def metas(self, id: str) -> Iterator[Any]:
        """Yield the `meta` objects of a class."""
        return filter(None, (self.object(node, "meta") for node in self.nodes.get(id, ())))

    def object(self, container: Any, key: str) -> Any:
        """Return an optional object."""
        value = container.get(key)
        if value is not None and not isinstance(value, dict):
            self.refuse(container, key, "an object in {…}")
        return value or {}

    def _objects(self, container: Any, key: str) -> list[Any]:
        """Return an optional list of objects."""
        entries = [] if container.get(key) is None else self.entries(container, key)
        for index, entry in enumerate(entries):
            if not isinstance(entry, dict):
                self.refuse(entries, index, "an object in {…}")
        return entries

    def _optional(self, container: Any, key: str) -> str:
        return "" if container.get(key) is None else self.text(container, key)

    def _needed(self, container: Any, key: str) -> str:
        text = self._optional(container, key)
        if not text:
            message = f"an object without {key!r}; OBO Graphs needs it, so add it"
            raise self.error(message, container)
        return text

    def _add_edge(self, edge: Any) -> None:
        """Add an edge to the `is_a` edges between classes, or to the other edges."""
        parent, child = self.ends(edge)
        is_class = not child.startswith(_NOT_CONCEPTS) and not any(
            self._types(id) - {CLASS} for id in (parent, child)
        )
        is_subclass = self._needed(edge, "pred") in _SUBCLASS and is_class
        if is_subclass and parent in _THINGS:
            self.tops.add(child)
        elif is_subclass and not parent.startswith(_NOT_CONCEPTS):
            self.edges.append(edge)
        else:
            self.other_edges.append(edge)

    def _types(self, id: str) -> set[str]:
        return {type for node in self.nodes.get(id, ()) if (type := self._optional(node, "type"))}


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
        for id in graphs.classes:
            nodes = graphs.nodes.get(id, [])
            label = graphs.label(id) or _substitute_label(builder, graphs, id)
            synonyms = [name for name in graphs.synonyms(id) if name != label]
            line = graphs.line(nodes[0]) if nodes else 0
            deprecated = graphs.is_deprecated(id)
            builder.add(id, label, line, synonyms, graphs.definition(id), deprecated)
        relations: dict[tuple[str, str], int] = {}
        for edge in graphs.edges:
            relations.setdefault(graphs.ends(edge), graphs.line(edge))
        for (parent, child), line in relations.items():
            builder.relate(parent, child, line)
        builder.tops = graphs.tops & set(builder.ids)
        builder.reserved = {*graphs.nodes, *(id for e in graphs.all_edges for id in graphs.ends(e))}
        builder.ignored.update(_count_ignored(graphs))
        if not relations:
            others = Counter(local_name(edge["pred"]) for edge in graphs.other_edges)
            found = ", ".join(f"{name!r} ({n:,} edges)" for name, n in others.most_common(5))
            message = f"no class has an edge 'is_a'; the edges are {found or 'missing'}"
            builder.note(0, f"{message}; only 'is_a' edges are read as relations")
        elif unread := _unread_edges(graphs):
            found = ", ".join(f"{name!r} ({n:,} edges)" for name, n in unread.items())
            message = f"classes without an edge 'is_a' have the edges {found}, which are not read"
            builder.note(0, f"{message}; write 'is_a' edges if they name their parents")
        return builder

    def extend(self, source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Append nodes and `is_a` edges, in the style of the existing nodes and edges."""
        graphs = source.parsed(OboGraphs.locate)
        return {source.path: list(_insertions(graphs, additions))}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write one graph; ids that are not IRIs become IRIs."""
        ids = as_iris(taxonomy, target.base)
        nodes = [_node(ids[concept.id], concept) for concept in taxonomy.concepts]
        edges = [_edge(ids[parent], ids[child]) for parent, child in taxonomy.relations]
        graph = {"id": f"{target.base}ontology", "nodes": nodes, "edges": edges}
        text = json.dumps({"graphs": [graph]}, ensure_ascii=False, indent=2)
        return Copy({target.path: f"{text}\n"}, ids)


def _substitute_label(builder: TaxonomyBuilder, graphs: OboGraphs, id: str) -> str:
    """Return the end of the id as a label, with a note unless the class is deprecated."""
    name = local_name(id)
    nodes = graphs.nodes.get(id)
    message = f"no label; {name!r} is used"
    code = "missing-label"
    if not nodes:
        message = f"only named in an edge; {name!r} is used as its label"
        code = "external-concept"
    if not graphs.is_deprecated(id):
        builder.notes.append(Note(graphs.line(nodes[0]) if nodes else 0, message, code, id))
    return name


def _unread_edges(graphs: OboGraphs) -> Counter[str]:
    """Count the other edges from classes that have no `is_a` edge to classes, by predicate."""
    classes = set(graphs.classes)
    placed = {child for _, child in map(graphs.ends, graphs.edges)}
    others = ((edge, *graphs.ends(edge)) for edge in graphs.other_edges)
    return Counter(
        local_name(edge["pred"])
        for edge, other, own in others
        if {own, other} <= classes and own not in placed
    )


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
    """Return the predicates of the other annotations of a class."""
    values = meta.get("basicPropertyValues")
    entries = values if isinstance(values, list) else []
    return [str(entry.get("pred")) for entry in entries if isinstance(entry, dict)]


def _node(id: str, concept: Concept) -> dict[str, Any]:
    """Return the node of a class."""
    meta = {
        "definition": concept.definition and {"val": concept.definition},
        "synonyms": [_synonym(name) for name in concept.synonyms],
        "deprecated": concept.deprecated,
    }
    meta = {key: value for key, value in meta.items() if value}
    node: dict[str, Any] = {"id": id, "lbl": concept.label, "type": CLASS}
    return {**node, "meta": meta} if meta else node


def _edge(parent: str, child: str) -> dict[str, Any]:
    """Return the edge from a class to its superclass."""
    return {"sub": child, "pred": IS_A, "obj": parent}


def _synonym(name: str) -> dict[str, Any]:
    """Return a synonym of a class."""
    return {"pred": "hasExactSynonym", "val": name}


def _insertions(graphs: OboGraphs, additions: Additions) -> Iterator[Insertion]:
    """Yield insertions; new nodes and edges go into the first graph with nodes."""
    graph = next((graph for graph in graphs.graphs if graph.get("nodes")), None)
    if graph is None:
        message = "no graph has a list of nodes, to which new ones can be added"
        raise FormatError(graphs.source.path, message, fix="write at least one class into 'nodes'")
    found = [node for id in graphs.classes for node in graphs.nodes.get(id, ())]
    classes = found or graph["nodes"]
    editor = JsonEditor(graphs.source, classes, {"edges": graph["nodes"]})
    sample = max(classes, key=len)
    old_edge = (graphs.edges or [{}])[0]
    nodes = [in_order(_node(concept.id, concept), sample) for concept in additions.concepts]
    if not any("type" in node for node in classes):
        nodes = [{key: node[key] for key in node if key != "type"} for node in nodes]
    yield from editor.append(graph["nodes"], nodes)
    if additions.relations:
        edges = [in_order(_edge(*pair), old_edge) for pair in additions.relations]
        yield from editor.add(graph, "edges", edges)
    yield from _move(graphs, editor, additions)
    for id, names in additions.names.items():
        if id not in graphs.nodes:
            message = f"{id!r} has no node of its own, so it cannot get a synonym"
            raise FormatError(graphs.source.path, message, fix="add a node")
        node = graphs.nodes[id][0]
        values = list(map(_synonym, names))
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
            raise graphs.error(f"{message}, so it cannot be moved", edge, fix="change it by hand")
        if pair in new:
            yield editor.set(edge, "obj", new[pair])
