"""Suggestions, as objects and as CSV, and the choice of those that are applied."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.tables.table_file import csv_text, guess_delimiter, read_cells
from taxoexpan.formats.text_file import TextFile
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
    "kind",
    "place",
    "moves",
    "why",
)

ATTACH, ALSO, INSERT, MERGE = "attach", "also", "insert", "merge"
KINDS = (ATTACH, ALSO, INSERT, MERGE)
"""What a suggestion proposes: a parent; a further parent beside it; a parent some of whose children
might move below the query; or that the query is another name of the concept."""

NO_PLACE = "none"
"""What is said of a query that has no good place anywhere."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One possible parent of a query, or what it may be another name of.

    `score` is its share of the belief over all parents, `confidence` the probability that it is
    right, where that could be learned. `place` says whether the query has a good one at all,
    `moves` which children of the parent might belong below the query.
    """

    query: Concept
    rank: int
    parent: Concept
    path: tuple[str, ...]
    score: float
    confidence: float | None = None
    kind: str = ATTACH
    place: str = ""
    moves: tuple[str, ...] = ()
    why: str = ""

    @property
    def confidence_or_score(self) -> float:
        """The confidence, or the score where there is none."""
        return self.score if self.confidence is None else self.confidence

    def as_dict(self) -> dict[str, str | int | float | None]:
        """The suggestion as a row of `COLUMNS`."""
        return {
            "query": self.query.label,
            "query_id": self.query.id,
            "rank": self.rank,
            "parent_id": self.parent.id,
            "parent_label": self.parent.label,
            "path": " > ".join(self.path),
            "score": float(f"{self.score:.6g}"),
            "confidence": None if self.confidence is None else round(self.confidence, 4),
            "kind": self.kind,
            "place": self.place,
            "moves": _as_cell(self.moves),
            "why": self.why,
        }


def suggestions_csv(suggestions: Iterable[Suggestion]) -> str:
    """The suggestions as a table."""
    return csv_text(COLUMNS, (suggestion.as_dict() for suggestion in suggestions))


def read_suggestions(path: Path, movable: Taxonomy | None = None) -> list[Suggestion]:
    """Read a table of suggestions, as it was written or as a person has pruned it.

    A query that a person has added may have a blank id. What is to move must be `movable`.
    """
    source = TextFile.load(path)
    # A spreadsheet may have saved it with semicolons, and numbers with a comma.
    cells = read_cells(source, guess_delimiter(path, source.lines[0]))
    _, header = next(cells, (1, []))
    places = {name: header.index(name) for name in COLUMNS if name in header}
    known = f"a table of suggestions has {', '.join(COLUMNS)}"
    for name in ("query", "parent_id"):
        if name not in places:
            raise FormatError(path, f"no column {name}; {known}", 1)
    suggestions = []
    named: dict[str, tuple[str, int]] = {}
    for line, row in cells:
        if len(row) != len(header):
            message = f"{len(row)} cells, but the header has {len(header)}; quote cells with commas"
            raise FormatError(path, message, line)
        cell = {name: row[place].strip() for name, place in places.items()}
        suggestion = _suggestion(path, line, cell)
        if movable is not None:
            _refuse_unmovable(path, line, movable, suggestion)
        query = suggestion.query
        label, first = named.setdefault(query.id, (query.label, line))
        if query.id and label != query.label:
            message = f"the query_id {query.id!r} is that of {label!r} on line {first}; change one"
            raise FormatError(path, message, line)
        suggestions.append(suggestion)
    return suggestions


def _refuse_unmovable(path: Path, line: int, taxonomy: Taxonomy, suggestion: Suggestion) -> None:
    """What an insert moves must be in the taxonomy."""
    moved = suggestion.moves if suggestion.kind == INSERT else ()
    unknown = next((id for id in moved if id not in taxonomy), None)
    if unknown is not None:
        message = f"moves names {unknown!r}, and no concept of the taxonomy has that id"
        mend = "take it out of the cell, put | between ids, or suggest again"
        raise FormatError(path, f"{message}; {mend}", line)


def _suggestion(path: Path, line: int, cell: dict[str, str]) -> Suggestion:
    for name in ("query", "parent_id"):
        if not cell[name]:
            raise FormatError(path, f"{name} is blank; fill it, or remove the row", line)
    try:
        rank = int(cell.get("rank") or 0)
        score = _number(cell.get("score") or "1")
        confidence = _number(cell["confidence"]) if cell.get("confidence") else None
    except ValueError:
        message = "rank must be a whole number, score and confidence numbers"
        raise FormatError(path, f"{message}; correct or blank them", line) from None
    if not 0 <= score <= 1 or rank < 0 or not 0 <= (confidence or 0) <= 1:
        message = "rank must not be negative, and score and confidence from 0 to 1"
        raise FormatError(path, f"{message}; correct or blank them", line)
    moves = _from_cell(path, line, cell.get("moves", ""))
    kind = cell.get("kind") or (INSERT if moves else ATTACH)
    if kind not in KINDS:
        message = f"kind is {kind!r}; it must be one of {', '.join(KINDS)}, or blank"
        raise FormatError(path, message, line)
    return Suggestion(
        query=Concept(cell.get("query_id", ""), cell["query"]),
        rank=rank,
        parent=Concept(cell["parent_id"], cell.get("parent_label", "")),
        path=tuple(cell.get("path", "").split(" > ")),
        score=score,
        confidence=confidence,
        kind=kind,
        place=cell.get("place", ""),
        moves=moves,
        why=cell.get("why", ""),
    )


def _as_cell(ids: Sequence[str]) -> str:
    """Some ids in one cell, as JSON where the plain way would not tell them apart."""
    if any("|" in id or id.startswith("[") or id != id.strip() for id in ids):
        return json.dumps(ids, ensure_ascii=False)
    return "|".join(ids)


def _from_cell(path: Path, line: int, cell: str) -> tuple[str, ...]:
    """The ids in a cell."""
    if not cell.startswith("["):
        return tuple(filter(None, map(str.strip, cell.split("|"))))
    try:
        ids = json.loads(cell)
    except ValueError:
        ids = None
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        message = f"moves is {cell!r}; it must be ids with | between them, or a JSON list of them"
        raise FormatError(path, message, line)
    return tuple(ids)


def _number(text: str) -> float:
    """A number as a spreadsheet may have saved it."""
    return float(text.replace(",", "."))
