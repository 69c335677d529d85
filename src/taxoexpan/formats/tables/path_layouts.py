"""The layouts of category paths: plain lines, and tables with a `path` or with level columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from taxoexpan.errors import FormatError
from taxoexpan.formats.tables.levels import LevelTable
from taxoexpan.formats.tables.path_parts import (
    DEFAULT_SEPARATOR,
    MARKER,
    SEPARATOR,
    Category,
    InsertedParts,
    PathSeparator,
    find_separator,
)
from taxoexpan.formats.tables.table import Table, open_if_table
from taxoexpan.formats.text_file import Insertion, TextFile

_ID_PATTERNS = {
    " : ": re.compile(r"(?P<id>\S+)(?P<gap>\s+: )(?P<path>.+)"),
    " - ": re.compile(r"(?P<id>\d+)(?P<gap> - )(?P<path>.+)"),
}


@dataclass(frozen=True)
class PathLines:
    """Plain lines, all of them with an id before the path or all without."""

    file: TextFile

    @property
    def has_ids(self) -> bool:
        """Whether the lines have ids before the paths."""
        return self.id_pattern is not None

    @cached_property
    def id_pattern(self) -> re.Pattern[str] | None:
        """The pattern of lines with ids if all lines match it, else None."""
        lines = [line for _, line in self.lines()]
        patterns = _ID_PATTERNS.values()
        return next((pattern for pattern in patterns if all(map(pattern.fullmatch, lines))), None)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are neither blank nor comments."""
        for number, line in enumerate(self.file.lines, start=1):
            if line.strip() and not line.startswith("#"):
                yield number, line

    def categories(self) -> Iterator[Category]:
        """Yield one category per line."""
        for category, _ in self._with_offsets():
            yield category

    def _with_offsets(self) -> Iterator[tuple[Category, int]]:
        """Yield every category with the offset of its path in its line."""
        for number, line in self.lines():
            match = self.id_pattern.fullmatch(line) if self.id_pattern else None
            id, start = (match["id"], match.start("path")) if match else ("", 0)
            parts = DEFAULT_SEPARATOR.split(self.file.path, number, line[start:])
            yield Category(number, id, parts), start

    def insert_parts(self, inserted: InsertedParts) -> Iterator[Insertion]:
        """Yield the insertions of new parts into existing paths."""
        for category, start in self._with_offsets():
            path = self.file.lines[category.line - 1][start:]
            begin = self.file.starts[category.line - 1] + start
            for offset, text in DEFAULT_SEPARATOR.offsets(path, inserted(category.parts)):
                yield Insertion(begin + offset, text)

    def insert_new(self, added: Sequence[Category]) -> list[Insertion]:
        """Append one line per new category; the paths are aligned as in the file."""
        matches = [
            match
            for _, line in self.lines()
            if self.id_pattern and (match := self.id_pattern.fullmatch(line))
        ]
        gap = next((gap for gap, known in _ID_PATTERNS.items() if known is self.id_pattern), "")
        width = 0
        if any(match["gap"] != gap for match in matches):
            width = max(match.start("path") for match in matches) - len(gap)
        lines = []
        for new in added:
            path = SEPARATOR.join(new.parts)
            line = f"{new.id.ljust(width)}{gap}{path}" if self.id_pattern else path
            match = self.id_pattern.fullmatch(line) if self.id_pattern else None
            is_same = match is not None and (match["id"], match["path"]) == (new.id, path)
            if line.startswith("#") or (self.id_pattern and not is_same):
                message = f"{line!r} would not be read back as {new.parts[-1]!r}"
                raise FormatError(self.file.path, f"{message}; give it another id or label")
            lines.append(line)
        return self.file.append(lines)


@dataclass(frozen=True)
class PathTable:
    """A table with a `path` column and optionally an `id` column."""

    table: Table

    @cached_property
    def separator(self) -> PathSeparator:
        """The separator of the labels of a path in this table."""
        cells = [(row.line, row["path"]) for row in self.table.rows]
        return find_separator(self.table.file.path, cells)

    @property
    def has_ids(self) -> bool:
        """Whether the table has an `id` column."""
        return self.table.has("id")

    def categories(self) -> Iterator[Category]:
        """Yield one category per row."""
        for row in self.table.rows:
            parts = self.separator.split(self.table.file.path, row.line, row["path"])
            yield Category(row.line, row["id"], parts)

    def insert_parts(self, inserted: InsertedParts) -> Iterator[Insertion]:
        """Yield the replacements of path cells that get new parts."""
        edits: dict[int, dict[str, str]] = {}
        rows = zip(self.table.rows, self.categories(), strict=True)
        for number, (row, category) in enumerate(rows):
            path, parts = row.cells[row.columns["path"]], inserted(category.parts)
            for offset, text in reversed(self.separator.offsets(path, parts)):
                path = path[:offset] + text + path[offset:]
            if parts:
                edits[number] = {"path": path}
        return self.table.replace_cells(edits)

    def insert_new(self, added: Sequence[Category]) -> list[Insertion]:
        """Append one row per new category."""
        rows = [
            {"id": new.id, "path": self.separator.text.join(new.parts), "label": new.parts[-1]}
            for new in added
        ]
        return self.table.file.append(self.table.new_lines(rows))


def path_layout(file: TextFile) -> PathLines | PathTable | LevelTable:
    """The layout of a file with category paths."""
    table = None if file.text.startswith(MARKER) else open_if_table(file)
    if table is None or not (table.has("path") or table.columns.levels):
        return PathLines(file)
    return PathTable(table) if table.has("path") else LevelTable(table)
