"""New concepts in a JSON file: which objects are put in, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from taxoexpan.errors import FormatError
from taxoexpan.formats.json.edit import moved, named
from taxoexpan.formats.json.parser import Array, Number, Object
from taxoexpan.formats.json.schema import NAMES, SEPARATOR, Shape, key_of
from taxoexpan.formats.json.style import Style
from taxoexpan.formats.tables.table_file import names_as_ids
from taxoexpan.formats.text_file import Insertion
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")


def grow(shape: Shape, expanded: Taxonomy, additions: Additions) -> list[Insertion]:
    """What to put into a file that was read with its places."""
    growth = _Growth(shape, expanded, additions)
    insertions = growth.nested() if growth.habits.nests else growth.listed()
    key = growth.habits.keys["synonyms"]
    return [
        *(insertion for insertion in insertions if insertion.text),
        *moved(shape, additions.moves, growth.spelled),
        *named(shape, growth.style, key, additions.names),
    ]


class _Habits:
    """How a file tells its concepts: where they are, under which keys, in which shapes."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        leaves = (entry for entry in shape.objects if not shape.children(entry))
        self.sample: Any = next(leaves, shape.objects[0])
        self.keys = {role: self._key(role) or names[0] for role, names in NAMES.items()}
        self.always = {role for role, key in self.keys.items() if self._everywhere(key)}
        self.integers = shape.has_ids and all(map(self._is_integer, shape.objects, shape.given))
        by_edges = shape.edges is not None
        by_ids = any(shape.child_ids(entry) for entry in shape.objects)
        nested = shape.room is None or any(around >= 0 for around in shape.around)
        # Where nothing else tells relations, lists of children do, though all of them be blank.
        blank = self._key("children") is not None and self._key("parents") is None and not by_ids
        self.nests = not by_edges and (nested or blank)
        self.lists_children = not by_edges and not self.nests and by_ids
        otherwise = by_edges or self.nests or self.lists_children
        self.tells_parents = self._key("parents") is not None or not otherwise
        self.one_parent = self._tells_one_parent()

    def style(self) -> Style:
        """How the text is set, judged by an object that has nothing nested in it."""
        objects = self.shape.objects
        lists: list[Any] = [self.shape.room, *map(self.shape.children, objects)]
        rows = next((many for many in lists if many and isinstance(many[0], dict)), None)
        words = next(self._lists_of_words(), None)
        return Style(self.shape.source, self.sample, rows, words)

    def _key(self, role: str) -> str | None:
        """The key that the file uses first, be it for nothing."""
        known = NAMES[role]
        return next((key for entry in self.shape.objects for key in known if key in entry), None)

    def _everywhere(self, key: str) -> bool:
        return all(key in entry for entry in self.shape.objects)

    def _is_integer(self, entry: dict[str, Any], given: str) -> bool:
        key = key_of(entry, "id")
        return key is None or (isinstance(entry[key], Number) and bool(_INTEGER.fullmatch(given)))

    def _tells_one_parent(self) -> bool:
        keys = [(entry, key_of(entry, "parents")) for entry in self.shape.objects]
        told = [entry[key] for entry, key in keys if key]
        if not told:
            return self.keys["parents"] != NAMES["parents"][0]
        return not any(isinstance(parents, list) for parents in told)

    def _lists_of_words(self) -> Iterator[Array]:
        for entry in self.shape.objects:
            for role in ("synonyms", "parents", "children"):
                many = entry.get(self.keys[role])
                if isinstance(many, Array) and many and not isinstance(many[0], dict):
                    yield many


class _Growth:
    """The additions as text, in the habits of the file."""

    def __init__(self, shape: Shape, expanded: Taxonomy, additions: Additions) -> None:
        self.shape, self.path = shape, shape.source.path
        self.habits = _Habits(shape)
        self.style = self.habits.style()
        self.new = {concept.id: concept for concept in additions.concepts}
        self.relations = additions.relations
        self.above: dict[str, list[str]] = {id: [] for id in self.new}
        self.below: dict[str, list[str]] = {}
        for parent, child in additions.relations:
            self.above[child].append(parent)
            self.below.setdefault(parent, []).append(child)
        self.old_parents = [parent for parent in self.below if parent not in self.new]
        order = (expanded.ids[index] for index in expanded.topological_order.tolist())
        self.order = [id for id in order if id in self.new]
        self.objects: dict[str, list[Any]] = {}
        for id, entry in zip(shape.ids, shape.objects, strict=True):
            self.objects.setdefault(id, []).append(entry)
        self._refuse_unfit()
        self.names: dict[str, str] = {}
        if not shape.has_ids:
            by_label = not self.habits.nests
            self.names = (
                names_as_ids(shape.source, expanded, additions) if by_label else self._paths()
            )

    def listed(self) -> list[Insertion]:
        """Every new object at the end of the one list, its relations where the file tells them."""
        style, room, edges = self.style, self.shape.room, self.shape.edges
        assert isinstance(room, Array)
        indent = style.inside(room)
        rows = []
        for id, concept in self.new.items():
            below = self._ids(self.below.get(id, ())) if self.habits.lists_children else ()
            rows.append(self._object(concept, indent, below))
        insertions = [style.append(room, rows, style.spread_rows)]
        if isinstance(edges, Array):
            lines = [self._edge(edges, parent, child) for parent, child in self.relations]
            insertions.append(style.append(edges, lines, style.spread_rows))
        if self.habits.lists_children:
            for parent in self.old_parents:
                ids = self._ids(self.below[parent])
                insertions += [self._put_below(place, ids) for place in self._places(parent)]
        return insertions

    def nested(self) -> list[Insertion]:
        """Every new object in its first parent's, and a short one in every other's."""
        style, room = self.style, self.shape.room
        indents: dict[str, str] = {}
        for id in self.order:
            indents[id] = self._indent_of(id, indents)
        texts: dict[str, str] = {}

        def children(parent: str, indent: str, in_full: bool = True) -> list[str]:
            return [
                texts[child]
                if in_full and self.above[child][0] == parent
                else self._object(self.new[child], indent, in_full=False)
                for child in self.below.get(parent, ())
            ]

        for id in reversed(self.order):
            inside = style.deeper(indents[id], style.spread_objects, style.spread_rows)
            texts[id] = self._object(self.new[id], indents[id], children(id, inside))
        insertions = []
        roots = [texts[id] for id in self.new if not self.above[id]]
        if roots and isinstance(room, Array):
            insertions.append(style.append(room, roots, style.spread_rows))
        for parent in self.old_parents:
            for number, place in enumerate(self._places(parent)):
                parts = children(parent, self._indent_below(place), in_full=number == 0)
                insertions.append(self._put_below(place, parts))
        return insertions

    def _indent_of(self, id: str, indents: dict[str, str]) -> str:
        """The indentation of a new object, which stands in its first parent's or in the list."""
        style, room = self.style, self.shape.room
        if self.above[id]:
            parent = self.above[id][0]
            if parent in indents:
                return style.deeper(indents[parent], style.spread_objects, style.spread_rows)
            return self._indent_below(self._places(parent)[0])
        if isinstance(room, Array):
            return style.inside(room)
        message = f"the file has room for one root only; choose a parent for {self.new[id].label!r}"
        raise FormatError(self.path, message)

    def _places(self, parent: str) -> list[Object]:
        """The objects of an old concept that list its children, or one that can be made to."""
        objects = self.objects[parent]
        listing = [entry for entry in objects if key_of(entry, "children")]
        free = [entry for entry in objects if self.habits.keys["children"] not in entry]
        named = [entry for entry in free if key_of(entry, "label")]
        if not listing and not free:
            message = f"the children of {parent!r} are null; write [] in its place"
            raise FormatError(self.path, message, objects[0].line)
        return listing or named[:1] or free[:1]

    def _indent_below(self, place: Object) -> str:
        """The indentation of what is put among the children of an old concept."""
        style, key = self.style, key_of(place, "children")
        if key:
            return style.inside(place[key])
        own = style.margin(place.start)
        return style.deeper(own, style.is_spread(place), style.spread_rows)

    def _put_below(self, place: Object, parts: Sequence[str]) -> Insertion:
        style, key = self.style, key_of(place, "children")
        if key:
            return style.append(place[key], parts, self._spread_children)
        indent = style.deeper(style.margin(place.start), style.is_spread(place))
        many = style.enclosed("[]", parts, indent, self._spread_children)
        return style.with_member(place, self.habits.keys["children"], many)

    @property
    def _spread_children(self) -> bool:
        return self.style.spread_rows if self.habits.nests else self.style.spread_words

    def _object(
        self, concept: Concept, indent: str, below: Sequence[str] = (), in_full: bool = True
    ) -> str:
        """A concept as an object, its keys in the order of the file's."""
        style, keys = self.style, self.habits.keys
        inner = style.deeper(indent, style.spread_objects)
        told = {"label": style.scalar(concept.label)}
        if self.shape.has_ids:
            told = {"id": self.spelled(concept.id), **told}
        if in_full:
            told |= {
                role: text
                for role, (there, text) in self._details(concept, inner).items()
                if there or role in self.habits.always
            }
            if below or "children" in self.habits.always:
                told["children"] = style.enclosed("[]", below, inner, self._spread_children)
        order = list(self.habits.sample)
        members = sorted(
            ((keys[role], text) for role, text in told.items()),
            key=lambda member: order.index(member[0]) if member[0] in order else len(order),
        )
        return style.object(members, indent, style.spread_objects)

    def _details(self, concept: Concept, indent: str) -> dict[str, tuple[bool, str]]:
        """What an object may say beside its name: whether there is anything, and its text."""
        style = self.style
        parents = self._ids(self.above[concept.id]) if self.habits.tells_parents else []
        one = parents[0] if parents else "null"
        synonyms = [style.scalar(name) for name in concept.synonyms]
        many = [style.enclosed("[]", m, indent, style.spread_words) for m in (parents, synonyms)]
        return {
            "parents": (bool(parents), one if self.habits.one_parent else many[0]),
            "synonyms": (bool(synonyms), many[1]),
            "definition": (bool(concept.definition), style.scalar(concept.definition)),
            "deprecated": (concept.deprecated, style.scalar(concept.deprecated)),
        }

    def _edge(self, edges: Array, parent: str, child: str) -> str:
        """A relation in the shape of the first edge."""
        style, ends = self.style, {"parent": self.spelled(parent), "child": self.spelled(child)}
        model = edges[0] if edges else Object(0, 0)
        spread = style.is_spread(model) if edges else style.spread_objects
        indent = style.inside(edges)
        if isinstance(model, Array):
            return style.enclosed("[]", list(ends.values()), indent, spread)
        keys = {role: key_of(model, role) or role for role in ends}
        order = sorted(ends, key=lambda role: [*model, *keys.values()].index(keys[role]))
        return style.object([(keys[role], ends[role]) for role in order], indent, spread)

    def _ids(self, ids: Sequence[str]) -> list[str]:
        return [self.spelled(id) for id in ids]

    def spelled(self, id: str) -> str:
        """An id as the file writes it."""
        name = self.names.get(id, id)
        whole = self.habits.integers and _INTEGER.fullmatch(name)
        return name if whole else self.style.scalar(name)

    def _paths(self) -> dict[str, str]:
        """The path of each new concept, which is its id where the file has none."""
        paths: dict[str, str] = {}
        taken = set(self.shape.ids)
        for id in self.order:
            label, parents = self.new[id].label, self.above[id]
            if len(parents) > 1:
                message = f"without ids a concept has one parent, and {label!r} was given several"
                raise FormatError(self.path, f"{message}; choose one")
            path = label
            if parents:
                path = f"{paths.get(parents[0], parents[0])}{SEPARATOR}{label}"
            if path in taken:
                message = f"the path {path!r} would be there twice; rename the term"
                raise FormatError(self.path, message)
            taken.add(path)
            paths[id] = path
        return paths

    def _refuse_unfit(self) -> None:
        """Refuse what would not be read back as it is."""
        for concept in self.new.values():
            words = [concept.id, concept.label, concept.definition, *concept.synonyms]
            blank = [word for word in words if word != word.strip() or "\0" in word]
            if blank or not concept.label:
                message = f"the new concept {concept.label!r} has {(blank or [''])[0]!r}"
                raise FormatError(self.path, f"{message}; take the outer spaces out")
            if self.habits.integers and not _INTEGER.fullmatch(concept.id):
                message = f"ids are whole numbers here, and {concept.id!r} is none"
                raise FormatError(self.path, f"{message}; give {concept.label!r} another id")
            many = len(self.above[concept.id])
            if many > 1 and self.habits.tells_parents and self.habits.one_parent:
                key = self.habits.keys["parents"]
                message = f"{key!r} holds one parent here, and {concept.label!r} was given {many}"
                raise FormatError(self.path, f"{message}; choose one")
