"""Where the concepts of a JSON file are: nested, in a list, or as nodes beside edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.parser import Number, line_in, line_of
from taxoexpan.formats.text_file import TextFile

NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "uri", "key", "code"),
    "label": ("label", "name", "title", "term", "prefLabel"),
    "parents": ("parents", "parent", "parent_id", "broader"),
    "children": ("children", "narrower", "items", "subcategories"),
    "synonyms": ("synonyms", "altLabels", "aliases"),
    "definition": ("definition", "description"),
    "deprecated": ("deprecated",),
    "nodes": ("nodes", "concepts", "terms", "vertices"),
    "edges": ("edges", "links", "relations"),
    "parent": ("parent", "source", "from"),
    "child": ("child", "target", "to"),
}
"""The keys that each thing is known by; the first is the one that we choose."""

KNOWN = frozenset(
    key
    for role in NAMES
    if role not in ("nodes", "edges", "parent", "child")
    for key in NAMES[role]
)
"""The keys that say something of a concept."""

SEPARATOR = " > "

_PATHS_TO_TEXT = 50
"""How much longer than the file the paths may be that stand for ids; memory has an end."""

_KINDS = {Number: "a number", str: "text", dict: "an object", list: "a list"}


def key_of(value: Mapping[str, Any], role: str) -> str | None:
    """The key under which an object has something; null is nothing."""
    for key in NAMES[role]:
        if value.get(key) is not None:
            return key
    return None


class Shape:
    """The concepts and the edges that were found in the value of a JSON file.

    A concept may be there several times: `objects` holds every time, `around` the place in
    `objects` of the one that it is nested in, or -1.
    """

    def __init__(self, source: TextFile, value: Any) -> None:
        self.source = source
        self.edges: list[Any] | None = None
        self.room: list[Any] | None = None
        """The list in which further roots have room; a file that is one root has none."""
        self.objects: list[dict[str, Any]] = []
        self.around: list[int] = []
        self._collect(self._entries(value))
        self.given = [self._given(entry) for entry in self.objects]
        self.has_ids = any(self.given)
        self.labels = [self.text(entry, "label") for entry in self.objects]
        self.ids = self._ids()

    def text(self, entry: dict[str, Any], role: str) -> str:
        """A text without outer spaces; blank where there is none."""
        key = key_of(entry, role)
        return self._text(entry, key) if key else ""

    def texts(self, entry: dict[str, Any], role: str) -> tuple[str, ...]:
        """The texts of a list, or the one that stands in its place."""
        key = key_of(entry, role)
        if key is None:
            return ()
        many = entry[key]
        found = (
            [self._text(many, place) for place in range(len(many))]
            if isinstance(many, list)
            else [self._text(entry, key)]
        )
        return tuple(filter(None, found))

    def parents(self, entry: dict[str, Any]) -> list[tuple[str, int]]:
        """The ids of the parents that an object names, with their lines."""
        key = key_of(entry, "parents")
        if key is None:
            return []
        many = entry[key]
        if isinstance(many, list):
            return self._named(many, range(len(many)))
        return self._named(entry, [key])

    def children(self, entry: dict[str, Any]) -> list[Any]:
        """What is nested in an object: objects, or ids of such as are elsewhere."""
        key = key_of(entry, "children")
        return self._list(entry, key) if key else []

    def child_ids(self, entry: dict[str, Any]) -> list[tuple[str, int]]:
        """The children that an object names by their ids alone, with their lines."""
        below = self.children(entry)
        bare = [place for place, child in enumerate(below) if not isinstance(child, dict)]
        return self._named(below, bare)

    def is_deprecated(self, entry: dict[str, Any]) -> bool:
        """Whether an object is marked so."""
        key = key_of(entry, "deprecated")
        if key and not isinstance(entry[key], bool):
            self._refuse(entry, key, "true or false, without quotes")
        return bool(key and entry[key])

    def relations(self) -> list[tuple[str, str, int]]:
        """The parent and the child of every edge, with its line."""
        edges = self.edges or []
        relations = []
        for place, edge in enumerate(edges):
            parent, child = (self._id(edge, key) for key in self.ends(edges, place))
            if not parent or not child:
                raise self._bad_edge(edges, place)
            relations.append((parent, child, line_in(edges, place)))
        return relations

    def _entries(self, value: Any) -> list[Any]:
        """The objects that are not nested in others, or should be objects."""
        if isinstance(value, list):
            self.room = value
            return value
        if not isinstance(value, dict):
            message = f"{_kind(value)} is no taxonomy; write an object or a list of objects"
            raise FormatError(self.source.path, message, 1)
        nodes, edges, below = (key_of(value, role) for role in ("nodes", "edges", "children"))
        named = key_of(value, "label") or key_of(value, "id")
        if nodes and (edges or not (named and below)):
            self.edges = self._list(value, edges) if edges else None
            self.room = self._list(value, nodes)
        elif named:
            return [value]
        elif below:
            self.room = self._list(value, below)
        else:
            message = (
                'no concepts found; give them as {"concepts": […]}, as {"nodes": […], '
                '"edges": […]}, or as nested objects with "label" and "children"'
            )
            raise FormatError(self.source.path, message, line_of(value) or None)
        return self.room

    def _collect(self, entries: list[Any]) -> None:
        """Find every object, each before those that are nested in it."""
        for place, entry in enumerate(entries):
            if not isinstance(entry, dict):
                self._refuse(entries, place, 'an object, such as {"label": "apple"}')
        waiting = [(entry, -1) for entry in reversed(entries)]
        while waiting:
            entry, around = waiting.pop()
            below = [child for child in self.children(entry) if isinstance(child, dict)]
            waiting += [(child, len(self.objects)) for child in reversed(below)]
            self.objects.append(entry)
            self.around.append(around)

    def _ids(self) -> list[str]:
        """The id of every object: its own, else its label, or its path where nothing has ids."""
        ids: list[str] = []
        room = 1_000_000 + _PATHS_TO_TEXT * len(self.source.text)
        for place, (id, label) in enumerate(zip(self.given, self.labels, strict=True)):
            if not id and not label:
                message = "neither an id nor a label; name the concept, or remove it"
                line = line_of(self.objects[place])
                raise FormatError(self.source.path, message, line or None)
            around = self.around[place]
            nested = around >= 0 and not self.has_ids
            ids.append(id or (f"{ids[around]}{SEPARATOR}{label}" if nested else label))
            room -= len(ids[-1])
            if room < 0:
                message = "the paths that stand for ids here fill the memory"
                raise FormatError(self.source.path, f"{message}; give the concepts ids")
        return ids

    def _given(self, entry: dict[str, Any]) -> str:
        key = key_of(entry, "id")
        return self._id(entry, key) if key else ""

    def ends(self, edges: list[Any], place: int) -> tuple[str | int, str | int]:
        """The keys of an edge's parent and child."""
        edge = edges[place]
        if isinstance(edge, list) and len(edge) == 2:
            return 0, 1
        if isinstance(edge, dict):
            parent, child = key_of(edge, "parent"), key_of(edge, "child")
            if parent and child:
                return parent, child
        raise self._bad_edge(edges, place)

    def _bad_edge(self, edges: list[Any], place: int) -> FormatError:
        message = 'an edge has two ids; write {"parent": …, "child": …} or [parent, child]'
        return FormatError(self.source.path, message, line_in(edges, place) or None)

    def _named(self, container: Any, keys: Iterable[str | int]) -> list[tuple[str, int]]:
        """The ids under these keys that are not blank, with their lines."""
        return [(id, line_in(container, key)) for key in keys if (id := self._id(container, key))]

    def _text(self, container: Any, key: str | int) -> str:
        value = container[key]
        # A number is text to Python here, but not to the one who wrote the file.
        if type(value) is not str:
            self._refuse(container, key, "text in quotes")
        return value.strip()

    def _id(self, container: Any, key: str | int) -> str:
        value = container[key]
        if not isinstance(value, str):
            self._refuse(container, key, "an id, as text or a number")
        return value.strip()

    def _list(self, container: dict[str, Any], key: str) -> list[Any]:
        value = container[key]
        if not isinstance(value, list):
            self._refuse(container, key, "a list in […]")
        return value

    def _refuse(self, container: Any, key: str | int, wanted: str) -> NoReturn:
        named = repr(key) if isinstance(key, str) else "an entry of the list"
        message = f"{named} is {_kind(container[key])}; write {wanted}"
        raise FormatError(self.source.path, message, line_in(container, key) or None)


def _kind(value: Any) -> str:
    """What sort of thing a value is, for a person."""
    constants = {None: "null", True: "true", False: "false"}
    found = (name for kind, name in _KINDS.items() if isinstance(value, kind))
    return next(found, "") or constants[value]
