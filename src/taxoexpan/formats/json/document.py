"""JSON documents: a parser that keeps positions, checked access, and the base of their formats."""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any, ClassVar, NoReturn, Self

from taxoexpan.errors import FormatError
from taxoexpan.files.inputs import distinct_keys
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Format
from taxoexpan.formats.text_file import TextFile

_STRING = r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"'
_SPACE = re.compile(r"[ \t\n\r]*+")
_VALUE = re.compile(
    rf"""[ \t\n\r]*+(?:
        (?P<string>{_STRING})
        | (?P<number>-?(?:Infinity|(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)|NaN)
        | (?P<constant>true|false|null)
        | (?P<opening>\[(?:[ \t\n\r]*\])?|\{{(?:[ \t\n\r]*\}})?)
    )""",
    re.VERBOSE,
)
_KEY = re.compile(rf"[ \t\n\r]*+({_STRING})[ \t\n\r]*+:[ \t\n\r]*+")
_OBJECT_MARK = re.compile(r"[ \t\n\r]*+([,}])")
_ARRAY_MARK = re.compile(r"[ \t\n\r]*+([,\]])")
_CONSTANTS = {"true": True, "false": False, "null": None}
LINES_SUFFIXES = (".jsonl", ".ndjson")


class Number(str):
    """A number of any size, as written in the file."""

    __slots__ = ()


class Object(dict[str, Any]):
    """An object with its offsets, and the offset of the value of each key."""

    __slots__ = ("end", "places", "start")

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = self.end = start
        self.places: dict[str, int] = {}


class Array(list[Any]):
    """A list with its offsets, and the offset of each entry."""

    __slots__ = ("end", "places", "start")

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = self.end = start
        self.places: list[int] = []


class Lines(Array):
    """The objects of a JSON Lines file, one per line, without brackets around them."""

    __slots__ = ()


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
    """Return the value of a JSON file, with positions of its objects and lists."""
    parser = _Parser(source)
    if not is_json_lines(source):
        value = parser.value()
        if parser.skip_space() < len(source.text):
            raise parser.invalid()
        return value
    lines = Lines(0)
    while (start := parser.skip_space()) < len(source.text):
        lines.places.append(start)
        lines.append(parser.value())
    lines.end = len(source.text)
    return lines


def is_json_lines(source: TextFile) -> bool:
    """Return whether a file is JSON Lines, by its name or because each line is an object."""
    if source.suffix in LINES_SUFFIXES:
        return True
    lines = list(islice((line for line in source.lines if line.strip()), 2))
    if len(lines) < 2 or not lines[1].lstrip().startswith("{"):
        return False
    try:
        return isinstance(_DECODER.decode(lines[0]), dict)
    except (ValueError, RecursionError):
        return False


def objects_in(value: Any, leave_out: Collection[int] = ()) -> Iterator[tuple[Any, int]]:
    """Yield all objects inside a value with their depth; lists do not count as levels."""
    stack = [(value, 0)]
    while stack:
        outer, depth = stack.pop()
        if isinstance(outer, list):
            stack += [(inner, depth) for inner in reversed(outer)]
        elif isinstance(outer, dict) and id(outer) not in leave_out:
            yield outer, depth
            stack += [(inner, depth + 1) for inner in reversed(outer.values())]


def skip_space(text: str, offset: int) -> int:
    """Return the offset of the next character that is not white space."""
    space = _SPACE.match(text, offset)
    return space.end() if space else offset


def value_span(text: str, container: Object | Array, key: str | int) -> tuple[int, int]:
    """Return the start and end offsets of a value in an object or list."""
    parts: Any = container  # an object has names as keys, a list has positions
    value = parts[key]
    start = parts.places[key]
    nested = isinstance(value, Object | Array)
    return start, value.end if nested else _DECODER.raw_decode(text, start)[1]


_DECODER = json.JSONDecoder(
    object_pairs_hook=distinct_keys, parse_int=Number, parse_float=Number, parse_constant=Number
)


class _Parser:
    """A parser that uses a stack of open containers instead of recursion."""

    def __init__(self, source: TextFile) -> None:
        self.source = source
        self.text = source.text
        self.offset = 0

    def skip_space(self) -> int:
        """Go to the next character that is not white space, and return its offset."""
        self.offset = skip_space(self.text, self.offset)
        return self.offset

    def value(self) -> Any:
        """Return the next value of the text."""
        opened: list[Object | Array] = []
        while True:
            match = self._match(_VALUE)
            value = self._parsed(match)
            if match["opening"] and len(match["opening"]) == 1:
                opened.append(value)
                self._start_part(value)
                continue
            while opened:
                outer = opened[-1]
                if isinstance(outer, Object):
                    outer[next(reversed(outer.places))] = value
                else:
                    outer.append(value)
                mark = self._match(_OBJECT_MARK if isinstance(outer, Object) else _ARRAY_MARK)
                if mark[1] == ",":
                    self._start_part(outer)
                    break
                outer.end = self.offset
                value = opened.pop()
            else:
                return value

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Read the next part of the text."""
        match = pattern.match(self.text, self.offset)
        if match is None:
            raise self.invalid()
        self.offset = match.end()
        return match

    def _parsed(self, match: re.Match[str]) -> Any:
        """Return a value; a container is still to be filled."""
        if match["string"]:
            return self._string(match, "string")
        if match["number"]:
            return Number(match["number"])
        if match["constant"]:
            return _CONSTANTS[match["constant"]]
        value = (Object if match["opening"][0] == "{" else Array)(match.start("opening"))
        value.end = self.offset
        return value

    def _start_part(self, outer: Object | Array) -> None:
        """Store the offset of the next part, after reading its key in an object."""
        if isinstance(outer, Array):
            outer.places.append(self.skip_space())
            return
        match = self._match(_KEY)
        key = self._string(match, 1)
        if key in outer.places:
            self.offset = match.start(1)
            raise self.invalid(f"the key {key!r} is used twice in an object; remove one of them")
        outer.places[key] = self.offset

    def _string(self, match: re.Match[str], group: str | int) -> str:
        if "\\" not in match[group]:
            return match[group][1:-1]
        try:
            return str(json.loads(match[group]))
        except json.JSONDecodeError:
            self.offset = match.start(group)
            raise self.invalid() from None

    def invalid(self, message: str = "") -> FormatError:
        """Return an error about the current offset."""
        offset = self.skip_space()
        found = repr(self.text[offset:].partition("\n")[0][:20])
        found = found if offset < len(self.text) else "the end of the file"
        fix = "look for a missing or extra quote, comma or bracket"
        message = message or f"not valid JSON at {found}; {fix}"
        return FormatError(self.source.path, message, line=self.source.line_at(offset))


class JsonDocument:
    """The value of a JSON file with checked access to its parts; errors name the line."""

    def __init__(self, source: TextFile, value: Any) -> None:
        self.source = source
        self.value = value

    @classmethod
    def load(cls, source: TextFile) -> Self:
        """Read a document, usually without the positions of its parts."""
        return cls(source, source.parsed(load))

    @classmethod
    def locate(cls, source: TextFile) -> Self:
        """Read a document with the positions of its parts, which is slower."""
        return cls(source, source.parsed(parse))

    def line(self, container: Any, key: str | int | None = None) -> int:
        """Return the line of a container or of a part of it, or 0 if the position is unknown."""
        if not isinstance(container, Object | Array):
            return 0
        offset = container.start if key is None else container.places[key]  # type: ignore[index]
        return bisect_right(self.source.starts, offset)

    def text(self, container: Any, key: str | int) -> str:
        """Return a string value without outer spaces."""
        # A Number is a str in Python, but it is not text in the file.
        if type(container[key]) is not str:
            self.refuse(container, key, "text in quotes")
        return str(container[key].strip())

    def entries(self, container: Any, key: str) -> list[Any]:
        """Return a value that must be a list."""
        value: list[Any] = container[key]
        if not isinstance(value, list):
            self.refuse(container, key, "a list in […]")
        return value

    def refuse(self, container: Any, key: str | int, expected: str) -> NoReturn:
        """Raise an error about a value of an unexpected type."""
        name = repr(key) if isinstance(key, str) else "an entry of a list"
        raise self.error(f"{name} has the wrong type; write {expected}", container, key)

    def error(
        self, problem: str, container: Any, key: str | int | None = None, fix: str = ""
    ) -> FormatError:
        """Return an error with the line of a container or of a part of it."""
        line = self.line(container, key) or None
        return FormatError(self.source.path, problem, fix=fix, line=line)


class DocumentFormat(Format):
    """A format of JSON documents; `document` is the class that finds the concepts in them."""

    document: ClassVar[type[JsonDocument]]

    @abstractmethod
    def build(self, document: Any) -> TaxonomyBuilder:
        """Return the concepts and relations of a document."""

    def read(self, source: TextFile) -> ParsedTaxonomy:
        """Read a file with the fast parser, and again with lines if there are errors or notes."""
        try:
            parsed = self.build(source.parsed(self.document.load)).finish()
            if not parsed.notes:
                return parsed
        except FormatError:
            pass
        return self.read_with_lines(source)

    def read_with_lines(self, source: TextFile) -> ParsedTaxonomy:
        """Read a file with the line of every concept."""
        return self.build(source.parsed(self.document.locate)).finish()
