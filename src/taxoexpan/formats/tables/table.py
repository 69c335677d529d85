"""CSV and TSV tables: the header, rows and cells, and new rows and cells in the same style."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal

from taxoexpan.errors import FormatError
from taxoexpan.formats.compression import format_suffix
from taxoexpan.formats.tables.columns import Columns, are_numbers, find_column
from taxoexpan.formats.tables.deprecation import ACCEPTED, are_statuses, parse_deprecated
from taxoexpan.formats.text_file import Insertion, TextFile

VALUE_SEPARATOR = "|"
"""Separates several parents or synonyms in one cell."""

TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".xlsx")
"""A file with one of these suffixes is a table, whatever its cells contain."""

MAX_TITLE_ROWS = 20
"""The number of rows among which the header is looked for."""

MAX_SAMPLE = 200
"""The number of rows that are compared to find the delimiter."""

MAX_SHOWN = 40
"""The number of characters of a header that a message shows."""

MAX_LISTED = 30
"""The number of columns that a message lists."""

_CODE = re.compile(r"[A-Z]{0,3}\d[\dA-Z.-]*")
_DELIMITERS = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a vertical bar"}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table with its first line and its cells by column name."""

    line: int
    cells: list[str]
    columns: Mapping[str, int]

    def __getitem__(self, name: str) -> str:
        """Return a cell without outer spaces, or "" if the table does not have the column."""
        index = self.columns.get(name)
        return "" if index is None else self.cells[index].strip()

    def many(self, name: str, separator: str = VALUE_SEPARATOR) -> tuple[str, ...]:
        """Return the values of a cell with several values."""
        return tuple(filter(None, map(str.strip, self[name].split(separator))))


@dataclass(frozen=True)
class Table:
    """A table with a header on `line`, below a number of title rows (`rows_above`)."""

    file: TextFile
    delimiter: str
    header: tuple[str, ...]
    columns: Columns
    line: int = 1
    rows_above: int = 0

    @classmethod
    def open(cls, file: TextFile, titles: bool = True) -> Table:
        """Find the header and the delimiter; with `titles`, the header may be below other lines."""
        return cls._find(file, titles)._with_status()

    @classmethod
    def _find(cls, file: TextFile, titles: bool) -> Table:
        """Return the table with the columns that its header names."""
        first = next((line for line in file.lines if line.strip()), "")
        guess = guess_delimiter(file, first)
        try:
            next(csv.reader([first], delimiter=guess), [])
        except csv.Error as error:
            message = f"the first line is not a header ({error})"
            raise FormatError(file.path, message, fix="correct it", line=1) from None
        # The lines of a text may be paths, which must not be read as a header.
        if not titles or (file.suffix == ".txt" and not file.options.columns):
            return cls._find_header(file, guess, 1)
        others = _DELIMITERS if file.suffix not in (".tsv", ".tab") and not file.delimiter else ()
        tables = [
            cls._find_header(file, delimiter, MAX_TITLE_ROWS)
            for delimiter in dict.fromkeys([guess, *others])
        ]
        found = next((table for table in tables if table.columns.has_relations), None)
        # If a chosen column does not exist, the message should list the columns of the header.
        named = (table for table in tables if Columns.of(table.header, {}).has_relations)
        found = found or next(named, None)
        return found or max(tables, key=lambda one: (one.has_equal_rows, len(one.header)))

    @classmethod
    def _find_header(cls, file: TextFile, delimiter: str, max_rows: int) -> Table:
        """Return the table from the first header row with more filled cells than the rows above.

        Without such a row, or if all columns are chosen by number, use the first row with at least
        two filled cells and more than half as many as any other row.
        """
        chosen = file.options.columns
        most = 0
        tables = list[Table]()
        try:
            for number, (line, row) in enumerate(islice(read_cells(file, delimiter), max_rows)):
                header = tuple(cell.strip() for cell in row)
                columns = Columns.of(header, chosen)
                tables.append(cls(file, delimiter, header, columns, line, number))
        except FormatError:
            pass  # reading the rows reports it
        filled = [sum(map(bool, table.header)) for table in tables]
        sizes = list(zip(tables, filled, strict=True))
        enough = max(1, max(filled, default=0) / 2)
        likely = next((table for table, size in sizes if size > enough), None)
        likely = likely or next(iter(tables), cls(file, delimiter, (), Columns()))
        if are_numbers(likely.header, chosen):
            return likely
        for table, size in sizes:
            if table.columns.has_relations and (size > most or chosen):
                return table
            most = max(most, size)
        return likely

    def _with_status(self) -> Table:
        """Return the table, in which a column of statuses says which concepts are deprecated."""
        index = self.status_index
        known = self.columns.indices
        if index is None or index in known.values() or {"deprecated"} & {*known, *self._chosen}:
            return self
        try:
            is_read = are_statuses(row.cells[index] for row in self.rows)
        except FormatError:  # reading the rows reports it
            is_read = False
        found = Columns({**known, "deprecated": index})
        return replace(self, columns=found) if is_read else self

    @property
    def _chosen(self) -> Mapping[str, str]:
        return self.file.options.columns

    @property
    def status_index(self) -> int | None:
        """The index of the column that is called `Status`, if there is one."""
        return find_column(self.header, "status")

    def is_deprecated(self, row: Row) -> bool:
        """Return whether a row marks its concept as deprecated; refuse unclear values."""
        value = row["deprecated"]
        found = parse_deprecated(value)
        if found is None:
            name = self.header[self.columns.indices["deprecated"]]
            message = f"{value!r} in the column {name!r} does not say if the concept is deprecated"
            fix = f"write one of {ACCEPTED}; or ignore the column with deprecated="
            raise FormatError(self.file.path, message, fix=fix, line=row.line, option="columns")
        return found

    @property
    def has_equal_rows(self) -> bool:
        """Whether the first rows below the header have as many cells, and more than one."""
        try:
            rows = list(islice(read_cells(self.file, self.delimiter), MAX_SAMPLE))
        except FormatError:
            return False
        sizes = {len(cells) for _, cells in rows[self.rows_above :]}
        return sizes == {len(self.header)} and len(self.header) > 1

    @property
    def has_concept_as_header(self) -> bool:
        """Whether the header of the ids is a code, so that the first row is a concept."""
        return _CODE.fullmatch(self.header[self.columns.indices.get("id", 0)]) is not None

    @property
    def problem(self) -> str:
        """The reason why the columns are not those of a taxonomy."""
        if self.has_concept_as_header:
            return "the first row is not a header; add one above it, such as code,label"
        if self.has("parents") or self.has("parent_label"):
            return "a column has parents, but none is recognized as the id or the label"
        if self.has("child"):
            return "a column has children, but none is recognized as the parent"
        codes = "if the ids are hierarchical codes (01, 0101), name them by the option codes"
        return f"the columns do not say how the concepts are related; {codes}"

    @property
    def quote_all(self) -> bool:
        """Whether the header is quoted, which means that the file quotes every cell."""
        line = self.file.lines[self.line - 1] if self.line <= len(self.file.lines) else ""
        return line.startswith('"')

    def has(self, *names: str) -> bool:
        """Return whether the header has all these columns."""
        return self.columns.has(*names)

    def other_columns(self, *names: str) -> dict[str, int]:
        """Return the number of values in each other column, and the number of title lines.

        A status is one of them, even if it says which concepts are deprecated: others have one too.
        """
        if self.columns.indices.get("deprecated") == self.status_index:
            names = tuple(name for name in names if name != "deprecated")
        counts = {
            f"column {name!r}": sum(1 for row in self.rows if row.cells[column].strip())
            for column, name in self._others(names).items()
        }
        return counts | ({"title line": self.rows_above} if self.rows_above else {})

    def _others(self, names: Sequence[str]) -> dict[int, str]:
        known = {self.columns.indices.get(name) for name in names}
        return {i: name for i, name in enumerate(self.header) if name and i not in known}

    @cached_property
    def synonym_separator(self) -> str:
        """The text between synonyms: the chosen one, a line break if all cells use it, or `|`."""
        if (chosen := self.file.options.separator) and not self.has("path"):
            return chosen
        cells = [row["synonyms"] for row in self.rows]
        has_breaks = any("\n" in cell for cell in cells)
        return "\n" if has_breaks and VALUE_SEPARATOR not in "".join(cells) else VALUE_SEPARATOR

    @cached_property
    def rows(self) -> list[Row]:
        """All rows below the header, without blank rows."""
        rows = []
        for line, cells in islice(read_cells(self.file, self.delimiter), self.rows_above + 1, None):
            count = len(cells)
            expected = len(self.header)
            if count != expected:
                quote = f"quote cells that contain {_DELIMITERS[self.delimiter]}"
                fix = quote if count > expected else "add the others"
                message = f"the row has {count} cells, but the header has {expected}"
                raise FormatError(self.file.path, message, fix=fix, line=line)
            rows.append(Row(line, cells, self.columns.indices))
        return rows

    def new_lines(self, values: Sequence[Mapping[str, str]]) -> list[str]:
        """Return new rows as lines; columns without a value stay empty."""
        lines = []
        for value in values:
            known = {self.columns.indices.get(name): text for name, text in value.items()}
            cells = [known.get(index, "") for index in range(len(self.header))]
            lines.append(write_cells(cells, self.delimiter, self.quote_all))
        return lines

    def replace_cells(self, edits: Mapping[int, Mapping[str, str]]) -> Iterator[Insertion]:
        """Yield replacements of cells by row index and column name; quoted cells stay quoted."""
        for number, cells in enumerate(self._raw_cells() if edits else ()):
            for name, text in edits.get(number, {}).items():
                offset, raw = cells[self.columns.indices[name]]
                quoted = self.quote_all or raw.startswith('"')
                yield Insertion(offset, write_cells([text], self.delimiter, quoted), raw)

    def insert_below(self, lines: Mapping[int, Sequence[str]]) -> Iterator[Insertion]:
        """Yield the insertions of new lines below the rows with these indices."""
        text = self.file.text
        for number, cells in enumerate(self._raw_cells()):
            if number in lines:
                end = cells[-1][0] + len(cells[-1][1])
                end += text.startswith("\r", end)
                end += text.startswith("\n", end)
                yield self.file.insert_lines(end, lines[number])

    def _raw_cells(self) -> Iterator[list[tuple[int, str]]]:
        """Yield the offsets and the raw content, with quotes, of the cells of every row."""
        separator = re.escape(self.delimiter)
        pattern = re.compile(rf'("(?:[^"]|"")*+"|[^{separator}\r\n]*+)({separator}|\r\n?|\n|\Z)')
        cells: list[tuple[int, str]] = []
        above = self.rows_above + 1
        for match in pattern.finditer(self.file.text):
            cells.append((match.start(), match[1]))
            if match[2] != self.delimiter:
                if any((raw[1:-1] if raw.startswith('"') else raw).strip() for _, raw in cells):
                    if above:
                        above -= 1
                    else:
                        yield cells
                cells = []


def read_cells(file: TextFile, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield every row that is not blank, with its first line."""
    # A cell may contain line breaks inside quotes, so csv must see the whole text.
    reader = csv.reader(io.StringIO(file.text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for number, row in enumerate(reader, start=2):
            if any(cell.strip() for cell in row):
                yield line, row
            line = number if file.delimiter else reader.line_num + 1
    except csv.Error as error:
        message = f"the table is not well-formed ({error})"
        fix = "check for a quote that is not closed"
        raise FormatError(file.path, message, fix=fix, line=line) from None


def write_cells(cells: Sequence[object], delimiter: str, quote_all: bool) -> str:
    """Return one row as a line without the line end."""
    line = io.StringIO()
    quoting: Literal[0, 1] = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    # The writer quotes cells with characters of its line terminator, which is "\r\n".
    csv.writer(line, delimiter=delimiter, quoting=quoting).writerow(cells)
    return line.getvalue().removesuffix("\r\n")


def table_text(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a whole table; the file name determines the delimiter."""
    delimiter = path_delimiter(path) or ","
    lines = [write_cells(row, delimiter, quote_all=False) for row in (header, *rows)]
    return "\n".join([*lines, ""])


def csv_text(
    columns: Sequence[str], rows: Iterable[Mapping[str, object]], header: bool = True
) -> str:
    """Return a CSV table, with or without a header."""
    cells = [[row[column] for column in columns] for row in rows]
    above = [columns] if header else []
    # The writer of the module csv does not quote a lone carriage return, if lines end with "\n".
    lines = [write_cells(row, ",", quote_all=False) for row in [*above, *cells]]
    return "".join(f"{line}\n" for line in lines)


def is_table(file: TextFile) -> bool:
    """Return whether the file is a sheet, or a table by its name."""
    return file.suffix in TABLE_SUFFIXES or bool(file.delimiter)


def open_if_table(file: TextFile, titles: bool = True) -> Table | None:
    """Open a file as a table, or return None if its first line is not a valid header."""
    try:
        return file.parsed(Table.open) if titles else Table.open(file, titles)
    except FormatError:
        return None


def column_error(table: Table, problem: str, example: str = "label=1,parent=2") -> FormatError:
    """Return an error that lists the columns of a table and explains how to choose them."""
    roles: dict[int, str] = {}
    for name, index in table.columns.indices.items():
        roles.setdefault(index, name)
    headers = [" ".join(name.split()) for name in table.header[:MAX_LISTED]]
    shown = [name if len(name) <= MAX_SHOWN else f"{name[: MAX_SHOWN - 1]}…" for name in headers]
    width = max(map(len, shown), default=0)
    lines = [
        f"  {index + 1:>2}  {name:<{width}}  {roles.get(index, '')}".rstrip()
        for index, name in enumerate(shown)
    ]
    rest = len(table.header) - MAX_LISTED
    listing = "\n".join([*lines, f"  … and {rest:,} more"] if rest > 0 else lines)
    others = "id, label, parent, parent_label, child, path, codes, definition, synonyms, deprecated"
    chosen = table.file.options.columns.values()
    missing = next((t for t in chosen if t and find_column(table.header, t) is None), "")
    absent = f"There is no column {missing!r}. " if missing else ""
    how = f"Choose columns by name or number with the option columns, for example {example}"
    how += f"; the names are {others}, level1, level2, …"
    if len(table.header) < 2:
        how = "If it has paths, choose it with the option columns as path=1; else add the parents"
    message = f"{problem}. {absent}The columns are:\n{listing}"
    return FormatError(table.file.path, message, fix=how, line=table.line)


def guess_delimiter(file: TextFile, first_line: str) -> str:
    """Guess the delimiter from the file name and the first line."""
    return file.delimiter or path_delimiter(file.path) or max(_DELIMITERS, key=first_line.count)


def path_delimiter(path: Path) -> str | None:
    """Return the delimiter that the file name determines, or None."""
    return "\t" if format_suffix(path) in (".tsv", ".tab", ".xlsx") else None
