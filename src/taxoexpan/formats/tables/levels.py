"""Level columns (`level 1`, `level 2`, …): a path of labels, with one label in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import cached_property

from taxoexpan.errors import FormatError
from taxoexpan.formats.tables.path_layouts import Category, Parts, PathTable
from taxoexpan.formats.tables.table import Row, Table
from taxoexpan.formats.text_file import Insertion

_MIN_SHARE = 0.9
"""The share of rows that must follow a style, so that new rows follow it too."""


class LevelStyle(Enum):
    """How a row states its path: with all labels, or with the last one only."""

    FULL = "full"
    LAST = "last"


def level_texts(table: Table, row: Row) -> list[str]:
    """The cells of the level columns."""
    return [row[name] for name in table.columns.levels]


def style_of(rows: Sequence[tuple[Sequence[str], Sequence[str]]]) -> LevelStyle | None:
    """The style of most rows, each given as its level cells and its path."""
    matches = {LevelStyle.FULL: 0, LevelStyle.LAST: 0}
    for cells, path in rows:
        for style in LevelStyle:
            matches[style] += list(cells) == cells_for(path, style, len(cells))
    best = max(matches, key=lambda style: matches[style])
    return best if rows and matches[best] >= _MIN_SHARE * len(rows) else None


def cells_for(path: Sequence[str], style: LevelStyle, count: int) -> list[str]:
    """The level cells of a path; labels below the last column are left out."""
    labels = list(path[:count])
    if style is LevelStyle.LAST:
        labels[:-1] = [""] * (len(labels) - 1)
    return labels + [""] * (count - len(labels))


class LevelTable(PathTable):
    """A layout of category paths: a table with level columns, and optionally an `id` column."""

    @cached_property
    def paths(self) -> list[Parts]:
        """The path of every row; empty cells on the left have the labels of the row above."""
        paths, above = list[Parts](), Parts()
        for row in self.table.rows:
            cells = level_texts(self.table, row)
            filled = [index for index, cell in enumerate(cells) if cell]
            if not filled:
                message = "all level columns of this row are empty; fill one, or remove the row"
                raise FormatError(self.table.file.path, message, row.line)
            first, last = filled[0], filled[-1]
            if len(filled) < last - first + 1 or first > len(above):
                start = min(first, len(above))
                empty = self.table.columns.levels[cells.index("", start)]
                name = self.table.header[self.table.columns.indices[empty]]
                message = f"the column {name!r} is empty between two levels; fill it"
                raise FormatError(self.table.file.path, message, row.line)
            above = (*above[:first], *cells[first : last + 1])
            paths.append(above)
        return paths

    def insert_new(self, added: Sequence[Category]) -> list[Insertion]:
        """Add one row per new category, in the style of the table.

        Where a row has only its last label, it must follow its parent, so it is inserted there. A
        sheet is only extended at its end, so it gets rows with full paths.
        """
        file, levels = self.table.file, self.table.columns.levels
        for new in added:
            if len(new.parts) > len(levels):
                message = f"{new.parts[-1]!r} would be on level {len(new.parts)}, but the table has"
                fix = "add a level column, or choose a parent closer to a root"
                raise FormatError(file.path, f"{message} {len(levels)} levels; {fix}")
        texts = [level_texts(self.table, row) for row in self.table.rows]
        old_style = style_of(list(zip(texts, self.paths, strict=True)))
        is_outline = old_style is LevelStyle.LAST and not file.delimiter
        style = LevelStyle.LAST if is_outline else LevelStyle.FULL
        rows = [
            {"id": new.id, "label": new.parts[-1]}
            | dict(zip(levels, cells_for(new.parts, style, len(levels)), strict=True))
            for new in added
        ]
        lines = self.table.new_lines(rows)
        if not is_outline:
            return file.append(lines)
        return self._insert_below({new.parts: line for new, line in zip(added, lines, strict=True)})

    def _insert_below(self, lines: dict[Parts, str]) -> list[Insertion]:
        """Insert each line after the last row below its nearest existing ancestor."""
        last_rows = {
            parts[:depth]: row
            for row, parts in enumerate(self.paths)
            for depth in range(len(parts) + 1)
        }
        order = {parts: number for number, parts in enumerate(lines)}

        def place(parts: Parts) -> tuple[int, int, tuple[int, ...]]:
            depth = max(d for d in range(len(parts)) if parts[:d] in last_rows)
            # Two blocks may end at the same row; the rows of the inner one come first.
            steps = tuple(order[parts[:d]] for d in range(depth + 1, len(parts) + 1))
            return last_rows[parts[:depth]], -depth, steps

        below: dict[int, list[str]] = {}
        for parts in sorted(lines, key=place):
            below.setdefault(place(parts)[0], []).append(lines[parts])
        return list(self.table.insert_below(below))
