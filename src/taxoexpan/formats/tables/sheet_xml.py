"""The XML of a sheet: only the cells that change are replaced or added, all other bytes stay."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from taxoexpan.errors import FormatError

_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"

_WORKBOOK = "xl/workbook.xml"
_TABLE = re.compile(r"<(?:\w+:)?table\b[^>]*>")
_ROWS = re.compile(r"[A-Z]+(\d+):[A-Z]+(\d+)")
_ROW = re.compile(r"<((?:\w+:)?)row\b([^>]*?)(?:/>|>(.*?)</\1row>)", re.DOTALL)
_CELL = re.compile(r"<((?:\w+:)?)c\b([^>]*?)(?:/>|>(.*?)</\1c>)", re.DOTALL)
_REFERENCE = re.compile(r"([A-Z]{1,3})[1-9]\d{0,6}")
_FORMULA = re.compile(r"<(?:\w+:)?f\b")
_VALUE = re.compile(r"<(?:\w+:)?(?:v|t)\b[^>]*>[^<]")
_SHEET_DATA = re.compile(r"<((?:\w+:)?)sheetData\s*(?:/>|>(.*?)</\1sheetData>)", re.DOTALL)
_DAMAGE = (
    *(KeyError, ValueError, EOFError, NotImplementedError, RuntimeError),
    *(ElementTree.ParseError, zipfile.BadZipFile, zlib.error),
)
_KEPT_ATTRIBUTES = ("s", "customFormat", "ht", "customHeight")


@dataclass(frozen=True, slots=True)
class CellEdit:
    """A new text for a cell; rows and columns are counted from 1."""

    row: int
    column: int
    text: str
    is_number: bool = False


def uncomputed_formula(path: Path, workbook: bytes, sheet: str) -> str:
    """The first cell whose formula has no stored result, or an empty text."""
    with _refusing_damage(path):
        text = _sheet_text(workbook, sheet)[1]
    if not _FORMULA.search(text):
        return ""
    for match in _CELL.finditer(text):
        body = match[3] or ""
        is_text = _attribute(match[2], "t") == "str"
        if _FORMULA.search(body) and not is_text and not _VALUE.search(body):
            return _attribute(match[2], "r") or "?"
    return ""


def edit_sheet(
    path: Path, workbook: bytes, sheet: str, edits: Sequence[CellEdit], last_row: int
) -> bytes:
    """The workbook with these edits; rows after `last_row` get the style of that row."""
    with _refusing_damage(path):
        return _edited_workbook(path, workbook, sheet, edits, last_row)


@contextmanager
def _refusing_damage(path: Path) -> Iterator[None]:
    """Report parts that are missing or not well-formed; openpyxl does not read all of them."""
    try:
        yield
    except _DAMAGE as error:
        message = f"the Excel file is damaged ({error}); save it again as .xlsx"
        raise FormatError(path, message) from None


def _edited_workbook(
    path: Path, workbook: bytes, sheet: str, edits: Sequence[CellEdit], last_row: int
) -> bytes:
    part, text = _sheet_text(workbook, sheet)
    changed = {part: _edited(path, text, edits, last_row)}
    new_last = max(edit.row for edit in edits)
    if new_last > last_row:
        changed[part] = _grow_ranges(changed[part], last_row, new_last)
        names = _read(workbook, _WORKBOOK)
        if (grown := _grow_names(names, sheet, last_row, new_last)) != names:
            changed[_WORKBOOK] = grown
        for table in _tables(workbook, part):
            content = _read(workbook, table)
            if 'totalsRowCount="1"' not in content:
                changed[table] = _grow_ranges(content, last_row, new_last)
    return _rezip(workbook, changed)


def _edited(path: Path, text: str, edits: Sequence[CellEdit], last_row: int) -> str:
    data = _SHEET_DATA.search(text)
    if data is None or not data[2]:
        raise FormatError(path, "the sheet has no cells; save it again in a spreadsheet program")
    by_row: dict[int, list[CellEdit]] = {}
    for edit in edits:
        by_row.setdefault(edit.row, []).append(edit)
    rows = dict(_numbered_rows(path, data))
    pieces, done = list[str](), 0
    for number in sorted({*rows, *by_row}):
        match = rows.get(number)
        # A new row comes after the row before it; the last ones come at the end.
        pieces.append(text[done : match.start() if match else done])
        done = match.end() if match else done
        if number not in by_row:
            pieces.append(match[0] if match else "")
            continue
        style = rows.get(last_row) if number > last_row else None
        pieces.append(_row(data[1], number, match, style, by_row[number]))
    return "".join([*pieces, text[done:]])


def _numbered_rows(path: Path, data: re.Match[str]) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the rows with their numbers."""
    for match in _ROW.finditer(data.string, data.start(), data.end()):
        number = _attribute(match[2], "r")
        if not number.isdigit():
            message = "the rows of the sheet have no numbers"
            raise FormatError(path, f"{message}; save it again in a spreadsheet program")
        yield int(number), match


def _row(
    prefix: str,
    number: int,
    old: re.Match[str] | None,
    style: re.Match[str] | None,
    edits: Sequence[CellEdit],
) -> str:
    """A row with its old cells, the new ones, and those that have only a style."""
    cells = {_column(_attribute(m[2], "r")): m[0] for m in _CELL.finditer(old[0] if old else "")}
    styles = {column: _attribute(m[2], "s") for column, m in _styled(old)}
    for column, match in _styled(style):
        styles[column] = _attribute(match[2], "s") or styles.get(column, "")
        if column not in cells and styles[column]:
            cells[column] = f'<{prefix}c r="{_letters(column)}{number}" s="{styles[column]}"/>'
    for edit in edits:
        cells[edit.column] = _cell(prefix, edit, styles.get(edit.column, ""))
    if old is not None:
        attributes = re.sub(r'\s+spans="[^"]*"', "", old[2].rstrip("/").rstrip())
    else:
        kept = ((name, _attribute(style[2], name)) for name in _KEPT_ATTRIBUTES if style)
        attributes = f' r="{number}"' + "".join(f' {n}="{value}"' for n, value in kept if value)
    body = "".join(cells[column] for column in sorted(cells))
    return f"<{prefix}row{attributes}>{body}</{prefix}row>"


def _styled(row: re.Match[str] | None) -> Iterator[tuple[int, re.Match[str]]]:
    for match in _CELL.finditer(row[0] if row else ""):
        yield _column(_attribute(match[2], "r")), match


def _cell(prefix: str, edit: CellEdit, style: str) -> str:
    reference = f'r="{_letters(edit.column)}{edit.row}"' + (f' s="{style}"' if style else "")
    p = prefix
    if not edit.text:
        return f"<{p}c {reference}/>"
    if edit.is_number:
        return f"<{p}c {reference}><{p}v>{edit.text}</{p}v></{p}c>"
    text = f'<{p}t xml:space="preserve">{escape(edit.text)}</{p}t>'
    return f'<{p}c {reference} t="inlineStr"><{p}is>{text}</{p}is></{p}c>'


def _grow_ranges(text: str, old_last: int, new_last: int) -> str:
    """Extend the ranges of the sheet that end at the old last row.

    These are its own, its filter's, its tables', and those of validations and formats.
    """
    pattern = (
        rf'(<(?:\w+:)?(?:dimension|autoFilter|table)\b[^>]*?\bref="[A-Z]+\d+:[A-Z]+){old_last}"'
    )
    text = re.sub(pattern, rf'\g<1>{new_last}"', text)
    rules = r'<(?:\w+:)?(?:dataValidation|conditionalFormatting)\b[^>]*?\bsqref="[^"]*"'
    end = re.compile(rf"(:[A-Z]+){old_last}(?!\d)")
    return re.sub(rules, lambda match: end.sub(rf"\g<1>{new_last}", match[0]), text)


def _grow_names(text: str, sheet: str, old_last: int, new_last: int) -> str:
    """Extend the named ranges and print areas of a sheet that end at the old last row."""
    quoted = "'" + sheet.replace("'", "''") + "'"
    names = "|".join(re.escape(escape(name)) for name in (sheet, quoted))
    area = re.compile(rf"(?<![\w'])((?:{names})!\$?[A-Z]+\$?\d+:\$?[A-Z]+\$?){old_last}(?!\d)")

    def grown(match: re.Match[str]) -> str:
        return match[1] + area.sub(rf"\g<1>{new_last}", match[2])

    return re.sub(r"(<(?:\w+:)?definedName\b[^>]*>)([^<]*)", grown, text)


def table_end(path: Path, workbook: bytes, sheet: str, rows: int) -> tuple[int, int]:
    """The last row of the table on a sheet without its total row, and the number of total rows.

    Without a table, it is the number of rows. A table with less than half of the rows is not the
    one with the concepts.
    """
    with _refusing_damage(path):
        part = _sheet_text(workbook, sheet)[0]
        tables = [_TABLE.search(_read(workbook, table)) for table in _tables(workbook, part)]
        found = [match[0] for match in tables if match]
        bounds = _ROWS.search(_attribute(found[0], "ref")) if len(found) == 1 else None
        if bounds is None:
            return rows, 0
        first, last = map(int, bounds.groups())
        totals = int(_attribute(found[0], "totalsRowCount") or 0)
    return (min(last - totals, rows), totals) if (last - first + 1) * 2 >= rows else (rows, 0)


def _attribute(attributes: str, name: str) -> str:
    match = re.search(rf'(?:^|\s){name}="([^"]*)"', attributes)
    return match[1] if match else ""


def _column(reference: str) -> int:
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise ValueError(f"a cell has the name {reference!r}")
    number = 0
    for letter in match[1]:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _sheet_text(workbook: bytes, sheet: str) -> tuple[str, str]:
    """The name of the part of a sheet in the zip file, and its XML."""
    relations = dict(_relations(workbook, _WORKBOOK))
    root = ElementTree.fromstring(_read(workbook, _WORKBOOK))
    ids = {node.get("name"): node.get(_ID, "") for node in root.iter()}
    part = relations[ids[sheet]][1]
    return part, _read(workbook, part)


def _relations(workbook: bytes, part: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the id, the type and the target of every relation of a part."""
    folder, name = posixpath.split(part)
    text = _read(workbook, f"{folder}/_rels/{name}.rels")
    for node in ElementTree.fromstring(text).iter(_RELATION):
        target = posixpath.normpath(posixpath.join("/", folder, node.get("Target", "")))
        yield node.get("Id", ""), (node.get("Type", ""), target.lstrip("/"))


def _tables(workbook: bytes, part: str) -> list[str]:
    try:
        relations = [relation for _, relation in _relations(workbook, part)]
    except KeyError:
        return []
    return [target for kind, target in relations if kind.endswith("/table")]


def _read(workbook: bytes, part: str) -> str:
    with zipfile.ZipFile(io.BytesIO(workbook)) as archive:
        return archive.read(part).decode("utf-8-sig")


def _rezip(workbook: bytes, changed: dict[str, str]) -> bytes:
    """The zip file with new texts for some parts; the other parts stay as they are."""
    output = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook)) as old,
        zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for part in old.infolist():
            text = changed.get(part.filename)
            new.writestr(part, old.read(part) if text is None else text.encode("utf-8"))
    return output.getvalue()
