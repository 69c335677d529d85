"""Category paths: their parts, and the positions of new parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import TextFile

MARKER = "# category paths\n"
"""The first line of a new file; whatever the labels are, the file is recognized by it."""

SEPARATOR = " > "
MAX_DEPTH = 200
"""A path with more parts is probably a file in another format, not a category."""

InsertedParts: TypeAlias = Callable[[tuple[str, ...]], list[tuple[int, str]]]
"""Maps the parts of a path to new parts, each with the index of the part that follows it."""


@dataclass(frozen=True, slots=True)
class PathSeparator:
    """The text between two labels of a path, with the blanks around it."""

    text: str = SEPARATOR

    @property
    def sign(self) -> str:
        """The separator without blanks."""
        return self.text.strip()

    @property
    def pattern(self) -> re.Pattern[str]:
        """What matches the separator, with or without blanks."""
        return re.compile(rf"\s*{re.escape(self.sign)}\s*")


DEFAULT_SEPARATOR = PathSeparator()


@dataclass(frozen=True, slots=True)
class Category:
    """One line or row: its number, its id (empty if the file has none), the parts of its path."""

    line: int
    id: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewCategory:
    """A category to add: its id and the parts of its path."""

    id: str
    parts: tuple[str, ...]

    def path(self, separator: PathSeparator = DEFAULT_SEPARATOR) -> str:
        """The path as one text."""
        return separator.text.join(self.parts)


def split_path(
    file: TextFile, line: int, path: str, separator: PathSeparator = DEFAULT_SEPARATOR
) -> tuple[str, ...]:
    """The parts of a path; an empty part is an error."""
    parts = tuple(separator.pattern.split(path.strip()))
    if not all(parts):
        message = f"the path {path.strip()!r} has an empty part"
        message += f"; name it, or remove the {separator.sign!r}"
        raise FormatError(file.path, message, line)
    if len(parts) > MAX_DEPTH:
        message = f"a path with {len(parts)} parts, but at most {MAX_DEPTH} are allowed"
        raise FormatError(file.path, f"{message}; check that this is a file of paths", line)
    return parts


def part_offsets(
    path: str, parts: Sequence[tuple[int, str]], separator: PathSeparator = DEFAULT_SEPARATOR
) -> list[tuple[int, str]]:
    """The offset in the path and the text of each new part."""
    starts = [match.end() for match in separator.pattern.finditer(path)]
    return [(starts[index - 1], name + separator.text) for index, name in parts]
