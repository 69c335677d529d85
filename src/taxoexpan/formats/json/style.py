"""The layout of a JSON file, so that inserted text looks like the existing text."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from taxoexpan.formats.json.parser import Array, Lines, Object, skip_space
from taxoexpan.formats.text_file import Insertion, TextFile

_INDENT = re.compile(r"[ \t]*")
_COLON = re.compile(r"[ \t\n\r]*:[ \t]*")


class Style:
    """Indentation, separators and line breaks of a JSON file.

    A container is multiline if a line ends after its opening bracket. The style is read from
    examples in the file: `sample` is an object, `rows` a list of objects, `words` one of strings.
    """

    def __init__(
        self, source: TextFile, sample: Object, rows: Array | None, words: Array | None
    ) -> None:
        self.source, self.text = source, source.text
        self.multiline_objects = self.is_multiline(sample)
        self.multiline_rows = self.is_multiline(rows) if rows else self.multiline_objects
        self.multiline_words = self.is_multiline(words) if words else self.multiline_objects
        self.indent_unit = self._find_indent_unit([part for part in (rows, sample) if part])
        first_key = self.text.index('"', sample.start)
        _, key_end = json.JSONDecoder().raw_decode(self.text, first_key)
        colon = _COLON.match(self.text, key_end)
        self.colon = colon[0] if colon else ": "
        self.comma = ", " if self.colon.endswith(" ") else ","
        self.padding = {"{}": "", "[]": self._find_padding([words, rows])}

    def scalar(self, value: str | bool | None) -> str:
        """Return a string, true, false or null; with escapes if the file is pure ASCII."""
        return json.dumps(value, ensure_ascii=self.text.isascii())

    def enclose(self, brackets: str, parts: Sequence[str], indent: str, multiline: bool) -> str:
        """Join parts between brackets; `indent` is that of the line with the opening bracket."""
        if not parts:
            return brackets
        if not multiline:
            padding = self.padding[brackets]
            return brackets[0] + padding + self.comma.join(parts) + padding + brackets[1]
        line = self.source.newline + indent
        inner = line + self.indent_unit
        return brackets[0] + inner + f",{inner}".join(parts) + line + brackets[1]

    def object(self, members: Sequence[tuple[str, str]], indent: str, multiline: bool) -> str:
        """Format an object from keys and values, where the values are JSON text already."""
        return self.enclose("{}", [self._member(*member) for member in members], indent, multiline)

    def deeper(self, indent: str, *multiline: bool) -> str:
        """Return the indentation inside nested containers, given which of them are multiline."""
        return indent + self.indent_unit * sum(multiline)

    def entry_indent(self, array: Array) -> str:
        """Return the indentation of an entry that is appended to a list."""
        if isinstance(array, Lines):
            return ""
        if array and self.is_multiline(array):
            return self._space_after_opening(array).rpartition("\n")[2]
        return self.deeper(self.indent_at(array.start), not array and self.multiline_rows)

    def append(self, array: Array, parts: Sequence[str], multiline: bool) -> Insertion:
        """Append entries to a list; `multiline` decides the layout only if the list is empty."""
        if isinstance(array, Lines):
            (insertion,) = self.source.append(parts)
            return insertion
        if array:
            separator = self._separator(array)
            return Insertion(self._content_end(array), "".join(separator + part for part in parts))
        inner = self.enclose("[]", parts, self.indent_at(array.start), multiline)[1:-1]
        return Insertion(array.start + 1, inner)

    def new_list(self, target: Object, parts: Sequence[str], multiline: bool) -> str:
        """Format a list that becomes a member of an existing object."""
        indent = self.deeper(self.indent_at(target.start), self.is_multiline(target))
        return self.enclose("[]", parts, indent, multiline)

    def add_member(self, target: Object, key: str, value: str) -> Insertion:
        """Add a member after the last one of an object."""
        return Insertion(
            self._content_end(target), self._separator(target) + self._member(key, value)
        )

    def is_multiline(self, container: Object | Array) -> bool:
        """Return whether a line ends after the opening bracket."""
        return "\n" in self._space_after_opening(container)

    def indent_at(self, offset: int) -> str:
        """Return the white space at the start of the line that contains `offset`."""
        number = bisect_left(self._line_breaks, offset)
        indent = _INDENT.match(self.text, self._line_breaks[number - 1] + 1 if number else 0)
        return indent[0] if indent else ""

    @cached_property
    def _line_breaks(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    def _member(self, key: str, value: str) -> str:
        return f"{self.scalar(key)}{self.colon}{value}"

    def _separator(self, container: Object | Array) -> str:
        """Return the text between an existing last part and an appended one."""
        multiline = self.is_multiline(container)
        return f",{self._space_after_opening(container)}" if multiline else self.comma

    def _space_after_opening(self, container: Object | Array) -> str:
        start = container.start + 1
        return self.text[start : skip_space(self.text, start)]

    def _content_end(self, container: Object | Array) -> int:
        """Return the offset after the last value of a container that is not empty."""
        end = container.end - 1
        while self.text[end - 1] in " \t\n\r":
            end -= 1
        return end

    def _find_padding(self, containers: Sequence[Array | None]) -> str:
        """Return the space inside the brackets of the first list on one line."""
        found = (part for part in containers if part and not isinstance(part, Lines))
        single = (part for part in found if not self.is_multiline(part))
        return next(map(self._space_after_opening, single), "")

    def _find_indent_unit(self, containers: Sequence[Object | Array]) -> str:
        for container in filter(self.is_multiline, containers):
            inner = self._space_after_opening(container).rpartition("\n")[2]
            return inner.removeprefix(self.indent_at(container.start))
        return "  "
