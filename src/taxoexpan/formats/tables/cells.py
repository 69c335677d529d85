"""The cells of a table as they stand in its text, so that one of them can be rewritten."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from taxoexpan.formats.tables.table_file import Row, Table, write_cells
from taxoexpan.formats.text_file import Insertion, TextFile


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with its quotes, and the offset at which it begins."""

    offset: int
    raw: str

    @property
    def text(self) -> str:
        """What the cell says."""
        return self.raw[1:-1].replace('""', '"') if self.raw.startswith('"') else self.raw

    def rewritten(self, table: Table, text: str) -> Insertion:
        """The cell with another text; one that was quoted stays so."""
        quoted = table.quote_all or self.raw.startswith('"')
        return Insertion(self.offset, write_cells([text], table.delimiter, quoted), self.raw)


def cells_of(source: TextFile, delimiter: str) -> Iterator[list[Cell]]:
    """The cells of every row that is not blank, of a table that is known to be well-formed."""
    ending = re.escape(delimiter)
    pattern = re.compile(rf'("(?:[^"]|"")*+"|[^{ending}\r\n]*+)({ending}|\r\n?|\n|\Z)')
    cells: list[Cell] = []
    for found in pattern.finditer(source.text):
        cells.append(Cell(found.start(), found[1]))
        if found[2] != delimiter:
            if any(cell.text.strip() for cell in cells):
                yield cells
            cells = []


def placed_rows(table: Table) -> Iterator[tuple[Row, list[Cell]]]:
    """Every row below the header, beside its cells."""
    placed = cells_of(table.source, table.delimiter)
    next(placed)
    for (_, row), cells in zip(table.rows(), placed, strict=True):
        yield row, cells
