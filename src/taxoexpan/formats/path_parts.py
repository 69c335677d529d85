"""Category paths: their parts, and the positions of new parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import TextFile

SEPARATOR = " > "
MAX_DEPTH = 200
"""A path with more parts is probably a file in another format, not a category."""

InsertedParts: TypeAlias = Callable[[tuple[str, ...]], list[tuple[int, str]]]
"""Maps the parts of a path to new parts, each with the index of the part that follows it."""

_SPLIT = re.compile(r"\s*>\s*")


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

    @property
    def path(self) -> str:
        """The path as one text."""
        return SEPARATOR.join(self.parts)


def split_path(file: TextFile, line: int, path: str) -> tuple[str, ...]:
    """The parts of a path; an empty part is an error."""
    parts = tuple(_SPLIT.split(path.strip()))
    if not all(parts):
        message = f"the path {path.strip()!r} has an empty part; name it, or remove the '>'"
        raise FormatError(file.path, message, line)
    if len(parts) > MAX_DEPTH:
        message = f"a path with {len(parts)} parts, but at most {MAX_DEPTH} are allowed"
        raise FormatError(file.path, f"{message}; check that this is a file of paths", line)
    return parts


def part_offsets(path: str, parts: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The offset in the path and the text of each new part."""
    starts = [match.end() for match in _SPLIT.finditer(path)]
    return [(starts[index - 1], name + SEPARATOR) for index, name in parts]
