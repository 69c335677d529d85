"""Cells that a spreadsheet would compute: they get an apostrophe, which is removed on reading."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_APOSTROPHE = "'"
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*")
_QUOTED = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")
"""A formula after one or more apostrophes."""


def protect_cells(row: Mapping[str, object], keep_formulas: bool) -> dict[str, object]:
    """Return a row in which no text is a formula, or in which formulas are kept.

    A text that itself starts with an apostrophe and a formula always gets another apostrophe, so
    that `unprotected` returns every text as it was, whether formulas were kept or not.
    """
    return {
        name: f"{_APOSTROPHE}{cell}"
        if isinstance(cell, str)
        and (_QUOTED.match(cell) or (not keep_formulas and _FORMULA.match(cell)))
        else cell
        for name, cell in row.items()
    }


def protect_row(row: Sequence[str], keep_formulas: bool) -> list[str]:
    """Return the cells of a row as `protect_cells` does it."""
    cells = protect_cells({str(index): cell for index, cell in enumerate(row)}, keep_formulas)
    return [str(cell) for cell in cells.values()]


def is_computed(text: str) -> bool:
    """Whether a spreadsheet would compute a text; a number is none, whatever its sign."""
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def with_apostrophe(text: str) -> str:
    """Return a text that a spreadsheet does not compute."""
    return f"{_APOSTROPHE}{text}" if is_computed(text) else text


def unprotected(cell: str) -> str:
    """Return the text of a cell without the apostrophe that protects it."""
    return cell[1:] if _QUOTED.match(cell) else cell
