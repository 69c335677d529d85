"""The layouts of category paths: plain lines, and tables with a `path` or with level columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from taxoexpan.errors import FormatError
from taxoexpan.formats.path_parts import (
    MARKER,
    Category,
    InsertedParts,
    NewCategory,
    PathSeparator,
    part_offsets,
    split_path,
)
from taxoexpan.formats.path_separators import find_separator
from taxoexpan.formats.tables.cells import rows_with_cells
from taxoexpan.formats.tables.level_table import LevelTable
from taxoexpan.formats.tables.table_file import Table, open_if_table
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
        for number, line in self.lines():
            match = self.id_pattern.fullmatch(line) if self.id_pattern else None
            id, path = (match["id"], match["path"]) if match else ("", line)
            yield Category(number, id, split_path(self.file, number, path))

    def insert_parts(self, inserted: InsertedParts) -> Iterator[Insertion]:
        """Yield the insertions of new parts into existing paths."""
        for number, line in self.lines():
            match = self.id_pattern.fullmatch(line) if self.id_pattern else None
            start = match.start("path") if match else 0
            parts = inserted(split_path(self.file, number, line[start:]))
            begin = self.file.starts[number - 1] + start
            for offset, text in part_offsets(line[start:], parts):
                yield Insertion(begin + offset, text)

    def insert_new(self, added: Sequence[NewCategory]) -> list[Insertion]:
        """Append one line per new category."""
        return self.file.append(self._new_lines([(new.id, new.path()) for new in added]))

    def _new_lines(self, added: Sequence[tuple[str, str]]) -> list[str]:
        """One line per (id, path); the paths are aligned as in the file."""
        pattern = self.id_pattern
        if pattern is None:
            for _, path in added:
                if path.startswith("#"):
                    message = f"{path!r} would be read back as a comment; rename it"
                    raise FormatError(self.file.path, message)
            return [path for _, path in added]
        matches = [pattern.fullmatch(line) for _, line in self.lines()]
        gap = next(gap for gap, known in _ID_PATTERNS.items() if known is pattern)
        width = max(len(match["id"] + match["gap"]) for match in matches if match) - len(gap)
        aligned = any(match["gap"] != gap for match in matches if match)
        lines = []
        for id, path in added:
            line = f"{id.ljust(width if aligned else 0)}{gap}{path}"
            match = pattern.fullmatch(line)
            if not match or (match["id"], match["path"]) != (id, path) or line.startswith("#"):
                message = f"the id {id!r} would not be read back from {line!r}"
                raise FormatError(self.file.path, f"{message}; give the new concept another id")
            lines.append(line)
        return lines


@dataclass(frozen=True)
class PathTable:
    """A table with a `path` column and optionally an `id` column."""

    table: Table

    @cached_property
    def separator(self) -> PathSeparator:
        """What separates the labels of a path in this table."""
        cells = [(line, row["path"]) for line, row in self.table.rows()]
        return find_separator(self.table.file, cells)

    @property
    def has_ids(self) -> bool:
        """Whether the table has an `id` column."""
        return self.table.has("id")

    def categories(self) -> Iterator[Category]:
        """Yield one category per row."""
        for number, row in self.table.rows():
            parts = split_path(self.table.file, number, row["path"], self.separator)
            yield Category(number, row["id"], parts)

    def insert_parts(self, inserted: InsertedParts) -> Iterator[Insertion]:
        """Yield the replacements of path cells that get new parts."""
        column = self.table.columns.indices["path"]
        for number, (_, cells) in enumerate(rows_with_cells(self.table), start=2):
            path = cells[column].text
            parts = inserted(split_path(self.table.file, number, path, self.separator))
            for offset, text in reversed(part_offsets(path, parts, self.separator)):
                path = path[:offset] + text + path[offset:]
            if parts:
                yield cells[column].replaced_by(self.table, path)

    def insert_new(self, added: Sequence[NewCategory]) -> list[Insertion]:
        """Append one row per new category."""
        rows = [
            {"id": new.id, "path": new.path(self.separator), "label": new.parts[-1]}
            for new in added
        ]
        return self.table.file.append(self.table.new_lines(rows))


def path_layout(file: TextFile) -> PathLines | PathTable | LevelTable:
    """The layout of a file with category paths."""
    table = None if file.text.startswith(MARKER) else open_if_table(file)
    if table is None or not (table.has("path") or table.columns.levels):
        return PathLines(file)
    return PathTable(table) if table.has("path") else LevelTable(table)
