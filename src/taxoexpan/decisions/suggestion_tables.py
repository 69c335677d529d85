"""Suggestions as tables: CSV, which a person may edit, and Parquet with typed columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from taxoexpan.decisions.suggestion import (
    COLUMNS,
    Suggestion,
    SuggestionKind,
    join_texts,
)
from taxoexpan.errors import ConfigurationError, FormatError, TaxoExpanError
from taxoexpan.files import whole_file
from taxoexpan.formats.tables.formulas import protect_cells, unprotected
from taxoexpan.formats.tables.table import csv_text, guess_delimiter, read_cells
from taxoexpan.formats.text_file import TextFile
from taxoexpan.phrasing import join_words
from taxoexpan.taxonomy import Concept

DETAILS = ("definition", "synonyms", "curator")
"""Further columns of decisions: the query without its list of concepts, and who decided."""
PARENT_COLUMNS = ("parent_id", "parent_label", "path")
"""A row names the parent in at least one of these columns."""

WriteRows = Callable[[Sequence[Suggestion]], None]
"""A function that appends suggestions to a file."""


def suggestions_csv(
    suggestions: Iterable[Suggestion],
    details: bool = False,
    header: bool = True,
) -> str:
    """Return a CSV table; formulas get a leading apostrophe."""
    rows = suggestion_rows(suggestions, details)
    columns = (*COLUMNS, *DETAILS) if details else tuple(COLUMNS)
    return csv_text(columns, (protect_cells(row) for row in rows), header)


def suggestion_rows(
    suggestions: Iterable[Suggestion], details: bool = False
) -> Iterator[dict[str, str | int | float | None]]:
    """Yield the cells of every suggestion by column."""
    for each in suggestions:
        yield each.as_dict() | (_details(each) if details else {})


def _details(suggestion: Suggestion) -> dict[str, str | int | float | None]:
    query = suggestion.query
    cells = (query.definition, join_texts(query.synonyms), suggestion.curator)
    return dict(zip(DETAILS, cells, strict=True))


def read_rows(path: Path) -> list[tuple[int, Suggestion]]:
    """Read a CSV table of suggestions; return each suggestion with its line number."""
    source = TextFile.load(path)
    # A spreadsheet may have saved the table with semicolons, and numbers with a comma.
    cells = read_cells(source, guess_delimiter(source, source.lines[0]))
    _, header = next(cells, (1, []))
    columns = {name: header.index(name) for name in (*COLUMNS, *DETAILS) if name in header}
    if "query" not in columns or columns.keys().isdisjoint(PARENT_COLUMNS):
        missing = "query" if "query" not in columns else join_words(PARENT_COLUMNS, "or")
        expected = f"a table of suggestions has the columns {', '.join(COLUMNS)}"
        raise FormatError(path, f"no column {missing}", fix=expected, line=1)
    suggestions = []
    named: dict[str, tuple[str, int]] = {}
    for line, row in cells:
        if len(row) != len(header):
            message = f"{len(row)} cells, but the header has {len(header)}"
            raise FormatError(path, message, fix="quote cells with commas", line=line)
        cell = {name: unprotected(row[column].strip()) for name, column in columns.items()}
        try:
            suggestion = _suggestion(cell)
        except TaxoExpanError as error:
            raise FormatError(path, error.problem, fix=error.fix, line=line) from None
        query = suggestion.query
        label, first = named.setdefault(query.id, (query.label, line))
        if query.id and label != query.label:
            message = f"the query_id {query.id!r} is already used by {label!r} on line {first}"
            raise FormatError(path, message, fix="change one of them", line=line)
        suggestions.append((line, suggestion))
    return suggestions


def _suggestion(cell: dict[str, str]) -> Suggestion:
    """Build a suggestion from the cells of one row; blank cells have their defaults."""
    if not cell["query"]:
        raise TaxoExpanError("query is blank", fix="fill it, or remove the row")
    if not any(map(cell.get, PARENT_COLUMNS)):
        blank = join_words([name for name in PARENT_COLUMNS if name in cell], "or")
        fix = "or remove the row; a new root can only be added to the file by hand"
        raise TaxoExpanError("no parent is given", fix=f"fill {blank}, {fix}")
    values: dict[str, Any] = {"rank": 0, "parent_id": "", "parent_label": ""}
    values |= {name: _parsed(name, text) for name, text in cell.items() if text}
    if len(values.get("levels", ())) != len(values.get("path", ())):
        values.pop("levels", None)  # a label may contain the separator
    if values.get("moves"):
        values = {"kind": SuggestionKind.INSERT} | values
    query = Concept(
        values.get("query_id", ""),
        values["query"],
        values.get("synonyms", ()),
        values.get("definition", ""),
    )
    return replace(Suggestion.restored(query, values), curator=values.get("curator", ""))


def _parsed(name: str, text: str) -> Any:
    """Return the value of a cell; raise an error if it is invalid."""
    type: Any = tuple if name == "synonyms" else COLUMNS[name].type if name in COLUMNS else str
    if type is str:
        return text
    if name == "path":
        return tuple(text.split(" > "))
    try:
        if name == "levels":
            return tuple(_fraction(level) for level in text.split(">"))
        if type is tuple:
            return _texts(text)
        if type is float:
            return _fraction(text)
        if type is int:
            number = int(text)
            if number < 0:
                raise ValueError
            return number
        return type(text.lower())  # a person may have capitalized it
    except ValueError:
        expected = {
            tuple: "texts with | between them, or a JSON list of texts",
            int: "a whole number, not negative",
            "levels": "numbers from 0 to 1 with > between them",
            float: "a number from 0 to 1",
        }.get("levels" if name == "levels" else type) or f"one of {', '.join(filter(None, type))}"
        fix = f"it must be {expected}, or blank"
        raise TaxoExpanError(f"{name} is {text!r}", fix=fix) from None


def _fraction(text: str) -> float:
    """Return a number from 0 to 1, which a spreadsheet may have written with a comma."""
    number = float(text.replace(",", "."))
    if not 0 <= number <= 1:
        raise ValueError
    return number


def _texts(cell: str) -> tuple[str, ...]:
    """Split a cell into ids or names."""
    if not cell.startswith("["):
        return tuple(filter(None, map(str.strip, cell.split("|"))))
    texts = json.loads(cell)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError
    return tuple(texts)


def is_parquet(path: Path) -> bool:
    """Return whether a file with this name is written as Parquet."""
    return path.suffix.lower() == ".parquet"


def check_arrow(path: Path) -> None:
    """Refuse to write a Parquet file if Arrow is not installed."""
    if find_spec("pyarrow") is None:
        message = f"{path}: Parquet needs pyarrow; pip install 'taxoexpan[cluster]'"
        raise ConfigurationError(f"{message}, or choose a name that ends in .csv")


@contextmanager
def parquet_file(path: Path, force: bool = False) -> Iterator[WriteRows]:
    """Yield a function that appends suggestions to a file, which is complete at the end."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = pa.list_(pa.string())
    numbers = pa.list_(pa.float64())
    types = {int: pa.int32(), float: pa.float64(), tuple: texts}
    known = {name: types.get(column.type, pa.string()) for name, column in COLUMNS.items()}
    schema = pa.schema([*(known | {"levels": numbers}).items()])
    with whole_file(path, force) as file, pq.ParquetWriter(file, schema) as writer:

        def write(suggestions: Sequence[Suggestion]) -> None:
            if suggestions:
                lists = ("path", "moves", "levels")
                rows = [
                    each.as_dict() | {name: getattr(each, name) for name in lists}
                    for each in suggestions
                ]
                writer.write_table(pa.Table.from_pylist(rows, schema))

        yield write
