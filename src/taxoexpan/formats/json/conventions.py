"""How a JSON file represents its concepts, so that new ones follow the same conventions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from taxoexpan.formats.json.parser import Array, Number
from taxoexpan.formats.json.schema import KEYS, JsonConcepts, find_key
from taxoexpan.formats.json.style import Style

INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")


class Conventions:
    """The keys a file uses, the type of its ids, and how it represents relations.

    `keys` has the key of each field, `required` the fields that every object has. Relations are
    edges, nesting (`nests`), ids of children (`lists_children`) or ids of parents
    (`names_parents`).
    """

    def __init__(self, concepts: JsonConcepts) -> None:
        self.concepts = concepts
        leaves = (entry for entry in concepts.objects if not concepts.children(entry))
        self.sample: Any = next(leaves, concepts.objects[0])
        self.keys = {field: self._used_key(field) or names[0] for field, names in KEYS.items()}
        self.required = {
            field
            for field, key in self.keys.items()
            if all(key in entry for entry in concepts.objects)
        }
        self.integer_ids = concepts.has_ids and all(
            map(self._has_integer_id, concepts.objects, concepts.own_ids)
        )
        has_edges = concepts.edges is not None
        by_ids = any(concepts.child_ids(entry) for entry in concepts.objects)
        nested = concepts.root_list is None or any(outer >= 0 for outer in concepts.nested_in)
        # Without any other sign of relations, lists of children count even if all are empty.
        only_empty_lists = (
            self._used_key("children") is not None
            and self._used_key("parents") is None
            and not by_ids
        )
        self.nests = not has_edges and (nested or only_empty_lists)
        self.lists_children = not has_edges and not self.nests and by_ids
        otherwise = has_edges or self.nests or self.lists_children
        self.names_parents = self._used_key("parents") is not None or not otherwise
        self.single_parent = self._has_single_parents()

    def style(self) -> Style:
        """Return the layout of the file, judged by an object without nested objects."""
        objects = self.concepts.objects
        lists: list[Any] = [self.concepts.root_list, *map(self.concepts.children, objects)]
        rows = next((rows for rows in lists if rows and isinstance(rows[0], dict)), None)
        words = next(self._lists_of_strings(), None)
        return Style(self.concepts.source, self.sample, rows, words)

    def _used_key(self, field: str) -> str | None:
        """Return the key that the file uses first for a field, even if its value is null."""
        keys = KEYS[field]
        return next((key for entry in self.concepts.objects for key in keys if key in entry), None)

    def _has_integer_id(self, entry: dict[str, Any], own_id: str) -> bool:
        key = find_key(entry, "id")
        return key is None or (isinstance(entry[key], Number) and bool(INTEGER.fullmatch(own_id)))

    def _has_single_parents(self) -> bool:
        """Return whether the parents of an object are one id and not a list."""
        keys = [(entry, find_key(entry, "parents")) for entry in self.concepts.objects]
        values = [entry[key] for entry, key in keys if key]
        if not values:
            return self.keys["parents"] != KEYS["parents"][0]
        return not any(isinstance(value, list) for value in values)

    def _lists_of_strings(self) -> Iterator[Array]:
        for entry in self.concepts.objects:
            for field in ("synonyms", "parents", "children"):
                values = entry.get(self.keys[field])
                if isinstance(values, Array) and values and not isinstance(values[0], dict):
                    yield values
