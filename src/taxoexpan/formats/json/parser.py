"""JSON as text: a parser whose objects and lists know where they stand."""

from __future__ import annotations

import json
import re
from typing import Any

from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import TextFile

_SPACE = re.compile(r"[ \t\n\r]*")
_VALUE = re.compile(
    r"""[ \t\n\r]*(?:
        "(?P<string>[^"\\\x00-\x1f]*)"
        | (?P<number>-?(?:Infinity|(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)|NaN)
        | (?P<opening>\[(?:[ \t\n\r]*\])?|\{(?:[ \t\n\r]*\})?)
        | (?P<constant>true|false|null)
    )""",
    re.VERBOSE,
)
_KEY = re.compile(r'[ \t\n\r]*"([^"\\\x00-\x1f]*)"[ \t\n\r]*:')
_MARK = re.compile(r"[ \t\n\r]*([,:\]}])")
_CONSTANTS = {"true": True, "false": False, "null": None}


class Number(str):
    """A number as it is written, however large."""

    __slots__ = ()


class Object(dict[str, Any]):
    """An object with its offsets, its line, and the line of every key."""

    __slots__ = ("end", "line", "lines", "start")
    closing = "}"

    def __init__(self, start: int, line: int) -> None:
        super().__init__()
        self.start, self.end, self.line = start, start, line
        self.lines: dict[str, int] = {}

    def put(self, value: Any, line: int) -> None:  # noqa: ARG002  # a key has its own line
        """Give the last key its value."""
        self[next(reversed(self.lines))] = value


class Array(list[Any]):
    """A list with its offsets, its line, and the line of everything in it."""

    __slots__ = ("end", "line", "lines", "start")
    closing = "]"

    def __init__(self, start: int, line: int) -> None:
        super().__init__()
        self.start, self.end, self.line = start, start, line
        self.lines: list[int] = []

    def put(self, value: Any, line: int) -> None:
        """Add a value that begins on this line."""
        self.append(value)
        self.lines.append(line)


def load(source: TextFile) -> Any:
    """The value of a JSON file, without places where that is faster."""
    try:
        return _PLAIN.decode(source.text)
    except (ValueError, RecursionError):
        # This one says where the trouble is, and goes as deep as the file does.
        return parse(source)


def parse(source: TextFile) -> Any:
    """The value of a JSON file, its objects and lists with their places."""
    return _Parser(source).whole()


def line_in(container: Any, key: str | int) -> int:
    """The line of something in an object or a list; 0 where it was read without places."""
    lines: Any = getattr(container, "lines", None)
    return lines[key] if lines else 0


def line_of(container: Any) -> int:
    """The line on which an object or a list begins; 0 where it was read without places."""
    line: int = getattr(container, "line", 0)
    return line


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key is there twice")
    return value


_PLAIN = json.JSONDecoder(
    object_pairs_hook=_without_repeats,
    parse_int=Number,
    parse_float=Number,
    parse_constant=Number,
)


class _Parser:
    """Reads a text from left to right; what is open lies on a stack, so depth is no matter."""

    def __init__(self, source: TextFile) -> None:
        self.source, self.text = source, source.text
        self.at = self.counted = 0
        self.line = 1

    def whole(self) -> Any:
        """The one value of the text."""
        opened: list[Object | Array] = []
        while True:
            value, line, holds_more = self._value()
            if holds_more:
                opened.append(value)
                self._begin_next(value)
                continue
            while opened:
                around = opened[-1]
                around.put(value, line)
                if self._mark(f",{around.closing}", f"',' or {around.closing!r}") == ",":
                    self._begin_next(around)
                    break
                around.end = self.at
                value = opened.pop()
                line = value.line
            else:
                self._skip()
                if self.at < len(self.text):
                    raise self._unexpected("the end of the file")
                return value

    def _value(self) -> tuple[Any, int, bool]:
        """A value, its line, and whether only the opening of it is read."""
        found = _VALUE.match(self.text, self.at)
        if found is None:
            text = self._string("a value")
            return text, self._line(self.at), False
        kind, written = found.lastgroup or "", found[found.lastindex or 0]
        self.at = found.end()
        start = found.start(kind)
        line = self._line(start)
        if kind == "string":
            return written, line, False
        if kind == "number":
            return Number(written), line, False
        if kind == "constant":
            return _CONSTANTS[written], line, False
        value = (Object if written[0] == "{" else Array)(start, line)
        value.end = self.at
        return value, line, len(written) == 1

    def _begin_next(self, around: Object | Array) -> None:
        """Read the key of what comes next, where it has one."""
        if isinstance(around, Array):
            return
        found = _KEY.match(self.text, self.at)
        if found:
            key, line = found[1], self._line(found.start(1))
            self.at = found.end()
        else:
            key = self._string("a key in double quotes")
            line = self._line(self.at)
            self._mark(":", "':'")
        if key in around.lines:
            message = f"the key {key!r} is already on line {around.lines[key]}; remove one"
            raise FormatError(self.source.path, message, line)
        around.lines[key] = line

    def _string(self, wanted: str) -> str:
        """A string with escapes, or none at all."""
        self._skip()
        if not self.text.startswith('"', self.at):
            raise self._unexpected(wanted)
        try:
            text, self.at = _PLAIN.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            message = f"not JSON ({error.msg}); look for a quote that is not closed"
            raise FormatError(self.source.path, message, error.lineno) from None
        return str(text)

    def _mark(self, allowed: str, wanted: str) -> str:
        """The next sign between values, read past."""
        found = _MARK.match(self.text, self.at)
        if found is None or found[1] not in allowed:
            self._skip()
            raise self._unexpected(wanted)
        self.at = found.end()
        return found[1]

    def _skip(self) -> None:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at

    def _line(self, at: int) -> int:
        self.line += self.text.count("\n", self.counted, at)
        self.counted = at
        return self.line

    def _unexpected(self, wanted: str) -> FormatError:
        found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
        message = f"not JSON: {found} where {wanted} was expected; correct it"
        return FormatError(self.source.path, message, self.source.line_at(self.at))
