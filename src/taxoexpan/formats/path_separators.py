"""What separates the labels in the paths of a table: `>`, or another sign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.path_parts import DEFAULT_SEPARATOR, PathSeparator
from taxoexpan.formats.text_file import TextFile

OTHERS = ("»", "›", "→", "::", "|", "/", "\\")
"""Separators that are looked for if no path has a `>`."""

MIN_FRACTION = 0.25
"""The fraction of the paths that must have a sign, so that it may be the separator."""

MIN_REFUSED = 3
"""If fewer paths have a sign that is not the separator, it is part of their labels."""

MIN_SHARED = 0.5
"""The fraction of these paths whose parent is a path too, or is also the parent of another one."""


def find_separator(file: TextFile, cells: Sequence[tuple[int, str]]) -> PathSeparator:
    """Return the separator of the paths, which are given with their lines.

    A sign that many paths have, but that does not lead to their parents, is an error: whether it
    is part of the labels or separates them cannot be known.
    """
    paths = [path for _, path in cells]
    if any(DEFAULT_SEPARATOR.sign in path for path in paths):
        return DEFAULT_SEPARATOR
    for sign in OTHERS:
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
        fix = "write ' > ' between the labels of a path"
        raise FormatError(file.path, f"{message}; {fix}", line)
    return DEFAULT_SEPARATOR


def refuse_other_separator(path: Path, lines: Sequence[str]) -> None:
    """Refuse to write a table of paths without a `>` that would be read with another separator."""
    try:
        found = find_separator(TextFile(path, ""), list(enumerate(lines, start=2)))
    except FormatError:
        found = None
    if found != DEFAULT_SEPARATOR:
        message = "without relations, signs in the labels would be read as separators of paths"
        fix = "choose a name that ends in .txt, or another format"
        raise FormatError(path, f"{message}; {fix}")


def _is_consistent(separator: PathSeparator, paths: Sequence[str]) -> bool:
    """Whether most paths continue another path, or have a parent in common with another one."""
    split = [tuple(separator.pattern.split(path.strip())) for path in paths]
    above = Counter(parts[:-1] for parts in split if len(parts) > 1)
    known = set(split)
    shared = sum(uses for parent, uses in above.items() if uses > 1 or parent in known)
    return all(map(all, split)) and shared >= MIN_SHARED * above.total()
