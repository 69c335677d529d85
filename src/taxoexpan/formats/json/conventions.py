"""How a JSON file represents its concepts, so that new ones follow the same conventions."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from taxoexpan.formats.json.parser import Number, decode
from taxoexpan.formats.json.schema import CONCEPT_KEYS, KEYS, JsonConcepts, find_key

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

    `keys` has the key of each field, and `empty` the values of keys without content; keys that are
    left out then are missing. Relations are edges, nesting (`nests`), references to children
    (`lists_children`) or references to parents (`names_parents`). A reference is an id, or an
    object like `parent_object` or `child_object`. `copies` says whether a nested file repeats the
    whole concept under each of its parents. `sample` is an object with the usual order of keys.
    """

    def __init__(self, concepts: JsonConcepts) -> None:
        self.concepts = concepts
        indices = range(len(concepts.objects))
        references = list(filter(concepts.is_reference, indices))
        full: list[Any] = [concepts.objects[i] for i in sorted({*indices} - {*references})]
        leaves = [entry for entry in full if not concepts.children(entry)] or full
        self.sample: Any = leaves[0] if leaves else concepts.objects[0]
        self.keys = {field: self._used_key(field) or names[0] for field, names in KEYS.items()}
        self.integer_ids = concepts.has_ids and all(map(self._has_integer_id, concepts.objects))
        self.child_object: Any = next((concepts.objects[i] for i in references), None)
        self.parent_object: Any = next(self._parent_objects(), None)
        has_edges = concepts.edges is not None
        listed = (child for entry in concepts.objects for child in concepts.children(entry))
        by_ids = any(isinstance(child, str) for child in listed) or bool(references)
        nested = sum(outer >= 0 for outer in concepts.nested_in) > len(references)
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
        self.empty = self._empty_values(full, leaves)

    def _used_key(self, field: str) -> str | None:
        """Return the key that the file uses first for a field, even if its value is null."""
        keys = KEYS[field]
        return next((key for entry in self.concepts.objects for key in keys if key in entry), None)

    def _has_integer_id(self, entry: dict[str, Any]) -> bool:
        key = find_key(entry, "id")
        return key is None or (
            isinstance(entry[key], Number) and INTEGER.fullmatch(entry[key]) is not None
        )

    def _has_single_parents(self) -> bool:
        """Return whether the parents of an object are one id and not a list."""
        keys = [(entry, find_key(entry, "parents")) for entry in self.concepts.objects]
        values = [entry[key] for entry, key in keys if key]
        if not values:
            return self.keys["parents"] != KEYS["parents"][0]
        return not any(isinstance(value, list) for value in values)

    def _parent_objects(self) -> Iterator[Any]:
        for entry in self.concepts.objects:
            for container, key in self.concepts.places(entry, "parents"):
                if isinstance(container[key], dict):
                    yield container[key]

    def _has_copies(self) -> bool:
        """Return whether all objects of a concept are alike, not only short references."""
        repeated = [same for same in self.concepts.objects_by_id.values() if len(same) > 1]
        parents = [same for same in repeated if any(map(self.concepts.children, same))]
        if parents:
            return all(all(map(self.concepts.children, same)) for same in parents)
        return bool(repeated) and all(same[0].keys() == e.keys() for same in repeated for e in same)

    def _empty_values(self, full: list[Any], leaves: list[Any]) -> dict[str, Any]:
        """Return the value that most leaves (or roots) without content have under each key.

        Roots do not count for keys that are not fields, if the file shows which concepts are
        roots, because an empty list of ancestors is right for them only.
        """
        fields = {self.keys[field]: (field, default) for field, default in _EMPTY.items()}
        children = list(filter(self.concepts.parents, leaves)) or leaves
        others = [key for key in (children[0] if children else ()) if key not in CONCEPT_KEYS]
        empty: dict[str, Any] = {}
        for key in (*fields, *others):
            field, default = fields.get(key, ("", ""))
            entries = full if field == "parents" else leaves if field else children
            lacking = [entry for entry in entries if not self._has_value(entry, field, key)]
            texts = Counter(_text(entry[key]) if key in entry else "" for entry in lacking)
            if not lacking and all(key in entry for entry in entries):
                texts[default] = 1
            if text := max(texts, key=lambda text: (texts[text], not text), default=""):
                empty[key] = decode(text)
        return empty

    def _has_value(self, entry: Any, field: str, key: str) -> bool:
        if field == "parents":
            return bool(self.concepts.parents(entry))
        if field:
            return any(map(entry.get, KEYS[field]))
        return entry.get(key) not in (None, "", [])


def _text(value: Any) -> str:
    """Return the JSON text of a value that stands for none, such as null, [] or 0."""
    if isinstance(value, Number):
        return value
    return "[]" if isinstance(value, list) else json.dumps(value)
