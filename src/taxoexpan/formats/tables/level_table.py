"""Tables with one column per level, as a layout of category paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from taxoexpan.errors import FormatError
from taxoexpan.formats.path_parts import Category, InsertedParts, NewCategory
from taxoexpan.formats.tables.cells import cells_of
from taxoexpan.formats.tables.level_cells import (
    LevelStyle,
    cells_for,
    level_paths,
    level_texts,
    style_of,
)
from taxoexpan.formats.tables.table_file import Row, Table
from taxoexpan.formats.text_file import Insertion, TextFile

Parts = tuple[str, ...]


@dataclass(frozen=True)
class LevelTable:
    """A table with one column per level, and optionally an `id` column."""

    table: Table

    @property
    def has_ids(self) -> bool:
        """Whether the table has an `id` column."""
        return self.table.has("id")

    def categories(self) -> Iterator[Category]:
        """Yield one category per row."""
        for line, row, parts in self.table.file.parsed(_rows):
            yield Category(line, row["id"], parts)

    def insert_parts(self, _: InsertedParts) -> Iterator[Insertion]:
        """Refuse new parts: a row has a fixed number of levels."""
        raise FormatError(self.table.file.path, "a table of levels allows no moves; leave them out")

    def insert_new(self, added: Sequence[NewCategory]) -> list[Insertion]:
        """Add one row per new category, in the style of the table.

        Where a row has only its last label, it must follow its parent, so it is inserted there. A
        sheet is only extended at its end, so it gets rows with full paths.
        """
        file = self.table.file
        self._refuse_too_deep(added)
        rows = [(level_texts(self.table, row), parts) for _, row, parts in file.parsed(_rows)]
        is_outline = style_of(rows) is LevelStyle.LAST and not file.delimiter
        style = LevelStyle.LAST if is_outline else LevelStyle.FULL
        new_lines = self.table.new_lines([self._row(new, style) for new in added])
        if not is_outline:
            return file.append(new_lines)
        lines = {new.parts: line for new, line in zip(added, new_lines, strict=True)}
        return self._insert_below(lines, [parts for _, parts in rows])

    def _refuse_too_deep(self, added: Sequence[NewCategory]) -> None:
        most = len(self.table.columns.levels)
        for new in added:
            if len(new.parts) > most:
                message = f"{new.parts[-1]!r} would be on level {len(new.parts)}, but the table has"
                fix = "add a level column, or choose a parent closer to a root"
                raise FormatError(self.table.file.path, f"{message} {most} levels; {fix}")

    def _row(self, new: NewCategory, style: LevelStyle) -> dict[str, str]:
        levels = self.table.columns.levels
        cells = cells_for(new.parts, style, len(levels))
        return {"id": new.id, "label": new.parts[-1], **dict(zip(levels, cells, strict=True))}

    def _insert_below(self, lines: Mapping[Parts, str], paths: Sequence[Parts]) -> list[Insertion]:
        """Insert each line after the last row below its nearest existing ancestor."""
        last_rows = {
            parts[:depth]: row for row, parts in enumerate(paths) for depth in range(len(parts) + 1)
        }
        order = {parts: number for number, parts in enumerate(lines)}

        def place(parts: Parts) -> tuple[int, int, tuple[int, ...]]:
            depth = max(d for d in range(len(parts)) if parts[:d] in last_rows)
            # Two blocks may end at the same row; the rows of the inner one come first.
            steps = tuple(order[parts[:d]] for d in range(depth + 1, len(parts) + 1))
            return last_rows[parts[:depth]], -depth, steps

        file, ends = self.table.file, self._row_ends()
        below: dict[int, list[str]] = {}
        for parts in sorted(lines, key=place):
            below.setdefault(place(parts)[0], []).append(lines[parts])
        insertions = list[Insertion]()
        for row, new in below.items():
            text = "".join(line + file.newline for line in new)
            at_end = ends[row] == len(file.text)
            insertions += file.append(new) if at_end else [Insertion(ends[row], text)]
        return insertions

    def _row_ends(self) -> list[int]:
        """The offset after the line end of every row."""
        text, ends = self.table.file.text, list[int]()
        all_cells = cells_of(self.table.file, self.table.delimiter)
        for cells in islice(all_cells, self.table.rows_above + 1, None):
            end = cells[-1].offset + len(cells[-1].raw)
            end += text.startswith("\r", end)
            ends.append(end + text.startswith("\n", end))
        return ends


def _rows(file: TextFile) -> list[tuple[int, Row, Parts]]:
    """Every row with its line and its path."""
    return list(level_paths(Table.open(file)))
