"""The sheet of a workbook that has the columns of a taxonomy."""

from __future__ import annotations

from dataclasses import replace

from taxoexpan.errors import FormatError
from taxoexpan.formats.tables.table_file import open_if_table
from taxoexpan.formats.tables.workbook import SheetFile, read_workbook
from taxoexpan.formats.text_file import TextFile


def choose_sheet(file: TextFile) -> TextFile:
    """Return the first sheet if it is a taxonomy, or else the only other one that is.

    If there is none, or there are several, the first sheet is returned with a remark.
    """
    if not isinstance(file, SheetFile) or len(file.sheets) < 2 or _is_taxonomy(file):
        return file
    others = [other for name in file.sheets[1:] if (other := _read(file, name))]
    found = [other for other in others if _is_taxonomy(other)]
    if len(found) == 1:
        names = ", ".join(repr(name) for name in file.sheets if name != found[0].sheet)
        remark = f"only the sheet {found[0].sheet!r} has the columns of a taxonomy, so it is read"
        return replace(found[0], remarks=(f"{remark}; the others are {names}", *found[0].remarks))
    names = ", ".join(map(repr, file.sheets[1:]))
    remark = f"the sheet {file.sheet!r} is read; the option sheet selects another one: {names}"
    return replace(file, remarks=(remark, *file.remarks))


def _is_taxonomy(file: SheetFile) -> bool:
    table = open_if_table(file)
    return table is not None and table.is_recognized


def _read(file: SheetFile, name: str) -> SheetFile | None:
    """Read another sheet of the workbook; an empty one is None."""
    try:
        return read_workbook(file.path, file.workbook, replace(file.options, sheet=name))
    except FormatError:
        return None
