"""Old concepts in a JSON file: the parents that give way, and further names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from taxoexpan.formats.json.parser import Array, Object
from taxoexpan.formats.json.schema import Shape, key_of
from taxoexpan.formats.json.style import Style
from taxoexpan.formats.text_file import Insertion
from taxoexpan.taxonomy import Move

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def moved(
    shape: Shape, moves: Sequence[Move], spelled: Callable[[str], str]
) -> Iterator[Insertion]:
    """The new parent's id wherever a child, or an edge, names the old one."""
    joined = {(shift.old_parent, shift.child): spelled(shift.new_parent) for shift in moves}
    for container, key, child in _named_parents(shape) if joined else ():
        new = joined.get((container[key].strip(), child))
        if new is not None:
            yield _replaced(shape.source.text, container, key, new)


def named(
    shape: Shape, style: Style, usual: str, names: Mapping[str, Sequence[str]]
) -> Iterator[Insertion]:
    """Further names in every list of synonyms that a concept has, or in a new one."""
    objects: dict[str, list[Any]] = {}
    for id, entry in zip(shape.ids, shape.objects, strict=True):
        if id in names:
            objects.setdefault(id, []).append(entry)
    for id, entries in objects.items():
        words = [style.scalar(name) for name in names[id]]
        listing = [entry for entry in entries if key_of(entry, "synonyms")]
        labelled = [entry for entry in entries if key_of(entry, "label")]
        for entry in listing or labelled[:1] or entries[:1]:
            yield from _with_words(style, entry, usual, words)


def span(text: str, container: Object | Array, key: str | int) -> tuple[int, int]:
    """The offsets between which a value stands in an object or a list."""
    members: Any = container.items() if isinstance(container, Object) else enumerate(container)
    at = container.start + 1
    for name, value in members:
        at = _past_space(text, at)
        if isinstance(container, Object):
            at = _past_space(text, text.index(":", _DECODER.raw_decode(text, at)[1]) + 1)
        nested = isinstance(value, Object | Array)
        end = value.end if nested else _DECODER.raw_decode(text, at)[1]
        if name == key:
            return at, end
        at = text.index(",", end) + 1
    raise KeyError(key)


def _named_parents(shape: Shape) -> Iterator[tuple[Any, Any, str]]:
    """Every place that names a parent: what it is in, its key there, and the child."""
    for entry, child in zip(shape.objects, shape.ids, strict=True):
        key = key_of(entry, "parents")
        if key is not None and isinstance(entry[key], list):
            yield from ((entry[key], place, child) for place in range(len(entry[key])))
        elif key is not None:
            yield entry, key, child
    edges = shape.edges or []
    for place, (_, child, _) in enumerate(shape.relations()):
        yield edges[place], shape.ends(edges, place)[0], child


def _with_words(style: Style, entry: Object, usual: str, words: list[str]) -> Iterator[Insertion]:
    """What brings further names into an object."""
    key = key_of(entry, "synonyms")
    if key is not None and isinstance(entry[key], Array):
        yield style.append(entry[key], words, style.spread_words)
    elif key is not None:
        # One text becomes a list, by brackets around it.
        start, end = span(style.text, entry, key)
        yield Insertion(start, "[")
        yield Insertion(end, "".join(style.comma + word for word in words) + "]")
    else:
        indent = style.deeper(style.margin(entry.start), style.is_spread(entry))
        many = style.enclosed("[]", words, indent, style.spread_words)
        if usual in entry:
            yield _replaced(style.text, entry, usual, many)
        else:
            yield style.with_member(entry, usual, many)


def _replaced(text: str, container: Object | Array, key: str | int, new: str) -> Insertion:
    start, end = span(text, container, key)
    return Insertion(start, new, text[start:end])


def _past_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at
