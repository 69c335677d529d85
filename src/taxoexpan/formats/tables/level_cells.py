"""Level columns (`level 1`, `level 2`, …): a path of labels, with one label in each cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from taxoexpan.errors import FormatError
from taxoexpan.formats.tables.table_file import Row, Table

_MIN_SHARE = 0.9
"""The share of rows that must follow a style, so that new rows follow it too."""


class LevelStyle(Enum):
    """How a row states its path: with all labels, or with the last one only."""

    FULL = "full"
    LAST = "last"


def level_texts(table: Table, row: Row) -> list[str]:
    """The cells of the level columns."""
    return [row[name] for name in table.columns.levels]


def level_paths(table: Table) -> Iterator[tuple[int, Row, tuple[str, ...]]]:
    """Yield every row with its line and its path; empty cells on the left are those above."""
    above: tuple[str, ...] = ()
    for line, row in table.rows():
        cells = level_texts(table, row)
        filled = [index for index, cell in enumerate(cells) if cell]
        if not filled:
            message = "all level columns of this row are empty; fill one, or remove the row"
            raise FormatError(table.file.path, message, line)
        first, last = filled[0], filled[-1]
        if len(filled) < last - first + 1 or first > len(above):
            empty = next(i for i, cell in enumerate(cells) if not cell and i >= len(above[:first]))
            name = table.header[table.columns.indices[table.columns.levels[empty]]]
            message = f"the column {name!r} is empty between two levels; fill it"
            raise FormatError(table.file.path, message, line)
        above = (*above[:first], *cells[first : last + 1])
        yield line, row, above


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
