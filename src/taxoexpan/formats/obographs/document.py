"""The nodes and edges of an OBO Graphs document, and which of the nodes are classes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.document import JsonDocument
from taxoexpan.formats.json.parser import load
from taxoexpan.formats.rdf import vocabulary
from taxoexpan.formats.text_file import TextFile

IS_A, CLASS = "is_a", "CLASS"
_SUBCLASS = frozenset({IS_A, "rdfs:subClassOf", vocabulary.SUBCLASS_OF})
_THINGS = frozenset({vocabulary.THING, "owl:Thing"})
_NOT_CONCEPTS = ("_:", vocabulary.RDF, vocabulary.RDFS, vocabulary.OWL)
_GRAPHS = re.compile(r'"graphs"\s*:\s*\[')


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
    """The classes and the `is_a` edges of all graphs in a document.

    `nodes` has all nodes with an id, in file order; `edges` has the `is_a` edges between
    classes. A class may have no node, if only an edge names it.
    """

    def __init__(self, source: TextFile, value: Any) -> None:
        super().__init__(source, value)
        if not isinstance(value, dict):
            raise FormatError(source.path, 'not OBO Graphs: write {"graphs": […]}', 1)
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
        """The ids of all classes; those without a type need an `is_a` edge if others have one."""
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
        """Return the synonyms of a class of all kinds."""
        listed = (each for meta in self.metas(id) for each in self._objects(meta, "synonyms"))
        return list(dict.fromkeys(filter(None, (self._optional(each, "val") for each in listed))))

    def is_deprecated(self, id: str) -> bool:
        """Return whether a class is marked as deprecated."""
        return any(meta.get("deprecated") is True for meta in self.metas(id))

    def metas(self, id: str) -> Iterator[Any]:
        """Yield the `meta` objects of a class."""
        return filter(None, (self.object(node, "meta") for node in self.nodes.get(id, ())))

    def object(self, container: Any, key: str) -> Any:
        """Return an object, which may be missing."""
        value = container.get(key)
        if value is not None and not isinstance(value, dict):
            self.refuse(container, key, "an object in {…}")
        return value or {}

    def _objects(self, container: Any, key: str) -> list[Any]:
        """Return a list of objects, which may be missing."""
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
            raise self.error(
                f"an object without {key!r}; OBO Graphs needs it, so add it", container
            )
        return text

    def _add_edge(self, edge: Any) -> None:
        """Sort an edge: `is_a` between classes, or any other."""
        parent, child = self.ends(edge)
        is_class = not child.startswith(_NOT_CONCEPTS) and not any(
            self._types(id) - {CLASS} for id in (parent, child)
        )
        if self._needed(edge, "pred") not in _SUBCLASS or not is_class:
            self.other_edges.append(edge)
        elif parent in _THINGS:
            self.tops.add(child)
        elif parent.startswith(_NOT_CONCEPTS):
            self.other_edges.append(edge)
        else:
            self.edges.append(edge)

    def _types(self, id: str) -> set[str]:
        return {type for node in self.nodes.get(id, ()) if (type := self._optional(node, "type"))}
