"""Suggestions, as objects and as CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.tables.formula_cells import protect_cells, unprotected
from taxoexpan.formats.tables.table_file import csv_text, guess_delimiter, read_cells
from taxoexpan.formats.text_file import TextFile
from taxoexpan.phrasing import join_words
from taxoexpan.taxonomy import Concept, Taxonomy

COLUMNS = (
    "query",
    "query_id",
    "rank",
    "parent_id",
    "parent_label",
    "path",
    "score",
    "confidence",
    "decision",
    "kind",
    "place",
    "moves",
    "why",
)
DETAILS = ("definition", "synonyms")
"""Columns with what else is known about the query, for a table that is applied without its list."""


class SuggestionKind(StrEnum):
    """What a suggestion proposes for its query."""

    ATTACH = "attach"
    """Add the query below the parent."""
    ALSO = "also"
    """Add the query below the parent, in addition to its first parent."""
    INSERT = "insert"
    """Add the query below the parent, and move some of the parent's children below the query."""
    MERGE = "merge"
    """Make the query a synonym of the suggested concept."""


class Place(StrEnum):
    """Whether the query has a suitable parent; all have one where that could not be learned."""

    POSSIBLE = ""
    NONE = "none"


class Decision(StrEnum):
    """What was decided about a suggestion, by `expand` or by a person."""

    OPEN = ""
    """No decision: the rank and the thresholds count."""
    ACCEPTED = "accepted"
    """Applied, whatever its rank and the thresholds."""
    UNDECIDED = "undecided"
    """Left for review; applied only if a threshold is given that it reaches."""
    REJECTED = "rejected"
    """Never applied."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One possible parent of a query, or an existing concept that it may be a synonym of.

    `score` is the softmax probability over all anchors. `confidence` is the probability that the
    parent is right, if that could be learned. `place` says whether the query has a suitable parent
    at all, and `moves` which children of the parent might belong below the query.
    """

    query: Concept
    rank: int
    parent: Concept
    path: tuple[str, ...]
    score: float
    confidence: float | None = None
    kind: SuggestionKind = SuggestionKind.ATTACH
    place: Place = Place.POSSIBLE
    moves: tuple[str, ...] = ()
    why: str = ""
    decision: Decision = Decision.OPEN

    @property
    def is_decided(self) -> bool:
        """Whether it is to be applied in any case: it is accepted, or a person's own (no rank)."""
        if self.decision in (Decision.ACCEPTED, Decision.REJECTED):
            return self.decision == Decision.ACCEPTED
        return not self.rank

    @property
    def confidence_or_score(self) -> float:
        """The confidence, or the score if there is no confidence."""
        return self.score if self.confidence is None else self.confidence

    @property
    def measure(self) -> str:
        """The name of `confidence_or_score`."""
        return "score" if self.confidence is None else "confidence"

    def as_dict(self) -> dict[str, str | int | float | None]:
        """Return the suggestion as a row of `COLUMNS`."""
        return {
            "query": self.query.label,
            "query_id": self.query.id,
            "rank": self.rank,
            "parent_id": self.parent.id,
            "parent_label": self.parent.label,
            "path": " > ".join(self.path),
            "score": float(f"{self.score:.6g}"),
            "confidence": None if self.confidence is None else round(self.confidence, 4),
            "decision": self.decision.value,
            "kind": self.kind.value,
            "place": self.place.value,
            "moves": _joined(self.moves),
            "why": self.why,
        }


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
    return {"definition": query.definition, "synonyms": _joined(query.synonyms)}


def read_suggestions(path: Path, movable: Taxonomy | None = None) -> list[Suggestion]:
    """Read a table of suggestions, as it was written or as a person has edited it.

    A query that a person has added may have a blank id. The concepts to move must be in `movable`.
    """
    return [suggestion for _, suggestion in read_rows(path, ("parent_id",), movable)]


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


def _joined(texts: Sequence[str]) -> str:
    """Join ids or names with |, or as JSON if that would be ambiguous."""
    if any("|" in text or text.startswith("[") or text != text.strip() for text in texts):
        return json.dumps(texts, ensure_ascii=False)
    return "|".join(texts)


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


def grouped_by_position(
    suggestions: Iterable[Suggestion], concepts: Sequence[Concept]
) -> list[list[Suggestion]]:
    """Return the suggestions of each concept; the id of a query is the concept's position."""
    groups: list[list[Suggestion]] = [[] for _ in concepts]
    for suggestion in suggestions:
        index = int(suggestion.query.id)
        groups[index].append(replace(suggestion, query=concepts[index]))
    return groups
