"""Relations of a JSON file under keys that are not known, so that none is lost unnoticed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

_RELATIONS = ("parent", "broader", "super", "is_a", "child", "narrower")
_ENDS = 2
"""An entry that names this many concepts is an edge."""


def objects_in(value: Any, leave_out: Collection[int] = ()) -> Iterator[tuple[Any, int]]:
    """Yield all objects inside a value with their depth; lists do not count as a level."""
    stack = [(value, 0)]
    while stack:
        outer, depth = stack.pop()
        if isinstance(outer, list):
            stack += [(inner, depth) for inner in reversed(outer)]
        elif isinstance(outer, dict) and id(outer) not in leave_out:
            yield outer, depth
            stack += [(inner, depth + 1) for inner in reversed(outer.values())]


def find_pairs(value: Any, concepts: Sequence[Any], ids: Iterable[str]) -> tuple[Any, str] | None:
    """Return the object and key of a list of pairs of concepts that is outside all concepts."""
    known, read = set(ids), set(map(id, concepts))
    for entry, _ in objects_in(value, read):
        for key, inner in entry.items():
            entries = inner if isinstance(inner, list) else []
            is_read = not read.isdisjoint(map(id, entries))
            if entries and not is_read and all(_is_pair(each, known) for each in entries):
                return entry, key
    return None


def find_references(
    concepts: Sequence[Any], ids: Sequence[str], read: Collection[str]
) -> tuple[Any, str] | None:
    """Return an object and a key that names other concepts in at least half of the objects.

    Once is enough if the key itself suggests a relation, such as `parentCategory`.
    """
    known, places = set(ids), dict[str, list[Any]]()
    for own, entry in zip(ids, concepts, strict=True):
        for key, value in entry.items():
            if key not in read and _names_another(value, own, known, _is_relation(key)):
                places.setdefault(key, []).append(entry)
    found = (
        key
        for key, entries in places.items()
        if _is_relation(key) or 2 * len(entries) >= len(concepts)
    )
    return next(((places[key][0], key) for key in found), None)


def _is_relation(key: str) -> bool:
    """Return whether a key suggests that it relates concepts."""
    return any(word in key.lower() for word in _RELATIONS)


def _names_another(value: Any, own: str, known: set[str], numbers: bool) -> bool:
    """Return whether a value has the id of another concept, as a text or inside an object.

    Without `numbers`, a number is not taken for an id, because it may be a level or a count.
    """
    for entry in value if isinstance(value, list) else [value]:
        for text in entry.values() if isinstance(entry, dict) else [entry]:
            is_text = isinstance(text, str) if numbers else type(text) is str
            if is_text and text.strip() in known and text.strip() != own:
                return True
    return False


def _is_pair(entry: Any, known: set[str]) -> bool:
    """Return whether an entry of a list has at least two ids, as an edge does."""
    values = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ()
    texts = (value.strip() for value in values if isinstance(value, str))
    return len(known.intersection(texts)) >= _ENDS
