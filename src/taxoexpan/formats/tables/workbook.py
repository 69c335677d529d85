"""Excel workbooks: one sheet is read as a table, and new cells are written into its XML."""

from __future__ import annotations

import csv
import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.cell import WriteOnlyCell

from taxoexpan.errors import FormatError
from taxoexpan.formats.compression import max_size
from taxoexpan.formats.registry import find_format
from taxoexpan.formats.tables.sheet_xml import CellEdit, SheetXml, damaged
from taxoexpan.formats.tables.table import write_cells
from taxoexpan.formats.text_file import Insertion, ReadOptions, TextFile

DELIMITER = "\t"
MAX_BYTES = 2 << 30
"""A workbook that is larger after decompression is refused."""

MAX_CELL = 32_767
"""The number of characters that Excel allows in one cell."""

MAX_ROWS = 1_048_576
MAX_COLUMNS = 16_384
"""The size of Excel's sheets."""
MAX_CELLS = 100_000_000
"""The number of cells that are read, of which most may be empty."""
MAX_GAPS = 100
"""The number of empty cells per filled cell, in tables with more than a million cells."""

_NUMBER = re.compile(r"0|-?[1-9]\d{0,14}")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
"""The form in which Excel stores characters that XML cannot contain or would change."""
_TO_ESCAPE = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


@dataclass(frozen=True, eq=False)
class SheetFile(TextFile):
    """One sheet as tab-separated text, with one line per row up to the last row with content."""

    workbook: bytes = b""
    sheet: str = ""
    sheets: tuple[str, ...] = ()
    numeric_columns: frozenset[int] = frozenset()
    footer: str = ""
    """The first text below the table of the sheet, if its rows are not read."""

    def apply(self, insertions: Iterable[Insertion]) -> bytes:
        """Return the bytes of the workbook, in which only the inserted cells are different."""
        changed = super().apply(insertions).decode("utf-8")
        old = _parse(self.text)
        new = _parse(changed)
        edits = [
            self._edit(row, column, text)
            for row, cells in enumerate(new)
            for column, text in enumerate(cells)
            if (row >= len(old) and text) or (row < len(old) and text != old[row][column])
        ]
        if not edits:
            return self.workbook
        if self.footer and len(new) > len(old):
            message = f"the rows below the table, from {self.footer!r}, are in the way of new rows"
            fix = "turn off the total row of the table, or move these rows to another sheet"
            raise FormatError(self.path, message, fix=fix, line=len(old) + 1)
        return SheetXml.open(self.path, self.workbook, self.sheet).edited(edits, len(old))

    def with_parts(self, contents: Mapping[Path, bytes]) -> TextFile:
        """Return the workbook with new contents, of which the same sheet is read."""
        same = replace(self, options=replace(self.options, sheet=self.sheet))
        return replace(TextFile.with_parts(same, contents), options=self.options)

    def _edit(self, row: int, column: int, text: str) -> CellEdit:
        if len(text) > MAX_CELL:
            message = f"{text[:50]!r} is too long for a cell of Excel"
            raise FormatError(self.path, message, fix="shorten it")
        _refuse_row(self.path, row + 1)
        is_number = column in self.numeric_columns and _NUMBER.fullmatch(text) is not None
        return CellEdit(row + 1, column + 1, _escaped(text), is_number)


def read_workbook(path: Path, content: bytes, options: ReadOptions) -> SheetFile:
    """Read the sheet that the options name, or else the first sheet of a workbook."""
    _refuse_unreadable(path, content)
    try:
        names, sheet, rows = _load(path, content, options.sheet)
    except FormatError:
        raise
    except Exception as error:  # openpyxl raises errors of many kinds on damaged files
        raise damaged(path, error) from None
    listed = ", ".join(map(repr, names)) or "none"
    if sheet not in names:
        raise FormatError(path, f"there is no sheet {sheet!r}", fix=f"its sheets are {listed}")
    if not rows:
        message = f"the sheet {sheet!r} is empty; its sheets are {listed}"
        raise FormatError(path, message, fix="choose another one", option="sheet")
    xml = SheetXml.open(path, content, sheet)
    if cell := xml.uncomputed_formula():
        message = f"the formula in cell {cell} of {sheet!r} has no stored result"
        raise FormatError(path, message, fix="open the file in a spreadsheet program and save it")
    end, has_totals = xml.table_end(len(rows))
    if not has_totals and any(map(_text, next(iter(rows[end:]), ()))):
        end = len(rows)  # rows that were added without extending the table
    footer = next((text for row in rows[end:] for text in map(_text, row) if text), "")
    rows = rows[:end]
    lines = [write_cells(list(map(_text, row)), DELIMITER, quote_all=False) for row in rows]
    return SheetFile(
        path,
        "\n".join([*lines, ""]),
        options,
        delimiter=DELIMITER,
        workbook=content,
        sheet=sheet,
        sheets=names,
        footer=footer,
        remarks=(f"rows after row {end} are below the table, and not read",) if footer else (),
        numeric_columns=frozenset(_numeric_columns(rows)),
    )


def choose_sheet(file: TextFile) -> TextFile:
    """Return the first sheet, or if it is not a taxonomy, the other one with the most relations.

    A remark says so if another sheet is read, or has more relations.
    """
    if not isinstance(file, SheetFile) or len(file.sheets) < 2:
        return file
    own = _relation_count(file)
    others = _other_taxonomies(file)
    most = max(others.values(), default=0)
    leaders = [sheet for sheet, count in others.items() if count == most]
    chosen = leaders[0] if own is None and len(leaders) == 1 else file
    counts = [f"{sheet.sheet!r} ({count:,})" for sheet, count in others.items()]
    if own is not None and own >= most:
        return file
    if own is not None:
        remark = f"the first sheet, {file.sheet!r}, is read ({own:,} relations), but others have"
        remark += f" more: {', '.join(counts)}; the option sheet selects another one"
    elif chosen is file:
        names = ", ".join(map(repr, file.sheets[1:]))
        remark = f"the sheet {file.sheet!r} is read; the option sheet selects another one: {names}"
    elif len(others) == 1:
        names = ", ".join(repr(name) for name in file.sheets if name != chosen.sheet)
        remark = f"only the sheet {chosen.sheet!r} is recognized as a taxonomy, so it is read"
        remark += f"; the others are {names}"
    else:
        remark = f"the sheet {chosen.sheet!r} is read, because it has the most relations"
        remark += f": {', '.join(counts)}; the option sheet selects another one"
    return replace(chosen, remarks=(remark, *chosen.remarks), digest=file.digest)


def _other_taxonomies(file: SheetFile) -> dict[SheetFile, int]:
    """Return the sheets after the first that are taxonomies, and the number of their relations."""
    found = dict[SheetFile, int]()
    for name in file.sheets[1:]:
        try:
            other = read_workbook(file.path, file.workbook, replace(file.options, sheet=name))
        except FormatError:
            continue  # it is empty
        if (count := _relation_count(other)) is not None:
            found[other] = count
    return found


def _relation_count(file: SheetFile) -> int | None:
    """Return the number of relations in a sheet, 0 if it has an error, or None for other sheets."""
    try:
        found = find_format(file)
    except FormatError:
        return None
    try:
        return len(found.read(file).taxonomy.relations)
    except FormatError:
        return 0


def new_workbook(path: Path, text: str) -> bytes:
    """Return a workbook with one sheet of string cells, from a tab-separated table."""
    rows = _parse(text)
    _refuse_row(path, len(rows))
    workbook = openpyxl.Workbook(write_only=True)
    sheet = workbook.create_sheet("Taxonomy")
    for row in rows:
        sheet.append([_text_cell(path, sheet, cell) for cell in row])
    content = io.BytesIO()
    workbook.save(content)
    return content.getvalue()


def _refuse_row(path: Path, number: int) -> None:
    if number > MAX_ROWS:
        raise FormatError(
            path, f"a sheet of Excel has at most {MAX_ROWS:,} rows", fix="use a CSV file"
        )


def _text_cell(path: Path, sheet: Any, text: str) -> Any:
    """Return a cell with exactly this string; Excel would read `=a` as a formula."""
    if len(text) > MAX_CELL:
        message = f"{text[:50]!r} is too long for a cell of Excel"
        raise FormatError(path, message, fix="choose another format")
    cell = WriteOnlyCell(sheet, _escaped(text) or None)
    if text:
        cell.data_type = "s"
    return cell


def _refuse_unreadable(path: Path, content: bytes) -> None:
    """Refuse a zip file that is not a workbook or that is too large."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(part.file_size for part in archive.infolist())
            is_workbook = any(name.endswith("workbook.xml") for name in archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise damaged(path, error) from None
    if not is_workbook:
        message = "the file is a zip archive, not an Excel workbook (.xlsx)"
        raise FormatError(path, message, fix="unpack it, and give the taxonomy file inside it")
    limit = max_size(len(content), MAX_BYTES)
    if size > limit:
        message = f"the workbook has more than {limit:,} bytes after decompression"
        raise FormatError(path, message, fix="save the sheet as CSV")


def _load(
    path: Path, content: bytes, name: str | None
) -> tuple[tuple[str, ...], str, list[tuple[object, ...]]]:
    """Return the names of all sheets, the name of the chosen sheet, and its rows, equally long."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about things that are kept, because the XML is kept
        workbook = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        names = tuple(sheet.title for sheet in workbook.worksheets)
        chosen = name if name is not None else next(iter(names), "")
        if chosen not in names:
            return names, chosen, []
        sheet = workbook[chosen]
        sheet.reset_dimensions()  # some programs write wrong ones
        rows = _filled_rows(path, sheet.iter_rows(values_only=True))
    width = max(map(len, rows), default=0)
    filled = sum(len(row) - row.count(None) for row in rows)
    if len(rows) * width > 1_000_000 + MAX_GAPS * filled:
        message = f"the sheet {chosen!r} has {len(rows):,} rows and {width:,} columns, but only"
        fix = "delete the cells that are far from the table"
        raise FormatError(path, f"{message} {filled:,} filled cells", fix=fix, line=len(rows))
    return names, chosen, [(*row, *[None] * (width - len(row))) for row in rows]


def _filled_rows(path: Path, rows: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Return the rows up to the last filled one, each up to its last filled cell."""
    found = list[tuple[object, ...]]()
    last = 0
    read = 0
    for number, row in enumerate(rows, 1):
        read += len(row)
        if number > MAX_ROWS or len(row) > MAX_COLUMNS or read > MAX_CELLS:
            size = f"{MAX_ROWS:,} rows, {MAX_COLUMNS:,} columns or {MAX_CELLS:,} cells"
            fix = "delete the cells that are far from the table"
            raise FormatError(path, f"the sheet has more than {size}", fix=fix, line=number)
        if len(row) == row.count(None):  # this is fast
            found.append(())
            continue
        end = next((i for i in range(len(row), 0, -1) if _text(row[i - 1])), 0)
        found.append(row[:end])
        last = number if end else last
    return found[:last]


def _text(value: object) -> str:
    """Return the value of a cell as a string; a whole number has no decimal point."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    value = "" if value is None else str(value)
    value = value.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return _ESCAPED.sub(_unescaped, value)


def _escaped(text: str) -> str:
    """Return a string as Excel stores it, for example a carriage return as `_x000D_`."""
    return _TO_ESCAPE.sub(lambda match: f"_x{ord(match[0]):04X}_", text)


def _unescaped(match: re.Match[str]) -> str:
    """Return the character of an escape sequence, or the sequence if it is not a character."""
    code = int(match[1], 16)
    return match[0] if code == 0 or 0xD800 <= code <= 0xDFFF else chr(code)


def _numeric_columns(rows: list[tuple[object, ...]]) -> Iterator[int]:
    """Yield the columns whose last filled cell is a number."""
    for column, cells in enumerate(zip(*rows, strict=True)):
        last = next((cell for cell in reversed(cells) if _text(cell)), None)
        if type(last) in (int, float):
            yield column


def _parse(text: str) -> list[list[str]]:
    """Return the cells of tab-separated text, with one row per row of the sheet."""
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=DELIMITER, strict=True))
    width = max(map(len, rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows]
