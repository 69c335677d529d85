"""Edits of a JSON file that follow its layout and keep every other byte."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from taxoexpan.formats.json.document import (
    Array,
    Lines,
    Number,
    Object,
    objects_in,
    skip_space,
    value_span,
)
from taxoexpan.formats.text_file import Insertion, TextFile

_INDENT = re.compile(r"[ \t]*")
_COLON = re.compile(r"[ \t\n\r]*:[ \t]*\Z")
_MAX_EXAMPLES = 10_000


class JsonEditor:
    """An editor that appends entries to lists, adds members to objects, and sets values.

    A new value is on one line or on several, like the last value of its kind under the same key, or
    else under any key, inside `examples` and `lists`.
    """

    def __init__(self, source: TextFile, examples: Iterable[Any], lists: Mapping[str, Any]) -> None:
        self.source = source
        self.text = source.text
        found = (entry for entry, _ in objects_in(list(examples)) if entry)
        objects = list(islice(found, _MAX_EXAMPLES))
        typical = next(filter(_is_flat, objects), objects[0])
        shown = [member for entry in objects for member in entry.items() if _kind(member[1])]
        shown = [("", typical), *lists.items(), *shown]
        self._multiline: dict[tuple[str, str], bool] = {}
        for key, value in (member for member in shown if member[1]):
            for place in ((key, _kind(value)), ("", _kind(value))):
                self._multiline[place] = self.is_multiline(value)
        self._multiline_entries = self.is_multiline(typical)
        containers = [value for _, value in shown if value]
        units = map(self._added_indent, filter(self.is_multiline, containers))
        self._indent_unit = next(units, "  ")
        rows = (row for row in containers if type(row) is Array and not self.is_multiline(row))
        self._padding = next(map(self._space_after_opening, rows), "")
        first_value = next(iter(typical.places.values()))
        colon = _COLON.search(self.text[typical.start : first_value])
        self._colon = colon[0] if colon else ": "
        self._comma = ", " if self._colon.endswith(" ") else ","
        self._is_ascii = self.text.isascii()

    def append(self, array: Array, values: Sequence[Any], key: str = "") -> list[Insertion]:
        """Append entries to a list; the key determines the layout of an empty list."""
        if not values:
            return []
        indent = self._indent_at(array.start)
        if not array:
            text = self._format(list(values), indent, self._is_multiline(key, values))
            return [Insertion(array.start + 1, text[1:-1])]
        example = next(filter(_is_flat, array), array[0])
        multiline = isinstance(example, Object | Array) and self.is_multiline(example)
        if isinstance(array, Lines):
            return self.source.append([self._format(value, "", multiline) for value in values])
        if self.is_multiline(array):
            indent = self._space_after_opening(array).rpartition("\n")[2]
        separator = self._separator(array)
        added = "".join(separator + self._format(value, indent, multiline) for value in values)
        return [Insertion(self._content_end(array), added)]

    def add(self, target: Object, key: str, values: Sequence[Any]) -> list[Insertion]:
        """Add entries to the list under a key; a single value becomes a list."""
        old = target.get(key)
        if isinstance(old, Array):
            return self.append(old, values, key)
        if old is None:
            return [self.set(target, key, list(values))]
        return self.enlist(value_span(self.text, target, key), values)

    def enlist(self, span: tuple[int, int], values: Sequence[Any]) -> list[Insertion]:
        """Turn the single value at this span into a list with further entries."""
        indent = self._indent_at(span[0])
        texts = (self._format(value, indent, self._multiline_entries) for value in values)
        added = "".join(self._comma + text for text in texts)
        return [Insertion(span[0], "["), Insertion(span[1], f"{added}]")]

    def set(self, target: Object | Array, key: str | int, value: Any) -> Insertion:
        """Replace the value of a member or an entry, or add a new last member."""
        indent = self._indent_at(target.start) + self._indent_unit * self.is_multiline(target)
        if isinstance(target, Array) or key in target:
            start, end = value_span(self.text, target, key)
            text = self._format(value, indent, self._is_multiline(str(key), value))
            return Insertion(start, text, self.text[start:end])
        member = self._member(str(key), value, indent)
        return Insertion(self._content_end(target), self._separator(target) + member)

    def is_multiline(self, container: Object | Array) -> bool:
        """Return whether a line ends after the opening bracket."""
        return "\n" in self._space_after_opening(container)

    def _is_multiline(self, key: str, value: Any) -> bool:
        """Return whether a new value under a key is on several lines."""
        default = self._multiline.get(("", _kind(value)), self._multiline_entries)
        return self._multiline.get((key, _kind(value)), default)

    def _format(self, value: Any, indent: str, multiline: bool) -> str:
        """Format a value; `indent` is the indentation of its first line."""
        if isinstance(value, Number):
            return value
        if not isinstance(value, dict | list) or not value:
            return json.dumps(value, ensure_ascii=self._is_ascii)
        inner = indent + self._indent_unit * multiline
        if isinstance(value, dict):
            brackets = "{}"
            padding = ""
            parts = [self._member(key, part, inner) for key, part in value.items()]
        else:
            brackets = "[]"
            padding = self._padding
            parts = [self._format(part, inner, self._multiline_entries) for part in value]
        if not multiline:
            return brackets[0] + padding + self._comma.join(parts) + padding + brackets[1]
        newline = self.source.newline
        lines = f",{newline}{inner}".join(parts)
        return f"{brackets[0]}{newline}{inner}{lines}{newline}{indent}{brackets[1]}"

    def _member(self, key: str, value: Any, indent: str) -> str:
        name = json.dumps(key, ensure_ascii=self._is_ascii)
        return name + self._colon + self._format(value, indent, self._is_multiline(key, value))

    def _separator(self, container: Object | Array) -> str:
        """Return the characters between the last part and an appended part."""
        multiline = self.is_multiline(container)
        return f",{self._space_after_opening(container)}" if multiline else self._comma

    def _space_after_opening(self, container: Object | Array) -> str:
        start = container.start + 1
        return self.text[start : skip_space(self.text, start)]

    def _content_end(self, container: Object | Array) -> int:
        """Return the offset after the last value of a non-empty container."""
        end = container.end - 1
        while self.text[end - 1] in " \t\n\r":
            end -= 1
        return end

    def _added_indent(self, container: Object | Array) -> str:
        inner = self._space_after_opening(container).rpartition("\n")[2]
        return inner.removeprefix(self._indent_at(container.start))

    def _indent_at(self, offset: int) -> str:
        """Return the white space at the start of the line that contains `offset`."""
        starts = self.source.starts
        indent = _INDENT.match(self.text, starts[bisect_right(starts, offset) - 1])
        return indent[0] if indent else ""


def in_order(value: Mapping[str, Any], sample: Iterable[str]) -> dict[str, Any]:
    """Return members in the order of a sample; members that the sample lacks come last."""
    places = {key: place for place, key in enumerate(sample)}
    return dict(sorted(value.items(), key=lambda member: places.get(member[0], len(places))))


def _kind(value: Any) -> str:
    """Return whether a value is an object, a list of objects, a list of words, or none of them."""
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "objects" if value and isinstance(value[0], dict) else "words"
    return ""


def _is_flat(entry: Any) -> bool:
    """Return whether an entry of a list contains no list of objects."""
    return not isinstance(entry, dict) or all(_kind(part) != "objects" for part in entry.values())
