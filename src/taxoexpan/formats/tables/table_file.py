"""CSV and TSV: the dialect of a table, its rows with line numbers, and new rows in its style."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note
from taxoexpan.formats.compression import format_suffix
from taxoexpan.formats.tables.column_names import Columns, are_numbers, find_column
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Taxonomy

VALUE_SEPARATOR = "|"
"""Separates several parents or synonyms in one cell."""

TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".xlsx")
"""A file with one of these suffixes is a table, whatever its cells contain."""

MAX_TITLE_ROWS = 20
"""The number of rows among which the header is looked for."""

MAX_SHOWN = 40
"""The number of characters of a header that a message shows."""

MAX_LISTED = 30
"""The number of columns that a message lists."""

_DELIMITERS = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a vertical bar"}


def csv_text(
    columns: Sequence[str], rows: Iterable[Mapping[str, object]], header: bool = True
) -> str:
    """A CSV table, with a header or without one."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@dataclass(frozen=True)
class Table:
    """A table with a header; `rows_above` are the titles above it, `line` is its line."""

    file: TextFile
    delimiter: str
    header: tuple[str, ...]
    columns: Columns
    line: int = 1
    rows_above: int = 0

    @classmethod
    def open(cls, file: TextFile, titles: bool = True) -> Table:
        """Find the header; guess the delimiter from it and from the file name.

        With `titles`, the header may be below other lines, which have fewer cells.
        """
        first = next((line for line in file.lines if line.strip()), "")
        guess = guess_delimiter(file, first)
        try:
            next(csv.reader([first], delimiter=guess), [])
        except csv.Error as error:
            message = f"the first line is not a header ({error}); correct it"
            raise FormatError(file.path, message, 1) from None
        # The lines of a text may be paths, which must not be read as a header.
        if not titles or (file.suffix == ".txt" and not file.options.columns):
            return cls._find_header(file, guess, 1)
        others = _DELIMITERS if file.suffix not in (".tsv", ".tab") and not file.delimiter else ()
        tables = [
            cls._find_header(file, delimiter, MAX_TITLE_ROWS)
            for delimiter in dict.fromkeys([guess, *others])
        ]
        found = next((table for table in tables if table.is_recognized), None)
        # If a chosen column does not exist, the message should list the columns of the header.
        named = (table for table in tables if Columns.of(table.header, {}).has_relations)
        return found or next(named, None) or max(tables, key=lambda table: len(table.header))

    @classmethod
    def _find_header(cls, file: TextFile, delimiter: str, max_rows: int) -> Table:
        """The first row that is a header and has more cells than those above.

        If no row is, or all columns are chosen by number, it is the row that looks like a header.
        """
        chosen, most = file.options.columns, 0
        tables = list(cls._first_rows(file, delimiter, max_rows))
        likely = _likely_header(tables) if tables else cls(file, delimiter, (), Columns())
        if are_numbers(likely.header, chosen):
            return likely
        for table in tables:
            if table.is_recognized and (table.filled > most or chosen):
                return table
            most = max(most, table.filled)
        return likely

    @classmethod
    def _first_rows(cls, file: TextFile, delimiter: str, max_rows: int) -> Iterator[Table]:
        """Yield a table for each of the first rows, with this row as its header."""
        try:
            for number, (line, row) in enumerate(islice(_records(file, delimiter), max_rows)):
                header = tuple(cell.strip() for cell in row)
                columns = Columns.of(header, file.options.columns)
                yield cls(file, delimiter, header, columns, line, number)
        except csv.Error:
            pass  # reading the rows reports it

    @property
    def filled(self) -> int:
        """The number of cells of the header that are not blank."""
        return sum(map(bool, self.header))

    @property
    def is_recognized(self) -> bool:
        """Whether the header has the chosen columns, and those that relate concepts."""
        return self.columns.has_relations

    @property
    def quote_all(self) -> bool:
        """Whether the header is quoted, which means that the file quotes every cell."""
        line = self.file.lines[self.line - 1] if self.line <= len(self.file.lines) else ""
        return line.startswith('"')

    def has(self, *names: str) -> bool:
        """Whether the header has all these columns."""
        return self.columns.has(*names)

    def other_columns(self, *names: str) -> dict[str, int]:
        """The number of rows for each column that is not one of these, and of title lines."""
        indices = {self.columns.indices.get(name) for name in names}
        count = sum(1 for line in self.file.lines if line.strip()) - 1 - self.rows_above
        others = {
            f"column {name!r}": count
            for index, name in enumerate(self.header)
            if index not in indices and name
        }
        return others | ({"title line": self.rows_above} if self.rows_above else {})

    def other_values(self, row: Row, *names: str) -> list[str]:
        """The headers of the columns with a value in a row that are not among these."""
        known = {self.columns.indices.get(name) for name in names}
        named = enumerate(self.header)
        return [name for i, name in named if name and i not in known and row.cells[i].strip()]

    @property
    def repeated_headers(self) -> list[Note]:
        """One note for each header of a known column that a further column has, too."""
        used = {self.header[index]: index for index in self.columns.indices.values()}
        return [
            Note(self.line, f"two columns are called {name!r}; the one on the left is read")
            for name, index in used.items()
            if name and name in self.header[index + 1 :]
        ]

    def rows(self) -> Sequence[tuple[int, Row]]:
        """Return every row below the header with its first line; blank rows are skipped."""
        return self._rows

    @cached_property
    def _rows(self) -> list[tuple[int, Row]]:
        rows = []
        for line, row in islice(read_cells(self.file, self.delimiter), self.rows_above + 1, None):
            if len(row) != len(self.header):
                raise FormatError(self.file.path, self._wrong_size(len(row)), line)
            rows.append((line, Row(row, self.columns.indices)))
        return rows

    def new_lines(self, values: Sequence[Mapping[str, str]]) -> list[str]:
        """New rows as lines; columns without a value stay empty."""
        lines = []
        for value in values:
            cells = [""] * len(self.header)
            for name, text in value.items():
                if self.has(name):
                    cells[self.columns.indices[name]] = text
            lines.append(write_cells(cells, self.delimiter, self.quote_all))
        return lines

    def _wrong_size(self, count: int) -> str:
        expected = len(self.header)
        delimiter = _DELIMITERS[self.delimiter]
        fix = f"quote cells that contain {delimiter}" if count > expected else "add the others"
        return f"the row has {count} cells, but the header has {expected}; {fix}"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table; its cells are accessed by column name."""

    cells: list[str]
    columns: Mapping[str, int]

    def __getitem__(self, name: str) -> str:
        """A cell without outer spaces; empty if the table does not have the column."""
        index = self.columns.get(name)
        return "" if index is None else self.cells[index].strip()

    def many(self, name: str) -> tuple[str, ...]:
        """The values of a cell with several values."""
        return tuple(part for part in map(str.strip, self[name].split(VALUE_SEPARATOR)) if part)


def read_cells(file: TextFile, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank, with its first line."""
    line = 1
    try:
        for line, row in _records(file, delimiter):
            yield line, row
    except csv.Error as error:
        line = error.args[1]
        message = f"the table is not well-formed ({error.args[0]})"
        fix = "check for a quote that is not closed"
        raise FormatError(file.path, f"{message}; {fix}", line) from None


def _records(file: TextFile, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank, with its first line; an error also gets its line."""
    # A cell may contain line breaks inside quotes, so csv must see the whole text.
    reader = csv.reader(io.StringIO(file.text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for number, row in enumerate(reader, start=2):
            if any(cell.strip() for cell in row):
                yield line, row
            line = number if file.delimiter else reader.line_num + 1
    except csv.Error as error:
        raise csv.Error(str(error), line) from None


def write_cells(cells: Sequence[str], delimiter: str, quote_all: bool) -> str:
    """One row as a line, without the line end."""
    line = io.StringIO()
    # The writer quotes cells with characters of its line terminator.
    quoting: Literal[0, 1] = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    writer = csv.writer(line, delimiter=delimiter, quoting=quoting, lineterminator="\r\n")
    writer.writerow(cells)
    return line.getvalue().removesuffix("\r\n")


def table_text(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A whole table; the file name determines the delimiter."""
    delimiter = path_delimiter(path) or ","
    lines = [write_cells(row, delimiter, quote_all=False) for row in (header, *rows)]
    return "\n".join([*lines, ""])


def labels_as_ids(file: TextFile, expanded: Taxonomy, additions: Additions) -> dict[str, str]:
    """The label of each new concept by its id, for files in which a label is its own id."""
    names = {concept.id: concept.label for concept in additions.concepts}
    seen: set[str] = set()
    for id, name in names.items():
        if name in seen or (id != name and name in expanded):
            message = f"the label {name!r} is already used, and labels are ids in this file"
            raise FormatError(file.path, f"{message}; give the new concept another label")
        seen.add(name)
    return names


def _likely_header(tables: Sequence[Table]) -> Table:
    """The first row with two filled cells or more, and more than half as many as any other row."""
    half = max(table.filled for table in tables) / 2
    return next((table for table in tables if table.filled > max(1, half)), tables[0])


def is_table(file: TextFile) -> bool:
    """Whether the file is a table by its name, or a sheet."""
    return file.suffix in TABLE_SUFFIXES or bool(file.delimiter)


def open_if_table(file: TextFile, titles: bool = True) -> Table | None:
    """Open a file as a table; return None if its first line is not a valid header."""
    try:
        return Table.open(file, titles)
    except FormatError:
        return None


def column_error(table: Table, problem: str, example: str = "label=1,parent=2") -> FormatError:
    """An error that lists the columns of a table, and says how to choose them."""
    message = f"{problem}. {_describe_columns(table, example)}"
    return FormatError(table.file.path, message, table.line)


def _describe_columns(table: Table, example: str) -> str:
    roles: dict[int, str] = {}
    for name, index in table.columns.indices.items():
        roles.setdefault(index, name)
    width = min(MAX_SHOWN, max((len(name) for name in table.header), default=0))
    lines = [
        f"  {index + 1:>2}  {_shortened(name):<{width}}  {roles.get(index, '')}".rstrip()
        for index, name in enumerate(table.header[:MAX_LISTED])
    ]
    rest = len(table.header) - MAX_LISTED
    lines += [f"  … and {rest:,} more"] if rest > 0 else []
    others = "id, label, parent, parent_label, child, path, definition, synonyms, deprecated"
    how = "Choose columns by name or number with the option columns, for example"
    how += f" {example}; the names are {others}"
    chosen = table.file.options.columns.values()
    missing = next((t for t in chosen if t and find_column(table.header, t) is None), "")
    problem = f"There is no column {missing!r}. " if missing else ""
    listing = "\n".join(lines)
    return f"{problem}The columns are:\n{listing}\n{how}, level1, level2, …"


def _shortened(name: str) -> str:
    text = " ".join(name.split())
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def guess_delimiter(file: TextFile, first_line: str) -> str:
    """Guess the delimiter from the file name and the first line."""
    return file.delimiter or path_delimiter(file.path) or max(_DELIMITERS, key=first_line.count)


def path_delimiter(path: Path) -> str | None:
    """The delimiter of a file with this name, or None if the name does not say it."""
    return "\t" if format_suffix(path) in (".tsv", ".tab", ".xlsx") else None
