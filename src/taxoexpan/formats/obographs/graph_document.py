"""The nodes and edges of an OBO Graphs document, and which of the nodes are classes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NoReturn

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.parser import line_in, line_of, load
from taxoexpan.formats.json.schema import type_name
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


class OboGraphs:
    """The classes and the `is_a` edges of all graphs in a document.

    `nodes` has all nodes with an id, in file order; `edges` has the `is_a` edges between
    classes. A class may have no node, if only an edge names it.
    """

    def __init__(self, source: TextFile, value: Any) -> None:
        self.source = source
        if not isinstance(value, dict):
            raise FormatError(source.path, 'not OBO Graphs: write {"graphs": […]}', 1)
        self.graphs: list[Any] = self._members(value, "graphs")
        self.nodes: dict[str, list[Any]] = {}
        for graph in self.graphs:
            for node in self._members(graph, "nodes"):
                self.nodes.setdefault(self.text(node, "id", needed=True), []).append(node)
        self.all_edges: list[Any] = [
            edge for graph in self.graphs for edge in self._members(graph, "edges")
        ]
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
        return self.text(edge, "obj", needed=True), self.text(edge, "sub", needed=True)

    def label(self, id: str) -> str:
        """Return the first label of a class, or ""."""
        return next(filter(None, (self.text(node, "lbl") for node in self.nodes.get(id, ()))), "")

    def definition(self, id: str) -> str:
        """Return the first definition of a class, or ""."""
        found = (self.object(meta, "definition") for meta in self.metas(id))
        return next(filter(None, (self.text(each, "val") for each in found)), "")

    def synonyms(self, id: str) -> list[str]:
        """Return the synonyms of a class of all kinds."""
        found = [self.text(each, "val") for meta in self.metas(id) for each in self.listed(meta)]
        return list(dict.fromkeys(filter(None, found)))

    def is_deprecated(self, id: str) -> bool:
        """Return whether a class is marked as deprecated."""
        return any(meta.get("deprecated") is True for meta in self.metas(id))

    def metas(self, id: str) -> Iterator[Any]:
        """Yield the `meta` objects of a class."""
        return filter(None, (self.object(node, "meta") for node in self.nodes.get(id, ())))

    def listed(self, meta: Any) -> list[Any]:
        """Return the synonyms in a `meta` object."""
        return self._members(meta, "synonyms")

    def object(self, container: Any, key: str) -> Any:
        """Return an object, which may be missing."""
        value = container.get(key)
        if value is not None and not isinstance(value, dict):
            self._refuse(container, key, "an object in {…}")
        return value or {}

    def text(self, container: Any, key: str, needed: bool = False) -> str:
        """Return a text without outer spaces; it may be missing unless it is needed."""
        value = container.get(key)
        # A number is a subclass of str in Python, but it is not text in the file.
        if value is not None and type(value) is not str:
            self._refuse(container, key, "text in quotes")
        if needed and not (value or "").strip():
            message = f"an object without {key!r}; OBO Graphs needs it, so add it"
            raise FormatError(self.source.path, message, line_of(container) or None)
        return (value or "").strip()

    def _add_edge(self, edge: Any) -> None:
        """Sort an edge: `is_a` between classes, or any other."""
        parent, child = self.ends(edge)
        is_class = not child.startswith(_NOT_CONCEPTS) and not any(
            self._types(id) - {CLASS} for id in (parent, child)
        )
        if self.text(edge, "pred", needed=True) not in _SUBCLASS or not is_class:
            self.other_edges.append(edge)
        elif parent in _THINGS:
            self.tops.add(child)
        elif parent.startswith(_NOT_CONCEPTS):
            self.other_edges.append(edge)
        else:
            self.edges.append(edge)

    def _types(self, id: str) -> set[str]:
        return {type for node in self.nodes.get(id, ()) if (type := self.text(node, "type"))}

    def _members(self, container: Any, key: str) -> list[Any]:
        """Return a list of objects, which may be missing."""
        value = container.get(key)
        if value is not None and not isinstance(value, list):
            self._refuse(container, key, "a list in […]")
        for index, entry in enumerate(value or ()):
            if not isinstance(entry, dict):
                self._refuse(value, index, "an object in {…}")
        return value or []

    def _refuse(self, container: Any, key: str | int, expected: str) -> NoReturn:
        name = repr(key) if isinstance(key, str) else "an entry of the list"
        message = f"{name} is {type_name(container[key])}; OBO Graphs needs {expected}"
        raise FormatError(self.source.path, message, line_in(container, key) or None)
