"""New JSON text in the style of the old: what is spread over lines, and how it is indented."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from taxoexpan.formats.json.parser import Array, Object
from taxoexpan.formats.text_file import Insertion, TextFile

_SPACE = re.compile(r"[ \t\n\r]*")
_MARGIN = re.compile(r"[ \t]*")
_COLON = re.compile(r"[ \t\n\r]*:[ \t]*")


class Style:
    """How the text of a file is set, so that what is put in looks like what is there.

    Things are spread where each has a line of its own. `sample` is an object of the file, `rows`
    a list of such objects, `words` a list of texts.
    """

    def __init__(
        self, source: TextFile, sample: Object, rows: Array | None, words: Array | None
    ) -> None:
        self.source, self.text = source, source.text
        self.spread_objects = self.is_spread(sample)
        self.spread_rows = self.is_spread(rows) if rows else self.spread_objects
        self.spread_words = self.is_spread(words) if words else self.spread_objects
        self.unit = self._unit([container for container in (rows, sample) if container])
        first_key = self.text.index('"', sample.start)
        _, key_end = json.JSONDecoder().raw_decode(self.text, first_key)
        colon = _COLON.match(self.text, key_end)
        self.colon = colon[0] if colon else ": "
        self.comma = ", " if self.colon.endswith(" ") else ","

    def scalar(self, value: str | bool | None) -> str:
        """A text, true, false or null; with escapes where the file has nothing but ASCII."""
        return json.dumps(value, ensure_ascii=self.text.isascii())

    def enclosed(self, brackets: str, parts: Sequence[str], indent: str, spread: bool) -> str:
        """Parts between brackets; `indent` is that of the line on which they open."""
        if not parts:
            return brackets
        if not spread:
            return brackets[0] + self.comma.join(parts) + brackets[1]
        line = self.source.newline + indent
        inner = line + self.unit
        return brackets[0] + inner + f",{inner}".join(parts) + line + brackets[1]

    def object(self, members: Sequence[tuple[str, str]], indent: str, spread: bool) -> str:
        """An object of keys and of values that are text already."""
        parts = [f"{self.scalar(key)}{self.colon}{value}" for key, value in members]
        return self.enclosed("{}", parts, indent, spread)

    def deeper(self, indent: str, *spread: bool) -> str:
        """The indentation inside as many brackets as are spread."""
        return indent + self.unit * sum(spread)

    def inside(self, array: Array) -> str:
        """The indentation of what is put at the end of a list."""
        if array and self.is_spread(array):
            return self._opening(array).rpartition("\n")[2]
        return self.deeper(self.margin(array.start), not array and self.spread_rows)

    def append(self, array: Array, parts: Sequence[str], spread: bool) -> Insertion:
        """Parts at the end of a list; one that is blank is set spread or not."""
        if array:
            glue = f",{self._opening(array)}" if self.is_spread(array) else self.comma
            return Insertion(self._last(array), "".join(glue + part for part in parts))
        inner = self.enclosed("[]", parts, self.margin(array.start), spread)[1:-1]
        return Insertion(array.start + 1, inner)

    def with_member(self, target: Object, key: str, value: str) -> Insertion:
        """A member after the last one of an object."""
        glue = f",{self._opening(target)}" if self.is_spread(target) else self.comma
        return Insertion(self._last(target), f"{glue}{self.scalar(key)}{self.colon}{value}")

    def is_spread(self, container: Object | Array) -> bool:
        """Whether a line ends after the opening bracket."""
        return "\n" in self._opening(container)

    def margin(self, offset: int) -> str:
        """The white space with which the line of this place begins."""
        number = bisect_left(self._breaks, offset)
        found = _MARGIN.match(self.text, self._breaks[number - 1] + 1 if number else 0)
        return found[0] if found else ""

    @cached_property
    def _breaks(self) -> list[int]:
        return [found.start() for found in re.finditer("\n", self.text)]

    def _opening(self, container: Object | Array) -> str:
        """The white space after the opening bracket."""
        found = _SPACE.match(self.text, container.start + 1)
        return found[0] if found else ""

    def _last(self, container: Object | Array) -> int:
        """The offset after the last thing in an object or a list that is not blank."""
        end = container.end - 1
        while self.text[end - 1] in " \t\n\r":
            end -= 1
        return end

    def _unit(self, containers: Sequence[Object | Array]) -> str:
        for container in filter(self.is_spread, containers):
            inner = self._opening(container).rpartition("\n")[2]
            return inner.removeprefix(self.margin(container.start))
        return "  "
