from __future__ import annotations

import csv
import io
from pathlib import Path

from expanded_files import QUOTING, csv_lines
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import names, quickly

from taxoexpan.formats.tables.cells import cells_of, rows_with_cells
from taxoexpan.formats.tables.table_file import Table
from taxoexpan.formats.text_file import TextFile

TEXTS = st.text('ab",; \t\r\n', max_size=30)


@given(text=TEXTS, delimiter=st.sampled_from(",;\t"))
@quickly
def test_cells_agree_with_the_csv_module(text: str, delimiter: str) -> None:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = [row for row in reader if any(cell.strip() for cell in row)]
    except csv.Error:
        assume(False)
    found = list(cells_of(TextFile(Path("x.csv"), text), delimiter))
    assert [[cell.text for cell in row] for row in found] == rows
    for cell in (cell for row in found for cell in row):
        assert text.startswith(cell.raw, cell.offset)


@given(
    rows=st.lists(st.lists(names(breaks=True), min_size=3, max_size=3), min_size=1, max_size=5),
    new=names(breaks=True),
    quoting=st.sampled_from(QUOTING),
    data=st.data(),
)
@quickly
def test_exactly_one_cell_is_replaced(
    rows: list[list[str]], new: str, quoting: int, data: st.DataObject
) -> None:
    lines = csv_lines([["id", "label", "parent"], *rows], quoting=QUOTING[quoting])
    source = TextFile(Path("x.csv"), "\n".join([*lines, ""]))
    table = Table.open(source)
    row, column = data.draw(st.integers(0, len(rows) - 1)), data.draw(st.integers(0, 2))
    cell = list(rows_with_cells(table))[row][1][column]
    text = source.apply([cell.replaced_by(table, new)]).decode()
    before, behind = source.text[: cell.offset], source.text[cell.offset + len(cell.raw) :]
    assert text.startswith(before)
    assert text.endswith(behind)
    rows[row][column] = new
    assert list(csv.reader(io.StringIO(text, newline="")))[1:] == rows
