"""How a JSON file represents its concepts, so that new ones follow the same conventions."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from taxoexpan.formats.json.parser import Array, Number
from taxoexpan.formats.json.schema import CONCEPT_KEYS, KEYS, JsonConcepts, find_key
from taxoexpan.formats.json.style import Style

_EMPTY = {
    "parents": "[]",
    "children": "[]",
    "synonyms": "[]",
    "definition": '""',
    "deprecated": "false",
}
"""The optional fields, and how to write one without a value if the file shows no example."""

INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")


class Conventions:
    """The keys a file uses, the type of its ids, and how it represents relations.

    `keys` has the key of each field, and `empty` the JSON text of a field without a value; fields
    that are left out then are missing. Relations are edges, nesting (`nests`), references to
    children (`lists_children`) or references to parents (`names_parents`). A reference is an id,
    or an object like `parent_object` or `child_object`. `copies` says whether a nested file
    repeats the whole concept under each of its parents. `other_empty` has the other keys that
    every object has, if they may be empty, and the JSON text of their empty value.
    """

    def __init__(self, concepts: JsonConcepts) -> None:
        self.concepts = concepts
        indices = range(len(concepts.objects))
        references = set(filter(concepts.is_reference, indices))
        self.full_objects: list[Any] = [
            concepts.objects[index] for index in indices if index not in references
        ]
        leaves = [entry for entry in self.full_objects if not concepts.children(entry)]
        self.sample: Any = next(iter(leaves), concepts.objects[0])
        self.keys = {field: self._used_key(field) or names[0] for field, names in KEYS.items()}
        self.integer_ids = concepts.has_ids and all(
            map(self._has_integer_id, concepts.objects, concepts.own_ids)
        )
        self.child_object: Any = next((concepts.objects[i] for i in sorted(references)), None)
        self.parent_object: Any = next(self._parent_objects(), None)
        has_edges = concepts.edges is not None
        by_ids = any(map(concepts.child_ids, concepts.objects)) or bool(references)
        nested = any(concepts.nested_in[i] >= 0 and i not in references for i in indices)
        # Without any other sign of relations, lists of children count even if all are empty.
        only_empty_lists = (
            self._used_key("children") is not None
            and self._used_key("parents") is None
            and not by_ids
        )
        self.nests = not has_edges and (nested or not concepts.root_lists or only_empty_lists)
        self.lists_children = not has_edges and not self.nests and by_ids
        otherwise = has_edges or self.nests or self.lists_children
        self.names_parents = self._used_key("parents") is not None or not otherwise
        self.single_parent = self._has_single_parents()
        self.copies = self._has_copies()
        self.empty = self._empty_values(leaves or self.full_objects)
        self.other_empty = self._other_empty_values(leaves or self.full_objects)

    def style(self) -> Style:
        """Return the layout of the file, judged by an object without nested objects."""
        objects = self.concepts.objects
        lists: list[Any] = [*self.concepts.root_lists, *map(self.concepts.children, objects)]
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

    def _parent_objects(self) -> Iterator[Any]:
        for entry in self.concepts.objects:
            key = find_key(entry, "parents")
            value = entry[key] if key else None
            for parent in value if isinstance(value, list) else [value]:
                if isinstance(parent, dict):
                    yield parent

    def _has_copies(self) -> bool:
        """Return whether all objects of a concept are alike, not only short references."""
        repeated = [same for same in self.concepts.objects_by_id.values() if len(same) > 1]
        parents = [same for same in repeated if any(map(self.concepts.children, same))]
        if parents:
            return all(all(map(self.concepts.children, same)) for same in parents)
        return bool(repeated) and all(same[0].keys() == e.keys() for same in repeated for e in same)

    def _empty_values(self, leaves: list[Any]) -> dict[str, str]:
        """Return the text of each field without a value, as most leaves (or roots) write it."""
        empty: dict[str, str] = {}
        for field, default in _EMPTY.items():
            entries = self.full_objects if field == "parents" else leaves
            key = self.keys[field]
            lacking = [entry for entry in entries if not self._has_value(entry, field)]
            texts = Counter(_empty_text(entry[key]) if key in entry else "" for entry in lacking)
            if not lacking and all(key in entry for entry in entries):
                texts[default] = 1
            text = max(texts, key=lambda text: (texts[text], not text), default="")
            empty.update({field: text} if text else {})
        return empty

    def _other_empty_values(self, leaves: list[Any]) -> dict[str, str]:
        """Return the most frequent empty text of each key that is no field but in all leaves.

        Roots do not count if the file shows which concepts are, because an empty list of ancestors
        is right for them only.
        """
        leaves = list(filter(self.concepts.parents, leaves)) or leaves
        empty: dict[str, str] = {}
        for key in leaves[0] if leaves else ():
            if key not in CONCEPT_KEYS and all(key in entry for entry in leaves):
                values = (entry[key] for entry in leaves)
                texts = Counter(_empty_text(value) for value in values if value in (None, "", []))
                if texts:
                    empty[key] = texts.most_common(1)[0][0]
        return empty

    def _has_value(self, entry: Any, field: str) -> bool:
        if field == "parents":
            return bool(self.concepts.parents(entry))
        return any(map(entry.get, KEYS[field]))

    def _lists_of_strings(self) -> Iterator[Array]:
        for entry in self.concepts.objects:
            for field in ("synonyms", "parents", "children"):
                values = entry.get(self.keys[field])
                if isinstance(values, Array) and values and not isinstance(values[0], dict):
                    yield values


def _empty_text(value: Any) -> str:
    """Return the JSON text of a value that stands for none, such as null, [] or 0."""
    if isinstance(value, Number):
        return value
    return "[]" if isinstance(value, list) else json.dumps(value)
