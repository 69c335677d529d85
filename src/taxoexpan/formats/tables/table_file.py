"""CSV and TSV: the dialect of a table, its rows with line numbers, and new rows in its style."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Taxonomy

VALUE_SEPARATOR = "|"
"""Separates several parents or synonyms in one cell."""

COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "concept_id", "identifier", "uri", "code", "query_id"),
    "label": ("label", "name", "term", "concept", "title", "query", "preflabel", "category"),
    "parents": ("parents", "parent", "parent_id", "parent_ids", "broader"),
    "child": ("child", "child_id", "hyponym", "narrower"),
    "parent": ("parent", "parent_id", "hypernym", "broader"),
    "path": ("path", "category_path", "full_path", "full_name"),
    "definition": ("definition", "description", "gloss"),
    "synonyms": ("synonyms", "synonym", "altlabel", "aliases"),
    "deprecated": ("deprecated", "obsolete"),
}


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """A CSV table with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@dataclass(frozen=True)
class Table:
    """A table with a header."""

    file: TextFile
    delimiter: str
    quote_all: bool
    header: tuple[str, ...]

    @classmethod
    def open(cls, file: TextFile) -> Table:
        """Read the header; guess the delimiter from it and from the file name."""
        first = next((line for line in file.lines if line.strip()), "")
        delimiter = guess_delimiter(file.path, first)
        try:
            cells = next(csv.reader([first], delimiter=delimiter), [])
        except csv.Error as error:
            raise FormatError(
                file.path, f"the first line is not a header ({error}); correct it", 1
            ) from None
        # A quoted header means that the file quotes every cell.
        quote_all = first.startswith('"')
        return cls(file, delimiter, quote_all, tuple(cell.strip() for cell in cells))

    def column(self, name: str) -> int | None:
        """The index of a column; COLUMN_NAMES lists the names that it may have."""
        header = [cell.casefold().replace(" ", "_") for cell in self.header]
        return next((header.index(n) for n in COLUMN_NAMES[name] if n in header), None)

    def has(self, *names: str) -> bool:
        """Whether the header has all these columns."""
        return all(self.column(name) is not None for name in names)

    @property
    def columns(self) -> dict[str, int | None]:
        """The index of every known column, or None if the table does not have it."""
        return {name: self.column(name) for name in COLUMN_NAMES}

    def other_columns(self, *names: str) -> dict[str, int]:
        """The number of rows for each column that is not one of these."""
        indices = {self.column(name) for name in names}
        count = sum(1 for line in self.file.lines if line.strip()) - 1
        return {f"column {n!r}": count for i, n in enumerate(self.header) if i not in indices}

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Yield every row below the header with its first line; blank rows are skipped."""
        columns = self.columns
        cells = read_cells(self.file, self.delimiter)
        next(cells)
        for line, row in cells:
            if len(row) != len(self.header):
                raise FormatError(self.file.path, self._wrong_size(len(row)), line)
            yield line, Row(row, columns)

    def new_lines(self, values: Sequence[Mapping[str, str]]) -> list[str]:
        """New rows as lines; columns without a value stay empty."""
        columns = self.columns
        lines = []
        for value in values:
            cells = [""] * len(self.header)
            for name, text in value.items():
                index = columns[name]
                if index is not None:
                    cells[index] = text
            lines.append(write_cells(cells, self.delimiter, self.quote_all))
        return lines

    def _wrong_size(self, count: int) -> str:
        expected = len(self.header)
        delimiter = {",": "a comma", "\t": "a tab", ";": "a semicolon"}[self.delimiter]
        fix = f"quote cells that contain {delimiter}" if count > expected else "add the others"
        return f"the row has {count} cells, but the header has {expected}; {fix}"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table; its cells are accessed by column name."""

    cells: list[str]
    columns: Mapping[str, int | None]

    def __getitem__(self, name: str) -> str:
        """A cell without outer spaces; empty if the table does not have the column."""
        index = self.columns[name]
        return "" if index is None else self.cells[index].strip()

    def many(self, name: str) -> tuple[str, ...]:
        """The values of a cell with several values."""
        return tuple(part for part in map(str.strip, self[name].split(VALUE_SEPARATOR)) if part)


def read_cells(file: TextFile, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank, with its first line."""
    # A cell may contain line breaks inside quotes, so csv must see the whole text.
    reader = csv.reader(io.StringIO(file.text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        message = f"the table is not well-formed ({error}); check for a quote that is not closed"
        raise FormatError(file.path, message, line) from None


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
    delimiter = guess_delimiter(path, ",")
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


def open_if_table(file: TextFile) -> Table | None:
    """Open a file as a table; return None if its first line is not a valid header."""
    try:
        return Table.open(file)
    except FormatError:
        return None


def guess_delimiter(path: Path, first_line: str) -> str:
    """Guess the delimiter from the file name and the first line."""
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    return max(",\t;", key=first_line.count)
