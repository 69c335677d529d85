"""Suggestions as a CSV table, which a person may edit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.tables.formula_cells import protect_cells, unprotected
from taxoexpan.formats.tables.table_file import csv_text, guess_delimiter, read_cells
from taxoexpan.formats.text_file import TextFile
from taxoexpan.phrasing import join_words
from taxoexpan.placement.suggesting.suggestions import (
    COLUMNS,
    Decision,
    Place,
    Suggestion,
    SuggestionKind,
    join_texts,
)
from taxoexpan.taxonomy import Concept, Taxonomy

DETAILS = ("definition", "synonyms")
"""Columns with what else is known about the query, for a table that is applied without its list."""


def suggestions_csv(
    suggestions: Iterable[Suggestion],
    keep_formulas: bool = False,
    details: bool = False,
    header: bool = True,
) -> str:
    """Return the suggestions as a CSV table, with `details` also the columns of `DETAILS`.

    Without `keep_formulas`, texts that a spreadsheet would compute get a leading apostrophe.
    Without `header`, there are only rows, to follow those of another table.
    """
    rows = (each.as_dict() | (_details(each.query) if details else {}) for each in suggestions)
    columns = (*COLUMNS, *DETAILS) if details else COLUMNS
    return csv_text(columns, (protect_cells(row, keep_formulas) for row in rows), header)


def _details(query: Concept) -> dict[str, str | int | float | None]:
    """Return the cells of `DETAILS`."""
    return {"definition": query.definition, "synonyms": join_texts(query.synonyms)}


def read_rows(
    path: Path, parent_columns: Sequence[str], movable: Taxonomy | None = None
) -> list[tuple[int, Suggestion]]:
    """Read a table of suggestions with line numbers; one of `parent_columns` must be filled."""
    source = TextFile.load(path)
    # A spreadsheet may have saved the table with semicolons, and numbers with a comma.
    cells = read_cells(source, guess_delimiter(source, source.lines[0]))
    _, header = next(cells, (1, []))
    columns = {name: header.index(name) for name in (*COLUMNS, *DETAILS) if name in header}
    _refuse_missing_columns(path, columns, parent_columns)
    suggestions = []
    named: dict[str, tuple[str, int]] = {}
    for line, row in cells:
        if len(row) != len(header):
            message = f"{len(row)} cells, but the header has {len(header)}; quote cells with commas"
            raise FormatError(path, message, line)
        cell = {name: unprotected(row[column].strip()) for name, column in columns.items()}
        if not any(cell.get(name) for name in parent_columns):
            blank = [name for name in parent_columns if name in columns]
            problem = "is blank; fill it" if len(blank) == 1 else "are blank; fill one"
            fix = f"{problem}, or remove the row; a new root can only be added to the file by hand"
            raise FormatError(path, f"{join_words(blank)} {fix}", line)
        suggestion = _suggestion(path, line, cell)
        if movable is not None:
            _refuse_unmovable(path, line, movable, suggestion)
        query = suggestion.query
        label, first = named.setdefault(query.id, (query.label, line))
        if query.id and label != query.label:
            message = f"the query_id {query.id!r} is already used by {label!r} on line {first}"
            raise FormatError(path, f"{message}; change one of them", line)
        suggestions.append((line, suggestion))
    return suggestions


def _refuse_missing_columns(
    path: Path, found: Iterable[str], parent_columns: Sequence[str]
) -> None:
    """Refuse a table without a column for queries, or without one that names their parents."""
    found = set(found)
    expected = f"a table of suggestions has the columns {', '.join(COLUMNS)}"
    missing = [] if "query" in found else ["query"]
    if found.isdisjoint(parent_columns):
        missing.append(join_words(parent_columns, "or"))
    if missing:
        raise FormatError(path, f"no column {missing[0]}; {expected}", 1)


def _refuse_unmovable(path: Path, line: int, taxonomy: Taxonomy, suggestion: Suggestion) -> None:
    """Refuse an insert that moves a concept that is not in the taxonomy."""
    moved = suggestion.moves if suggestion.kind == SuggestionKind.INSERT else ()
    unknown = next((id for id in moved if id not in taxonomy), None)
    if unknown is not None:
        message = f"moves contains {unknown!r}, but no concept of the taxonomy has that id"
        fix = "remove it from the cell, put | between ids, or suggest again"
        raise FormatError(path, f"{message}; {fix}", line)


def _suggestion(path: Path, line: int, cell: dict[str, str]) -> Suggestion:
    """Build a suggestion from the cells of one row."""
    if not cell["query"]:
        raise FormatError(path, "query is blank; fill it, or remove the row", line)
    try:
        rank = int(cell.get("rank") or 0)
        score = _number(cell.get("score") or "1")
        confidence = _number(cell["confidence"]) if cell.get("confidence") else None
    except ValueError:
        message = "rank must be a whole number, and score and confidence must be numbers"
        raise FormatError(path, f"{message}; correct or blank them", line) from None
    if not 0 <= score <= 1 or rank < 0 or not 0 <= (confidence or 0) <= 1:
        message = "rank must not be negative, and score and confidence must be from 0 to 1"
        raise FormatError(path, f"{message}; correct or blank them", line)
    moves = _split(path, line, "moves", cell)
    default = SuggestionKind.INSERT if moves else SuggestionKind.ATTACH
    kind = _word(path, line, "kind", cell, list(SuggestionKind)) or default.value
    decision = _word(path, line, "decision", cell, [each for each in Decision if each])
    return Suggestion(
        query=Concept(
            cell.get("query_id", ""),
            cell["query"],
            _split(path, line, "synonyms", cell),
            cell.get("definition", ""),
        ),
        rank=rank,
        parent=Concept(cell.get("parent_id", ""), cell.get("parent_label", "")),
        path=tuple(cell.get("path", "").split(" > ")),
        score=score,
        confidence=confidence,
        kind=SuggestionKind(kind),
        place=Place.NONE if cell.get("place") == Place.NONE else Place.POSSIBLE,
        moves=moves,
        why=cell.get("why", ""),
        decision=Decision(decision),
    )


def _word(path: Path, line: int, name: str, cell: dict[str, str], words: Sequence[str]) -> str:
    """Return a cell that is blank or one of some words; a person may have capitalized it."""
    word = cell.get(name, "").lower()
    if word and word not in words:
        message = f"{name} is {cell[name]!r}; it must be one of {', '.join(words)}, or blank"
        raise FormatError(path, message, line)
    return word


def _split(path: Path, line: int, name: str, cells: dict[str, str]) -> tuple[str, ...]:
    """Split a cell of ids or names."""
    cell = cells.get(name, "")
    if not cell.startswith("["):
        return tuple(filter(None, map(str.strip, cell.split("|"))))
    try:
        texts = json.loads(cell)
    except ValueError:
        texts = None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        what = "ids" if name == "moves" else "names"
        message = f"{name} is {cell!r}; it must be {what} with | between them, or a JSON list"
        raise FormatError(path, f"{message} of them", line)
    return tuple(texts)


def _number(text: str) -> float:
    """Parse a number as a spreadsheet may have saved it."""
    return float(text.replace(",", "."))
