"""A JSON parser whose objects and lists know their position in the text."""

from __future__ import annotations

import json
import re
from itertools import islice
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
_PUNCTUATION = re.compile(r"[ \t\n\r]*([,:\]}])")
_CONSTANTS = {"true": True, "false": False, "null": None}


LINES_SUFFIXES = (".jsonl", ".ndjson")


class Number(str):
    """A number as written in the file, of any size."""

    __slots__ = ()


class Object(dict[str, Any]):
    """An object with its offsets, its line, and the line of every key."""

    __slots__ = ("end", "line", "lines", "start")
    closing = "}"

    def __init__(self, start: int, line: int) -> None:
        super().__init__()
        self.start, self.end, self.line = start, start, line
        self.lines: dict[str, int] = {}

    def add(self, value: Any, line: int) -> None:  # keys have their own lines
        """Set the value of the last key."""
        self[next(reversed(self.lines))] = value


class Array(list[Any]):
    """A list with its offsets, its line, and the line of every entry."""

    __slots__ = ("end", "line", "lines", "start")
    closing = "]"

    def __init__(self, start: int, line: int) -> None:
        super().__init__()
        self.start, self.end, self.line = start, start, line
        self.lines: list[int] = []

    def add(self, value: Any, line: int) -> None:
        """Append a value that begins on this line."""
        self.append(value)
        self.lines.append(line)


class Lines(Array):
    """The objects of a JSON Lines file, one per line, without brackets around them."""

    __slots__ = ()


def is_json_lines(source: TextFile) -> bool:
    """Return whether a file is JSON Lines, by its name or because each line is an object."""
    if source.suffix in LINES_SUFFIXES:
        return True
    lines = list(islice((line for line in source.lines if line.strip()), 2))
    return len(lines) == 2 and _is_object(lines[0]) and lines[1].lstrip().startswith("{")


def load(source: TextFile) -> Any:
    """Return the value of a JSON file, usually without positions, which is much faster."""
    try:
        if is_json_lines(source):
            return [_DECODER.decode(line) for line in source.lines if line.strip()]
        return _DECODER.decode(source.text)
    except (ValueError, RecursionError):
        # The other parser reports the line of an error and has no depth limit.
        return source.parsed(parse)


def parse(source: TextFile) -> Any:
    """Return the value of a JSON file; its objects and lists have positions."""
    parser = _Parser(source)
    if not is_json_lines(source):
        return parser.parse()
    lines = Lines(0, 1)
    while skip_space(source.text, parser.offset) < len(source.text):
        value = parser.parse_value()
        lines.add(value, line_of(value) or parser.line)
    lines.end = len(source.text)
    return lines


def _is_object(text: str) -> bool:
    try:
        return isinstance(_DECODER.decode(text), dict)
    except (ValueError, RecursionError):
        return False


def line_in(container: Any, key: str | int) -> int:
    """Return the line of a member or entry, or 0 if it was read without positions."""
    lines: Any = getattr(container, "lines", None)
    return lines[key] if lines else 0


def line_of(container: Any) -> int:
    """Return the line on which an object or list begins, or 0 if it has no position."""
    line: int = getattr(container, "line", 0)
    return line


def skip_space(text: str, offset: int) -> int:
    """Return the offset of the next character that is not white space."""
    space = _SPACE.match(text, offset)
    return space.end() if space else offset


def value_span(text: str, container: Object | Array, key: str | int) -> tuple[int, int]:
    """Return the start and end offsets of a value in an object or list."""
    members: Any = container.items() if isinstance(container, Object) else enumerate(container)
    start = container.start + 1
    for name, value in members:
        start = skip_space(text, start)
        if isinstance(container, Object):
            key_end = _DECODER.raw_decode(text, start)[1]
            start = skip_space(text, text.index(":", key_end) + 1)
        nested = isinstance(value, Object | Array)
        end = value.end if nested else _DECODER.raw_decode(text, start)[1]
        if name == key:
            return start, end
        start = text.index(",", end) + 1
    raise KeyError(key)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("repeated key")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_repeats,
    parse_int=Number,
    parse_float=Number,
    parse_constant=Number,
)


class _Parser:
    """Reads a text from left to right, with a stack of open containers instead of recursion."""

    def __init__(self, source: TextFile) -> None:
        self.source, self.text = source, source.text
        self.offset = self.counted_to = 0
        self.line = 1

    def parse(self) -> Any:
        """Return the only value of the text."""
        value = self.parse_value()
        self.offset = skip_space(self.text, self.offset)
        if self.offset < len(self.text):
            raise self._unexpected("the end of the file")
        return value

    def parse_value(self) -> Any:
        """Return the next value of the text."""
        opened: list[Object | Array] = []
        while True:
            value, line, is_open = self._value()
            if is_open:
                opened.append(value)
                self._read_key(value)
                continue
            while opened:
                outer = opened[-1]
                outer.add(value, line)
                if self._punctuation(f",{outer.closing}", f"',' or {outer.closing!r}") == ",":
                    self._read_key(outer)
                    break
                outer.end = self.offset
                value = opened.pop()
                line = value.line
            else:
                return value

    def _value(self) -> tuple[Any, int, bool]:
        """Return the next value, its line, and whether it is a container still to be filled."""
        match = _VALUE.match(self.text, self.offset)
        if match is None:
            text = self._string("a value")
            return text, self._line_at(self.offset), False
        kind, written = match.lastgroup or "", match[match.lastindex or 0]
        self.offset = match.end()
        start = match.start(kind)
        line = self._line_at(start)
        if kind == "string":
            return written, line, False
        if kind == "number":
            return Number(written), line, False
        if kind == "constant":
            return _CONSTANTS[written], line, False
        value = (Object if written[0] == "{" else Array)(start, line)
        value.end = self.offset
        return value, line, len(written) == 1

    def _read_key(self, outer: Object | Array) -> None:
        """Read the key of the next member; the entries of a list have none."""
        if isinstance(outer, Array):
            return
        match = _KEY.match(self.text, self.offset)
        if match:
            key, line = match[1], self._line_at(match.start(1))
            self.offset = match.end()
        else:
            key = self._string("a key in double quotes")
            line = self._line_at(self.offset)
            self._punctuation(":", "':'")
        if key in outer.lines:
            message = f"the key {key!r} is already on line {outer.lines[key]}; remove one of them"
            raise FormatError(self.source.path, message, line)
        outer.lines[key] = line

    def _string(self, expected: str) -> str:
        """Read a string that contains escapes."""
        self.offset = skip_space(self.text, self.offset)
        if not self.text.startswith('"', self.offset):
            raise self._unexpected(expected)
        try:
            text, self.offset = _DECODER.raw_decode(self.text, self.offset)
        except json.JSONDecodeError as error:
            message = f"not valid JSON ({error.msg}); look for a missing closing quote"
            raise FormatError(self.source.path, message, error.lineno) from None
        return str(text)

    def _punctuation(self, allowed: str, expected: str) -> str:
        """Read the next comma, colon or closing bracket."""
        match = _PUNCTUATION.match(self.text, self.offset)
        if match is None or match[1] not in allowed:
            self.offset = skip_space(self.text, self.offset)
            raise self._unexpected(expected)
        self.offset = match.end()
        return match[1]

    def _line_at(self, offset: int) -> int:
        self.line += self.text.count("\n", self.counted_to, offset)
        self.counted_to = offset
        return self.line

    def _unexpected(self, expected: str) -> FormatError:
        ended = self.offset >= len(self.text)
        found = "the end of the file" if ended else repr(self.text[self.offset])
        message = f"not valid JSON: expected {expected}, but found {found}; correct the syntax"
        return FormatError(self.source.path, message, self.source.line_at(self.offset))
