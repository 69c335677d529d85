"""Notes about the columns and cells of a table that are not read, or probably not as meant."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from taxoexpan.formats.builder import Note
from taxoexpan.formats.tables.deprecation import ACTIVE_WORDS, DEPRECATED_WORDS, are_statuses
from taxoexpan.formats.tables.table import Table
from taxoexpan.phrasing import pluralize

MIN_OTHER_SIGN = 0.5
"""The fraction of the cells with synonyms that must have a `;`, so that a note names it."""

_TEXTS = ("definition", "synonyms", "deprecated")
"""The columns whose cells may have several lines, unless a line looks like a row."""


def column_notes(table: Table, basis: str, *read: str) -> list[Note]:
    """Return notes about repeated columns, unread columns, line breaks, and signs in synonyms.

    `basis` says what states the relations, and `read` names the columns that are read.
    """
    return [
        *_repeated_headers(table),
        *_unread(table, basis, read),
        *_unread_status(table),
        *_other_signs(table),
        *([] if table.file.delimiter else broken_cells(table)),
    ]


def broken_cells(table: Table) -> list[Note]:
    """Return a note if cells have line breaks as if a quote were missing, so that rows are lost."""
    names = {index for name, index in table.columns.indices.items() if name not in _TEXTS}
    rows = ((row.line, row.cells) for row in table.rows)
    return line_break_notes(rows, names, table.delimiter)


def line_break_notes(
    rows: Iterable[tuple[int, Sequence[str]]], names: Container[int], delimiter: str
) -> list[Note]:
    """Return a note about line breaks in the columns of names, or around lines like rows."""
    found = list[tuple[int, int, str]]()
    for first, cells in rows:
        line = first
        for index, cell in enumerate(cells):
            breaks = cell.count("\n")
            is_name = index in names and "\n" in cell.strip()
            if breaks and (is_name or _has_rows(cell, index, len(cells), delimiter)):
                found.append((line, line + breaks, cell))
            line += breaks
    for start, end, cell in found[:1]:
        message = f"the cell {cell.strip()[:40]!r} has line breaks, and ends on line {end}"
        message += f" ({pluralize(len(found), 'such cell')})"
        fix = "if a quote is missing or does not belong there, the rows up to that line are lost"
        return [Note(start, f"{message}; {fix}")]
    return []


def _has_rows(cell: str, index: int, width: int, delimiter: str) -> bool:
    """Return whether a line in the cell of this column looks like a row with so many cells."""
    *inner, last = cell.split("\n")[1:]
    # In a sentence, a blank follows the sign.
    lines = [(line, width - 1) for line in inner] + [(last, index)]
    return any(
        line.count(delimiter) == count > 0 and f"{delimiter} " not in line for line, count in lines
    )


def label_notes(table: Table, paths: Sequence[Sequence[str]]) -> Iterator[Note]:
    """Yield a note if rows have another label than the end of their path."""
    rows = zip(table.rows, paths, strict=True)
    others = [(row, path[-1]) for row, path in rows if row["label"] not in ("", path[-1])]
    for row, end in others[:1]:
        message = f"the label {row['label']!r} differs from the end of the path, {end!r}"
        message += f" ({pluralize(len(others), 'such row')})"
        yield Note(row.line, f"{message}; the end of the path is read, so make them equal")


def _repeated_headers(table: Table) -> Iterator[Note]:
    """Yield one note for each known header that occurs more than once."""
    used = {table.header[index]: index for index in table.columns.indices.values()}
    for name, index in used.items():
        if name and name in table.header[index + 1 :]:
            message = f"two columns are called {name!r}; the one on the left is read"
            yield Note(table.line, message)


def _unread(table: Table, basis: str, read: Sequence[str]) -> Iterator[Note]:
    """Yield a note with all known columns of which this layout reads nothing."""
    indices = table.columns.indices
    used = {indices[name] for name in read if name in indices}
    # Two names may be of one column.
    unread = {i: name for name, i in indices.items() if name not in read and i not in used}
    if unread:
        names = ", ".join(f"{table.header[i]!r} ({name})" for i, name in unread.items())
        message = f"the relations come from {basis}, so this table is read without {names}"
        yield Note(table.line, f"{message}; remove what is not needed, or choose other columns")


def _unread_status(table: Table) -> Iterator[Note]:
    """Yield a note if a column of statuses has other words than those for deprecated concepts."""
    index = table.status_index
    if index is None or index in table.columns.indices.values() or table.has("deprecated"):
        return
    cells = ((row.line, row.cells[index].strip()) for row in table.rows)
    other = next((cell for cell in cells if cell[1] and not are_statuses([cell[1]])), None)
    if other and "deprecated" not in table.file.options.columns:
        line, value = other
        message = f"the column {table.header[index]!r} is not read, because {value[:40]!r} does not"
        fix = f"if it should, write only {', '.join((*DEPRECATED_WORDS, *ACTIVE_WORDS))}"
        yield Note(line, f"{message} say if a concept is deprecated; {fix}")


def _other_signs(table: Table) -> Iterator[Note]:
    """Yield a note if another sign than the separator seems to separate synonyms."""
    own = table.synonym_separator
    cells = [(row.line, cell) for row in table.rows if (cell := row["synonyms"])]
    having = [line for line, cell in cells if ";" in cell and own not in cell]
    if len(having) > 1 and len(having) >= MIN_OTHER_SIGN * len(cells):
        message = f"the synonyms are read with the separator {own!r}, but {len(having):,} cells"
        fix = f"write {own!r} between synonyms, or name ';' with the option separator"
        yield Note(having[0], f"{message} have ';' and not {own!r}; {fix}")
