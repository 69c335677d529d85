"""The cells of a table with their offsets in the text, so that one of them can be replaced."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from taxoexpan.formats.tables.table_file import Row, Table, write_cells
from taxoexpan.formats.text_file import Insertion, TextFile


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with its quotes, and its offset in the text."""

    offset: int
    raw: str

    @property
    def text(self) -> str:
        """The content of the cell, without quotes."""
        return self.raw[1:-1].replace('""', '"') if self.raw.startswith('"') else self.raw

    def replaced_by(self, table: Table, text: str) -> Insertion:
        """Replace the content of the cell; a quoted cell stays quoted."""
        quoted = table.quote_all or self.raw.startswith('"')
        return Insertion(self.offset, write_cells([text], table.delimiter, quoted), self.raw)


def cells_of(file: TextFile, delimiter: str) -> Iterator[list[Cell]]:
    """Yield the cells of every row that is not blank; the table must be well-formed."""
    separator = re.escape(delimiter)
    pattern = re.compile(rf'("(?:[^"]|"")*+"|[^{separator}\r\n]*+)({separator}|\r\n?|\n|\Z)')
    cells: list[Cell] = []
    for match in pattern.finditer(file.text):
        cells.append(Cell(match.start(), match[1]))
        if match[2] != delimiter:
            if any(cell.text.strip() for cell in cells):
                yield cells
            cells = []


def rows_with_cells(table: Table) -> Iterator[tuple[Row, list[Cell]]]:
    """Yield every row below the header with its cells."""
    all_cells = cells_of(table.file, table.delimiter)
    below = islice(all_cells, table.rows_above + 1, None)
    for (_, row), cells in zip(table.rows(), below, strict=True):
        yield row, cells
