"""Columns: how the values of a record are written as cells and as JSON, and read from cells."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from taxoexpan.errors import TaxoExpanError
from taxoexpan.taxonomy import Concept

_ZERO_DECIMALS = re.compile(r"[.,]0{1,2}$")
"""The decimals of a whole number that a program has stored as a float, such as 1.0."""


class Cell(NamedTuple):
    """What a column means, what separates several values in a cell, and the digits of numbers."""

    about: str
    separator: str = "|"
    digits: str = ""
    """A format for the numbers, such as .4g; all digits if it is empty."""


class Column(NamedTuple):
    """A column: the location of its value, its type, and how it is written."""

    attribute: str
    type: Any
    """The plain type; several values are a tuple."""
    hint: Any
    """The type with None, where a value may be unknown."""
    about: str
    separator: str = "|"
    digits: str = ""

    @property
    def item(self) -> Any:
        """The type of one value."""
        return get_args(self.hint)[0] if self.type is tuple else self.type

    def plain(self, value: Any) -> Any:
        """Return a value for JSON: several values are a list, and numbers are rounded."""
        if self.type is tuple:
            return [self._rounded(each) for each in value]
        return self._rounded(value)

    def cell(self, value: Any) -> str | int | float | None:
        """Return a value as one cell of a table."""
        if self.type is not tuple:
            cell: str | int | float | None = self._rounded(value)
            return cell
        if self.item is float:
            return self.separator.join(format(each, self.digits) for each in value)
        return self.separator.join(value) if self.separator != "|" else join_texts(value)

    def read(self, text: str) -> Any:
        """Return the value of a cell; raise ValueError if it is invalid."""
        if self.type is not tuple:
            return _read(self.type, text)
        if self.item is float:
            return tuple(_fraction(each) for each in text.split(self.separator.strip()))
        return tuple(text.split(self.separator)) if self.separator != "|" else split_texts(text)

    @property
    def expected(self) -> str:
        """What a cell must contain."""
        if self.type is tuple and self.item is float:
            return f"numbers from 0 to 1 with {self.separator.strip()} between them"
        expected = {
            tuple: "texts with | between them, or a JSON list of texts",
            int: "a whole number, not negative",
            float: "a number from 0 to 1",
        }
        return expected.get(self.type) or f"one of {', '.join(filter(None, self.type))}"

    def _rounded(self, value: Any) -> Any:
        if isinstance(value, float) and self.digits:
            return float(format(value, self.digits))
        return value


def columns_of(record: type) -> dict[str, Column]:
    """Return the columns that follow from the annotated fields of a record."""
    columns = {}
    for name, declared in get_type_hints(record, include_extras=True).items():
        if declared is Concept:  # the column `query` has been the label from the beginning
            names = ("query", "query_id") if name == "query" else ("parent_id", "parent_label")
            for each in names:
                part = "id" if each.endswith("_id") else "label"
                about = f"The {part} of the {name}."
                columns[each] = Column(f"{name}.{part}", str, str, about)
            continue
        if get_origin(declared) is not Annotated:
            continue
        hint, written = get_args(declared)
        plain = tuple if get_origin(hint) is tuple else next(iter(get_args(hint)), hint)
        columns[name] = Column(name, plain, hint, *written)
    return columns


TEXTS = Column("texts", tuple, tuple[str, ...], "Several texts.")
"""A column of ids or names."""


def join_texts(texts: Sequence[str]) -> str:
    """Join ids or names with |, or as JSON if that would be ambiguous."""
    if any("|" in text or text.startswith("[") or text != text.strip() for text in texts):
        return json.dumps(texts, ensure_ascii=False)
    return "|".join(texts)


def split_texts(cell: str) -> tuple[str, ...]:
    """Split a cell into ids or names."""
    if not cell.startswith("["):
        return tuple(filter(None, map(str.strip, cell.split("|"))))
    texts = json.loads(cell)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError
    return tuple(texts)


def read_cell(name: str, column: Column, text: str) -> Any:
    """Return the value of a cell; raise an error that names the column if it is invalid."""
    try:
        return column.read(text)
    except ValueError:
        fix = f"it must be {column.expected}, or blank"
        raise TaxoExpanError(f"{name} is {text!r}", fix=fix) from None


def _read(type: Any, text: str) -> Any:
    if type is str:
        return text
    if type is float:
        return _fraction(text)
    if type is int:
        number = int(_ZERO_DECIMALS.sub("", text))
        if number < 0:
            raise ValueError
        return number
    return type(text.lower())  # a person may have capitalized it


def _fraction(text: str) -> float:
    """Return a number from 0 to 1, which a spreadsheet may have written with a comma."""
    number = float(text.replace(",", "."))
    if not 0 <= number <= 1:
        raise ValueError
    return number
