"""The schemas of a JSON taxonomy: nested objects, a list of objects, or nodes and edges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.document import JsonDocument, objects_in
from taxoexpan.formats.rdf.languages import Languages, Text
from taxoexpan.formats.tables.codes import code_parents
from taxoexpan.formats.tables.deprecation import DEPRECATED_WORDS
from taxoexpan.formats.text_file import TextFile
from taxoexpan.phrasing import pluralize

KEYS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "uri", "key", "code", "alias"),
    "label": ("label", "name", "title", "term", "prefLabel", "preferredLabel", "display_name"),
    "parents": (
        *("parents", "parent", "parent_id", "parentId", "parent_ids", "broader"),
        *("parent_code", "parentCode"),
    ),
    "children": ("children", "narrower", "items", "subcategories", "children_data", "child_ids"),
    "synonyms": ("synonyms", "altLabels", "aliases", "altLabel", "altNames"),
    "definition": ("definition", "description"),
    "deprecated": ("deprecated",),
    "nodes": ("nodes", "concepts", "terms", "vertices", "categories"),
    "edges": ("edges", "links", "relations"),
    "parent": ("parent", "source", "from"),
    "child": ("child", "target", "to"),
}
"""The keys that are accepted for each field; new members use the first one."""

_GRAPH_FIELDS = ("nodes", "edges", "parent", "child")
CONCEPT_KEYS = frozenset(k for f, keys in KEYS.items() if f not in _GRAPH_FIELDS for k in keys)
"""The keys that describe a concept."""

SEPARATOR = " > "
Place = tuple[Any, str | int]
"""A container, and the key of a value in it."""

_MAX_PATH_RATIO = 50
"""How many times longer than the file the paths that serve as ids may be; this bounds memory."""

_MAX_ENVELOPES = 3
"""How many objects may surround the object that has the list of concepts."""

MAX_NAMED_KEYS = 5
"""How many keys a message names."""

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
"""A key of an object that has texts by language."""


def find_key(value: Mapping[str, Any], field: str) -> str | None:
    """Return the key under which an object has a field; null counts as missing."""
    for key in KEYS[field]:
        if value.get(key) is not None:
            return key
    return None


class Relation(NamedTuple):
    """A relation and its place in the file; `names_parent` if the value there is the parent."""

    parent: str
    child: str
    container: Any
    key: str | int | None = None
    names_parent: bool = False


class JsonConcepts(JsonDocument):
    """The concept objects and the edges of a JSON file.

    `objects` are in file order, and several of them may describe one concept. `nested_in` has the
    index of the object around each object, or -1. A file with a single root has no `root_lists`.
    """

    def __init__(self, source: TextFile, value: Any) -> None:
        super().__init__(source, value)
        self.edges: list[Any] | None = None
        self.root_lists: list[list[Any]] = []
        self.objects: list[dict[str, Any]] = []
        self.nested_in: list[int] = []
        self._collect_objects(self._top_level_objects(value))
        self.own_ids = [self._own_id(entry) for entry in self.objects]
        self.has_ids = any(self.own_ids)
        self.labels = [self.field(entry, "label") for entry in self.objects]
        self.ids = self._make_ids()
        self.no_parents = {"0", "-1"} - set(self.ids)

    @cached_property
    def objects_by_id(self) -> dict[str, list[Any]]:
        """All objects of each concept, by id."""
        objects: dict[str, list[Any]] = {}
        for id, entry in zip(self.ids, self.objects, strict=True):
            objects.setdefault(id, []).append(entry)
        return objects

    def field(self, entry: dict[str, Any], field: str) -> str:
        """Return the string in a field without outer spaces, or "" if there is none."""
        key = find_key(entry, field)
        return self.text(entry, key) if key else ""

    def text(self, container: Any, key: str | int) -> str:
        """Return a string, or of an object with texts by language the text in the chosen one."""
        if not isinstance(container[key], dict):
            return super().text(container, key)
        best = self.languages.best(texts) if (texts := _translations(container[key])) else None
        expected = 'text in quotes, or texts by language such as {"en": "apple"}'
        return best[1] if best else self.refuse(container, key, expected)

    @cached_property
    def languages(self) -> Languages:
        """The chosen language of labels that are given in several languages."""
        return Languages.choose(self.source, filter(None, map(self.translated, self.objects)))

    def translated(self, entry: dict[str, Any], field: str = "label") -> list[Text]:
        """Return the texts by language of a field, if there are any."""
        return _translations(entry.get(find_key(entry, field) or ""))

    def language_key(self, field: str) -> str:
        """Return the key of the chosen language in this field, or "" if its values are texts."""
        values = (entry[key] for entry in self.objects if (key := find_key(entry, field)))
        keys = (key for value in values if _translations(value) for key in value)
        return next((key for key in keys if _tag(key) == self.languages.tag), "")

    def synonyms(self, entry: dict[str, Any]) -> tuple[str, ...]:
        """Return the synonyms of an object, which are a list or a single string."""
        return tuple(filter(None, (self.text(*place) for place in self.places(entry, "synonyms"))))

    def is_deprecated(self, entry: dict[str, Any]) -> bool:
        """Return whether an object is marked as deprecated."""
        key = find_key(entry, "deprecated")
        if key and not isinstance(entry[key], bool):
            self.refuse(entry, key, "true or false, without quotes")
        status = str(entry.get("status")).casefold()
        return bool(key and entry[key]) or status in DEPRECATED_WORDS

    def children(self, entry: dict[str, Any]) -> list[Any]:
        """Return the children listed in an object: nested objects, or ids of other objects."""
        key = find_key(entry, "children")
        return self.entries(entry, key) if key else []

    def parents(self, entry: dict[str, Any]) -> list[tuple[str, Place]]:
        """Return the ids and places of an object's parents; 0 and -1 mark roots in databases."""
        found = ((self._reference(*place), place) for place in self.places(entry, "parents"))
        return [parent for parent in found if parent[0] and parent[0] not in self.no_parents]

    def relations(self) -> Iterator[list[Relation]]:
        """Yield all relations, grouped by the list of the file that states them."""
        for id, outer, entry in zip(self.ids, self.nested_in, self.objects, strict=True):
            if outer >= 0:
                yield [Relation(self.ids[outer], id, entry)]
            yield [Relation(parent, id, *place, True) for parent, place in self.parents(entry)]
            children = self.children(entry)
            yield [
                Relation(id, child, children, place)
                for place, value in enumerate(children)
                if not isinstance(value, dict) and (child := self._id(children, place))
            ]
        edges = self.edges or []
        yield [self._edge_relation(edges, index) for index in range(len(edges))]

    def _edge_relation(self, edges: list[Any], index: int) -> Relation:
        edge: Any = edges[index]
        keys: Sequence[str | int | None] = ()
        if isinstance(edge, list):
            keys = range(len(edge))
        elif isinstance(edge, dict):
            keys = [find_key(edge, end) for end in ("parent", "child")]
        ends = [self._id(edge, key) for key in keys if key is not None]
        if len(ends) != 2 or not all(ends):
            message = 'an edge needs two ids; write {"parent": …, "child": …} or [parent, child]'
            raise self.error(message, edges, index)
        return Relation(ends[0], ends[1], edge, keys[0], True)

    def named_id(self, reference: dict[str, Any]) -> str:
        """Return the id in an object that refers to a concept, or else its label."""
        return self._own_id(reference) or self.field(reference, "label")

    def _reference(self, container: Any, key: str | int) -> str:
        """Return the id in a reference, which is an id or an object."""
        value = container[key]
        if not isinstance(value, dict):
            return self._id(container, key)
        return self.named_id(value) or self.refuse(container, key, "an object with an id")

    @cached_property
    def code_parents(self) -> dict[str, str]:
        """The parents of the ids, if these are codes and no key of the file is for relations."""
        relating = [*KEYS["parents"], *KEYS["children"]]
        if any(key in entry for entry in self.objects for key in relating) or self.edges:
            return {}
        return code_parents([*dict.fromkeys(self.ids)]) if all(self.own_ids) else {}

    @property
    def references(self) -> list[int]:
        """The nested objects that only refer to a concept of a root list."""
        entries = list(zip(self.ids, self.nested_in, strict=True)) if self.has_ids else []
        top_level = {id for id, outer in entries if outer < 0}
        return [i for i, (id, outer) in enumerate(entries) if outer >= 0 and id in top_level]

    def places(self, entry: dict[str, Any], field: str) -> list[Place]:
        """Return the container and key of each value of a field, which may be a list."""
        key = find_key(entry, field)
        if key and isinstance(entry[key], list):
            return [(entry[key], index) for index in range(len(entry[key]))]
        return [(entry, key)] if key else []

    def _top_level_objects(self, value: Any) -> list[Any]:
        """Find the edges and the lists of roots, and return the entries that are not nested."""
        if isinstance(value, list):
            self.root_lists = [value]
            return value
        if not isinstance(value, dict):
            message = "a single value is not a taxonomy"
            raise FormatError(
                self.source.path, message, fix="write an object or a list of objects", line=1
            )
        value = self._graph_in(value)
        nodes = find_key(value, "nodes")
        edges = find_key(value, "edges")
        children = find_key(value, "children")
        is_concept = find_key(value, "label") or find_key(value, "id")
        if nodes and (edges or not (is_concept and children)):
            self.edges = self.entries(value, edges) if edges else None
            self.root_lists = [self.entries(value, nodes)]
        elif is_concept and (children or not self._enveloped_lists(value)):
            return [value]
        elif children:
            self.root_lists = [self.entries(value, children)]
        else:
            self.root_lists = self._enveloped_lists(value)
        if not self.root_lists:
            message = f"no concepts found{_seen(value)}; write them as "
            message += '{"concepts": […]}, as {"nodes": […], "edges": […]}, or as nested objects '
            message += 'with "label" and "children"'
            raise self.error(message, value)
        return [entry for entries in self.root_lists for entry in entries]

    def _graph_in(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the inner object with nodes and edges, if there is one, or else the value."""
        if find_key(value, "nodes") or find_key(value, "children"):
            return value
        inside = (entry for entry, depth in objects_in(value) if depth <= _MAX_ENVELOPES)
        graphs = list(filter(_is_graph, inside))
        if len(graphs) > 1 and any(graph[find_key(graph, "edges") or ""] for graph in graphs):
            message = f"{len(graphs)} objects have nodes and edges; write one graph per file"
            raise self.error(message, graphs[1])
        return graphs[0] if len(graphs) == 1 else value

    def _enveloped_lists(self, value: dict[str, Any]) -> list[list[Any]]:
        """Return the lists of concepts under any key, or inside its entries (as Shopify has)."""
        found: list[tuple[str, list[list[Any]]]] = []
        stack = [(value, 0)]
        while stack:
            outer, depth = stack.pop()
            for key, inner in outer.items():
                if isinstance(inner, dict) and depth < _MAX_ENVELOPES:
                    stack.append((inner, depth + 1))
                elif isinstance(inner, list) and inner and all(isinstance(e, dict) for e in inner):
                    lists = [self.entries(e, k) for e in inner if (k := find_key(e, "nodes"))]
                    if lists or all(find_key(e, "label") for e in inner):
                        found.append((key, lists or [inner]))
        if len(found) > 1:
            sizes = ((key, sum(map(len, lists))) for key, lists in found)
            message = f"several lists of objects could be the concepts: {named_sizes(sizes)}"
            fix = 'write {"concepts": […]}, and remove the other lists or their labels'
            raise self.error(f"{message}; {fix}", value)
        return found[0][1] if found else []

    def _collect_objects(self, entries: list[Any]) -> None:
        """Collect every object, each before the objects nested in it."""
        for index, entry in enumerate(entries):
            if not isinstance(entry, dict):
                self.refuse(entries, index, 'an object, such as {"label": "apple"}')
        stack = [(entry, -1) for entry in reversed(entries)]
        while stack:
            entry, outer = stack.pop()
            nested = [child for child in self.children(entry) if isinstance(child, dict)]
            stack += [(child, len(self.objects)) for child in reversed(nested)]
            self.objects.append(entry)
            self.nested_in.append(outer)

    def _make_ids(self) -> list[str]:
        """Return the id of each object; else its path in files without ids, else its label."""
        ids: list[str] = []
        remaining = 1_000_000 + _MAX_PATH_RATIO * len(self.source.text)
        for index, (id, label) in enumerate(zip(self.own_ids, self.labels, strict=True)):
            if not id and not label:
                message = "this object has neither an id nor a label; add one, or remove the object"
                raise self.error(message, self.objects[index])
            outer = self.nested_in[index]
            uses_path = outer >= 0 and not self.has_ids
            ids.append(id or (f"{ids[outer]}{SEPARATOR}{label}" if uses_path else label))
            remaining -= len(ids[-1])
            if remaining < 0:
                message = "the paths that serve as ids would need too much memory"
                raise FormatError(self.source.path, message, fix="give the concepts ids")
        return ids

    def _own_id(self, entry: dict[str, Any]) -> str:
        key = find_key(entry, "id")
        return self._id(entry, key) if key else ""

    def _id(self, container: Any, key: str | int) -> str:
        value = container[key]
        if not isinstance(value, str):
            self.refuse(container, key, "an id, as text or a number")
        return value.strip()


def named_sizes(sizes: Iterable[tuple[str, int]]) -> str:
    """Return keys with the number of their entries, of which the first ones are named."""
    named = [f"{key!r} ({pluralize(size, 'entry', 'entries')})" for key, size in sizes]
    named[MAX_NAMED_KEYS:] = ["…"] * (len(named) > MAX_NAMED_KEYS)
    return ", ".join(named)


def _seen(value: dict[str, Any]) -> str:
    """Return a description of the members that have entries of their own."""
    sizes = [(key, len(each)) for key, each in value.items() if isinstance(each, dict | list)]
    return f" under the keys {named_sizes(sizes)}" if sizes else ""


def _is_graph(value: dict[str, Any]) -> bool:
    """Return whether an object has a list of nodes and a list of edges between them."""
    nodes = find_key(value, "nodes")
    edges = find_key(value, "edges")
    if not (nodes and edges and isinstance(value[nodes], list) and isinstance(value[edges], list)):
        return False
    return all(
        (isinstance(edge, list) and len(edge) == 2)
        or (isinstance(edge, dict) and find_key(edge, "parent") and find_key(edge, "child"))
        for edge in value[edges]
    )


def _tag(key: str) -> str:
    """Return the language tag of a key such as `en_GB`."""
    return key.lower().replace("_", "-")


def _translations(value: Any) -> list[Text]:
    """Return the language and the text of each member, if a value has texts by language."""
    if not isinstance(value, dict) or not all(map(_LANGUAGE.fullmatch, value)):
        return []
    texts = [(_tag(key), text.strip()) for key, text in value.items() if type(text) is str]
    return texts if len(texts) == len(value) else []
