"""The XML of a sheet, in which only changed or new cells are written and all other bytes stay."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from openpyxl.packaging.relationship import get_dependents
from openpyxl.utils import get_column_letter
from openpyxl.utils.cell import coordinate_to_tuple

from taxoexpan.errors import FormatError

_TABLE_KIND = "relationships/table"
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_WORKBOOK = "xl/workbook.xml"

_TABLE = re.compile(r"<(?:\w+:)?table\b[^>]*>")
_ROWS = re.compile(r"[A-Z]+(\d{1,7}):[A-Z]+(\d{1,7})")
_ROW = re.compile(r"<((?:\w+:)?)row\b([^>]*?)(?:/>|>(.*?)</\1row>)", re.DOTALL)
_CELL = re.compile(r"<((?:\w+:)?)c\b([^>]*?)(?:/>|>(.*?)</\1c>)", re.DOTALL)
_FORMULA = re.compile(r"<(?:\w+:)?f\b")
_VALUE = re.compile(r"<(?:\w+:)?(?:v|t)\b[^>]*>[^<]")
_SHEET_DATA = re.compile(r"<((?:\w+:)?)sheetData\s*(?:/>|>(.*?)</\1sheetData>)", re.DOTALL)
_DAMAGE = (
    *(KeyError, TypeError, ValueError, EOFError, NotImplementedError, RuntimeError),
    *(ElementTree.ParseError, zipfile.BadZipFile, zlib.error),
)
_KEPT_ATTRIBUTES = ("s", "customFormat", "ht", "customHeight")


@dataclass(frozen=True, slots=True)
class CellEdit:
    """A new value of a cell; rows and columns are counted from 1."""

    row: int
    column: int
    text: str
    is_number: bool = False


@dataclass(frozen=True)
class SheetXml:
    """The XML of one sheet and of the tables on it, by the names of their parts."""

    path: Path
    workbook: bytes
    name: str
    part: str
    text: str
    tables: Mapping[str, str]

    @classmethod
    def open(cls, path: Path, workbook: bytes, name: str) -> SheetXml:
        """Find the parts of a sheet, which openpyxl does not read completely."""
        try:
            with zipfile.ZipFile(io.BytesIO(workbook)) as archive:
                root = ElementTree.fromstring(_read(archive, _WORKBOOK))
                ids = {node.get("name"): node.get(_ID, "") for node in root.iter()}
                parts = {each.Id: each.Target for each in _relations(archive, _WORKBOOK)}
                part = parts[ids[name]]
                related = [each for each in _relations(archive, part) if _TABLE_KIND in each.Type]
                tables = {each.Target: _read(archive, each.Target) for each in related}
                return cls(path, workbook, name, part, _read(archive, part), tables)
        except _DAMAGE as error:
            raise damaged(path, error) from None

    def uncomputed_formula(self) -> str:
        """Return the first cell whose formula has no stored result, or ""."""
        for match in _CELL.finditer(self.text) if _FORMULA.search(self.text) else ():
            body = match[3] or ""
            is_text = _attribute(match[2], "t") == "str"
            if _FORMULA.search(body) and not is_text and not _VALUE.search(body):
                return _attribute(match[2], "r") or "?"
        return ""

    def table_end(self, rows: int) -> tuple[int, bool]:
        """Return the last row without a total row of the table, and whether there is a total row.

        A table counts only if it has at least half of the rows.
        """
        found = [match[0] for match in map(_TABLE.search, self.tables.values()) if match]
        bounds = _ROWS.search(_attribute(found[0], "ref")) if len(found) == 1 else None
        if bounds is None or (int(bounds[2]) - int(bounds[1]) + 1) * 2 < rows:
            return rows, False
        has_totals = _attribute(found[0], "totalsRowCount") == "1"
        return min(int(bounds[2]) - has_totals, rows), has_totals

    def edited(self, edits: Sequence[CellEdit], last_row: int) -> bytes:
        """Return the workbook with these edits; rows after `last_row` get the style of that row."""
        new_last = max(edit.row for edit in edits)
        try:
            changed = {self.part: self._edited_text(edits, last_row)}
            with zipfile.ZipFile(io.BytesIO(self.workbook)) as archive:
                if new_last > last_row:
                    names = _read(archive, _WORKBOOK)
                    if (grown := _grown_names(names, self.name, last_row, new_last)) != names:
                        changed[_WORKBOOK] = grown
                    for part, text in {**self.tables, self.part: changed[self.part]}.items():
                        if 'totalsRowCount="1"' not in text:
                            changed[part] = _grown_ranges(text, last_row, new_last)
                return _rezip(archive, changed)
        except _DAMAGE as error:
            raise damaged(self.path, error) from None

    def _edited_text(self, edits: Sequence[CellEdit], last_row: int) -> str:
        data = _SHEET_DATA.search(self.text)
        if data is None or not data[2]:
            raise self._unusual("the sheet has no cells")
        by_row: dict[int, list[CellEdit]] = {}
        for edit in edits:
            by_row.setdefault(edit.row, []).append(edit)
        rows: dict[int, re.Match[str]] = {}
        for match in _ROW.finditer(self.text, data.start(), data.end()):
            if not (digits := _attribute(match[2], "r")).isdecimal():
                raise self._unusual("the rows of the sheet have no numbers")
            rows[int(digits)] = match
        pieces = list[str]()
        done = 0
        for number in sorted({*rows, *by_row}):
            old = rows.get(number)
            # A new row comes after the row before it; the last ones come at the end.
            pieces.append(self.text[done : old.start() if old else done])
            done = old.end() if old else done
            if number in by_row:
                style = rows.get(last_row) if number > last_row else None
                pieces.append(self._row(data[1], number, old, style, by_row[number]))
            elif old:
                pieces.append(old[0])
        return "".join([*pieces, self.text[done:]])

    def _row(
        self,
        prefix: str,
        number: int,
        old: re.Match[str] | None,
        style: re.Match[str] | None,
        edits: Sequence[CellEdit],
    ) -> str:
        """Return a row with its old cells, its new cells and empty cells with a style."""
        old_cells = self._cells(old)
        styled = self._cells(style)
        cells = {column: match[0] for column, match in old_cells.items()}
        styles = {column: _attribute(match[2], "s") for column, match in old_cells.items()}
        for column, match in styled.items():
            styles[column] = _attribute(match[2], "s") or styles.get(column, "")
            if column not in cells and styles[column]:
                cells[column] = _cell(prefix, CellEdit(number, column, ""), styles[column])
        for edit in edits:
            cells[edit.column] = _cell(prefix, edit, styles.get(edit.column, ""))
        if old is not None:
            attributes = re.sub(r'\s+spans="[^"]*"', "", old[2].rstrip("/").rstrip())
        else:
            kept = ((name, _attribute(style[2], name)) for name in _KEPT_ATTRIBUTES if style)
            attributes = f' r="{number}"' + "".join(f' {n}="{value}"' for n, value in kept if value)
        body = "".join(cells[column] for column in sorted(cells))
        return f"<{prefix}row{attributes}>{body}</{prefix}row>"

    def _cells(self, row: re.Match[str] | None) -> dict[int, re.Match[str]]:
        """Return the cells of a row by column."""
        cells = {}
        for match in _CELL.finditer(row[0] if row else ""):
            try:
                _, column = coordinate_to_tuple(_attribute(match[2], "r") or "?")
            except ValueError:
                raise self._unusual("a cell of the sheet has no valid name") from None
            cells[column] = match
        return cells

    def _unusual(self, problem: str) -> FormatError:
        return FormatError(self.path, problem, fix="save it again in a spreadsheet program")


def _grown_ranges(text: str, old_last: int, new_last: int) -> str:
    """Extend the range of a sheet and of its filter, tables, validations and formats."""
    parts = r"<(?:\w+:)?(?:dimension|autoFilter|table)\b"
    pattern = rf'({parts}[^>]*?\bref="[A-Z]+\d+:[A-Z]+){old_last}"'
    text = re.sub(pattern, rf'\g<1>{new_last}"', text)
    rules = r'<(?:\w+:)?(?:dataValidation|conditionalFormatting)\b[^>]*?\bsqref="[^"]*"'
    end = re.compile(rf"(:[A-Z]+){old_last}(?!\d)")
    return re.sub(rules, lambda match: end.sub(rf"\g<1>{new_last}", match[0]), text)


def _grown_names(text: str, sheet: str, old_last: int, new_last: int) -> str:
    """Extend the named ranges and print areas of a sheet."""
    quoted = "'" + sheet.replace("'", "''") + "'"
    names = "|".join(re.escape(escape(name)) for name in (sheet, quoted))
    start = rf"(?<![\w'])((?:{names})!\$?[A-Z]+\$?\d+:\$?[A-Z]+\$?)"
    area = re.compile(rf"{start}{old_last}(?!\d)")
    areas = re.compile(r"(?<=>)[^<]*(?=</(?:\w+:)?definedName>)")
    return areas.sub(lambda match: area.sub(rf"\g<1>{new_last}", match[0]), text)


def damaged(path: Path, error: Exception) -> FormatError:
    """Return an error about a workbook with missing or damaged parts."""
    return FormatError(path, f"the Excel file is damaged ({error})", fix="save it again as .xlsx")


def _cell(prefix: str, edit: CellEdit, style: str) -> str:
    place = f"{get_column_letter(edit.column)}{edit.row}"
    p = prefix
    reference = f'r="{place}"' + (f' s="{style}"' if style else "")
    if not edit.text:
        return f"<{p}c {reference}/>"
    if edit.is_number:
        return f"<{p}c {reference}><{p}v>{edit.text}</{p}v></{p}c>"
    text = f'<{p}t xml:space="preserve">{escape(edit.text)}</{p}t>'
    return f'<{p}c {reference} t="inlineStr"><{p}is>{text}</{p}is></{p}c>'


def _attribute(attributes: str, name: str) -> str:
    match = re.search(rf'(?:^|\s){name}="([^"]*)"', attributes)
    return match[1] if match else ""


def _relations(archive: zipfile.ZipFile, part: str) -> list[Any]:
    """Return the relations of a part to other parts, if there are any."""
    file = "/_rels/".join(part.rsplit("/", 1)) + ".rels"
    return list(get_dependents(archive, file)) if file in archive.namelist() else []


def _read(archive: zipfile.ZipFile, part: str) -> str:
    return archive.read(part).decode("utf-8-sig")


def _rezip(old: zipfile.ZipFile, changed: Mapping[str, str]) -> bytes:
    """Return the zip file with new content for some parts and unchanged other parts."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            text = changed.get(part.filename)
            new.writestr(part, old.read(part) if text is None else text.encode("utf-8"))
    return output.getvalue()
