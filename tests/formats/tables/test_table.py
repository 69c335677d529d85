from __future__ import annotations

import csv
import io
from pathlib import Path

from expanded_files import QUOTING, csv_lines
from hypothesis import given
from hypothesis import strategies as st
from strategies import names, quickly

from taxoexpan.formats.tables.table import Table
from taxoexpan.formats.text_file import TextFile

COLUMNS = ("id", "label", "parents")
CELLS = st.text('ab",; \t\r\n', max_size=6)


@given(
    rows=st.lists(st.tuples(CELLS, names(breaks=True), CELLS), min_size=1, max_size=5),
    new=names(breaks=True),
    quoting=st.sampled_from(QUOTING),
    ends=st.lists(st.sampled_from(["\n", "\r\n", "\n\n", "\r\n,,\r\n", "\r"]), min_size=5),
    place=st.tuples(st.integers(0, 4), st.sampled_from(COLUMNS)),
)
@quickly
def test_exactly_one_cell_is_replaced(
    rows: list[tuple[str, str, str]],
    new: str,
    quoting: int,
    ends: list[str],
    place: tuple[int, str],
) -> None:
    lines = csv_lines([[*COLUMNS], *map(list, rows)], quoting=QUOTING[quoting])
    text = "".join(line + end for line, end in zip(lines, ["\n", *ends], strict=False))
    source = TextFile(Path("x.csv"), text)
    row, column = place[0] % len(rows), place[1]
    (edit,) = Table.open(source).replace_cells({row: {column: new}})
    assert next(csv.reader(io.StringIO(edit.replaced, newline="")), [""]) == [
        rows[row][COLUMNS.index(column)]
    ]
    changed = source.apply([edit]).decode()
    assert changed == text[: edit.offset] + edit.text + text[edit.offset + len(edit.replaced) :]
    expected = [list(each) for each in rows]
    expected[row][COLUMNS.index(column)] = new
    read = csv.reader(io.StringIO(changed, newline=""), strict=True)
    assert [cells for cells in read if any(cell.strip() for cell in cells)][1:] == expected
