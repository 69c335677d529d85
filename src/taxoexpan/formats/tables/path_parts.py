"""Category paths: their labels, the sign between them, and the positions of new labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from taxoexpan.errors import FormatError

MARKER = "# category paths\n"
"""The first line of a new file; whatever the labels are, the file is recognized by it."""

SEPARATOR = " > "
MAX_DEPTH = 200
"""A path with more parts is probably a file in another format, not a category."""

OTHER_SIGNS = ("»", "›", "→", "::", "|", "/", "\\")
"""Signs that may separate the labels in a table, if no path has a `>`."""

MIN_FRACTION = 0.25
"""The fraction of the paths that must have a sign, so that it may be the separator."""

MIN_REFUSED = 3
"""If fewer paths have a sign that is not the separator, it is part of their labels."""

MIN_SHARED = 0.5
"""The fraction of these paths whose parent is a path too, or is also the parent of another one."""

Parts: TypeAlias = tuple[str, ...]
InsertedParts: TypeAlias = Callable[[Parts], list[tuple[int, str]]]
"""Maps the parts of a path to new parts, each with the index of the part that follows it."""


@dataclass(frozen=True, slots=True)
class Category:
    """A category with its id (empty if the file has none) and the parts of its path.

    `line` is the number of its line or row; it is 0 for a new category.
    """

    line: int
    id: str
    parts: Parts


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
        """The pattern of the separator, with or without blanks."""
        return re.compile(rf"\s*{re.escape(self.sign)}\s*")

    def split(self, source: Path, line: int, path: str) -> Parts:
        """The parts of a path; an empty part is an error."""
        parts = tuple(self.pattern.split(path.strip()))
        if not all(parts):
            message = f"the path {path.strip()!r} has an empty part"
            raise FormatError(source, f"{message}; name it, or remove the {self.sign!r}", line)
        if len(parts) > MAX_DEPTH:
            message = f"a path with {len(parts)} parts, but at most {MAX_DEPTH} are allowed"
            raise FormatError(source, f"{message}; check that this is a file of paths", line)
        return parts

    def offsets(self, path: str, parts: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
        """The offset in the path and the text of each new part."""
        starts = [match.end() for match in self.pattern.finditer(path)]
        return [(starts[index - 1], name + self.text) for index, name in parts]


DEFAULT_SEPARATOR = PathSeparator()


def find_separator(source: Path, cells: Sequence[tuple[int, str]]) -> PathSeparator:
    """Return the separator of the paths, which are given with their lines.

    A sign that many paths have, but that does not lead to their parents, is an error: whether it
    is part of the labels or separates them cannot be known.
    """
    paths = [path for _, path in cells]
    if any(DEFAULT_SEPARATOR.sign in path for path in paths):
        return DEFAULT_SEPARATOR
    for sign in OTHER_SIGNS:
        having = [path for path in paths if sign in path]
        if not having or len(having) < MIN_FRACTION * len(paths):
            continue
        spaced = sum(f" {sign} " in path for path in having) * 2 > len(having)
        separator = PathSeparator(f" {sign} " if spaced else sign)
        if _is_consistent(separator, paths):
            return separator
        if len(having) < max(MIN_REFUSED, MIN_SHARED * len(paths)):
            continue
        line = next(line for line, path in cells if sign in path)
        message = f"the paths have no '>', and it is not clear whether {sign!r} separates labels"
        raise FormatError(source, f"{message}; write ' > ' between the labels of a path", line)
    return DEFAULT_SEPARATOR


def _is_consistent(separator: PathSeparator, paths: Sequence[str]) -> bool:
    """Whether most paths continue another path, or have a parent in common with another one."""
    split = [tuple(separator.pattern.split(path.strip())) for path in paths]
    above = Counter(parts[:-1] for parts in split if len(parts) > 1)
    known = set(split)
    shared = sum(uses for parent, uses in above.items() if uses > 1 or parent in known)
    return all(map(all, split)) and shared >= MIN_SHARED * above.total()
