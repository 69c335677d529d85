"""CSV and TSV: the dialect of a table, its rows with their lines, and new rows in its style."""

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

MANY = "|"
"""What stands between several parents or synonyms in one cell."""

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


def csv_of(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """A table of our own, with a header."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@dataclass(frozen=True)
class Table:
    """A table with a header."""

    source: TextFile
    delimiter: str
    quote_all: bool
    header: tuple[str, ...]

    @classmethod
    def open(cls, source: TextFile) -> Table:
        """Take the first line as the header, and guess the delimiter from it and the name."""
        first = next((line for line in source.lines if line.strip()), "")
        delimiter = guess_delimiter(source.path, first)
        try:
            cells = next(csv.reader([first], delimiter=delimiter), [])
        except csv.Error as error:
            raise FormatError(source.path, f"not a table with a header ({error})", 1) from None
        # A file whose header is quoted though it need not be is one that quotes everything.
        quote_all = first.startswith('"')
        return cls(source, delimiter, quote_all, tuple(cell.strip() for cell in cells))

    def column(self, name: str) -> int | None:
        """The place of a column under any of the names it is known by."""
        folded = [cell.casefold().replace(" ", "_") for cell in self.header]
        return next((folded.index(n) for n in COLUMN_NAMES[name] if n in folded), None)

    def has(self, *names: str) -> bool:
        """Whether the header holds all these columns."""
        return all(self.column(name) is not None for name in names)

    @property
    def columns(self) -> dict[str, int | None]:
        """The place of every column that we know."""
        return {name: self.column(name) for name in COLUMN_NAMES}

    def other_columns(self, *names: str) -> dict[str, int]:
        """The columns that are none of these, and how many rows they have."""
        places = {self.column(name) for name in names}
        count = sum(1 for line in self.source.lines if line.strip()) - 1
        return {f"column {n!r}": count for i, n in enumerate(self.header) if i not in places}

    def rows(self) -> Iterator[tuple[int, Row]]:
        """Every row below the header, with the line it begins on; blank rows are passed over."""
        columns = self.columns
        cells = read_cells(self.source, self.delimiter)
        next(cells)
        for line, row in cells:
            if len(row) != len(self.header):
                raise FormatError(self.source.path, self._uneven(len(row)), line)
            yield line, Row(row, columns)

    def written(self, values: Sequence[Mapping[str, str]]) -> list[str]:
        """New rows as lines; a column that the values do not name stays blank."""
        places = self.columns
        lines = []
        for value in values:
            cells = [""] * len(self.header)
            for name, text in value.items():
                place = places[name]
                if place is not None:
                    cells[place] = text
            lines.append(write_cells(cells, self.delimiter, self.quote_all))
        return lines

    def _uneven(self, count: int) -> str:
        wanted = len(self.header)
        named = {",": "a comma", "\t": "a tab", ";": "a semicolon"}[self.delimiter]
        mend = f"quote the cells that hold {named}" if count > wanted else "add what is missing"
        return f"{count} cells, but the header has {wanted}; {mend}"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table, its cells asked for by column."""

    cells: list[str]
    columns: Mapping[str, int | None]

    def __getitem__(self, name: str) -> str:
        """A cell without outer spaces; a column that the table lacks is blank."""
        place = self.columns[name]
        return "" if place is None else self.cells[place].strip()

    def many(self, name: str) -> tuple[str, ...]:
        """A cell that holds several values."""
        return tuple(part for part in map(str.strip, self[name].split(MANY)) if part)


def read_cells(source: TextFile, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, with the line it begins on."""
    # A spreadsheet's row may hold line breaks inside quotes, so csv must see the ends.
    reader = csv.reader(io.StringIO(source.text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        message = f"not a well-formed table ({error}); look for a quote that is not closed"
        raise FormatError(source.path, message, line) from None


def write_cells(cells: Sequence[str], delimiter: str, quote_all: bool) -> str:
    """One row as a line without its end."""
    line = io.StringIO()
    # Only what ends a line is quoted inside a cell, so the writer must know it.
    quoting: Literal[0, 1] = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    writer = csv.writer(line, delimiter=delimiter, quoting=quoting, lineterminator="\r\n")
    writer.writerow(cells)
    return line.getvalue().removesuffix("\r\n")


def table_text(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A whole table, its cells separated as the file's name says."""
    delimiter = guess_delimiter(path, ",")
    lines = [write_cells(row, delimiter, quote_all=False) for row in (header, *rows)]
    return "\n".join([*lines, ""])


def names_as_ids(source: TextFile, expanded: Taxonomy, additions: Additions) -> dict[str, str]:
    """The name of each new concept by its id, for a table where a name must be its own id."""
    names = {concept.id: concept.label for concept in additions.concepts}
    seen: set[str] = set()
    for id, name in names.items():
        if name in seen or (id != name and name in expanded):
            message = f"{name!r} is already a name in this file, and a name is its own id here"
            raise FormatError(source.path, f"{message}; give the new concept another name")
        seen.add(name)
    return names


def open_if_table(source: TextFile) -> Table | None:
    """The table that a file may be, judged by its first line alone."""
    try:
        return Table.open(source)
    except FormatError:
        return None


def guess_delimiter(path: Path, first_line: str) -> str:
    """What stands between the cells, judged by the file's name and its first line."""
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    return max(",\t;", key=first_line.count)
