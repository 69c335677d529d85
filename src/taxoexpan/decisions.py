"""Suggestions, as objects and as CSV, and the choice of those that are applied."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from taxoexpan.errors import ConfigurationError, FormatError, TaxonomyError
from taxoexpan.formats.source import Source
from taxoexpan.formats.tabular import csv_of, guess_delimiter, read_cells
from taxoexpan.naming import fold_name, with_ids
from taxoexpan.screening import known_names
from taxoexpan.taxonomy import Additions, Concept, Shift, Taxonomy

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
    def sureness(self) -> float:
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
    return csv_of(COLUMNS, (suggestion.as_dict() for suggestion in suggestions))


def read_suggestions(path: Path, movable: Taxonomy | None = None) -> list[Suggestion]:
    """Read a table of suggestions, as it was written or as a person has pruned it.

    A query that a person has added may have a blank id. What is to move must be `movable`.
    """
    source = Source.load(path)
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


def choose(
    suggestions: Sequence[Suggestion],
    top_k: int = 1,
    min_score: float = 0.0,
    min_confidence: float = 0.0,
    allow_moves: bool = False,
    allow_merges: bool = False,
) -> Additions:
    """The relations to add: for each query its first `top_k`, none below either minimum.

    Where a person has removed the first rank, the next that is there counts as the first. Rows
    with a blank rank (0 here) are a person's own: all of them come first. Under a new concept that
    is not chosen nothing is. What the chosen inserts
    would move, and what merges would add to the names that are there, is told only if allowed, and
    is to be settled with the taxonomy (`settle`) before it is applied.
    """
    if min_confidence and any(s.rank and s.confidence is None for s in suggestions):
        message = "not all of these suggestions tell how sure they are"
        cause = "the model could not learn it, or they were placed together"
        raise ConfigurationError(f"{message}: {cause}; choose by the score")
    alike = merges(suggestions, min_confidence, min_score)
    merged = {s.query.id for s in alike}
    good = [
        s
        for s in suggestions
        if s.kind != MERGE
        and s.query.id not in merged
        and s.score >= min_score
        and _is_sure(s, min_confidence)
    ]
    ranks: dict[str, set[int]] = {}
    for suggestion in good:
        ranks.setdefault(suggestion.query.id, set()).add(suggestion.rank)
    first = {id: frozenset(sorted(left)[:top_k]) for id, left in ranks.items()}
    asked = {s.query.id for s in suggestions}
    chosen = _rooted([s for s in good if s.rank in first[s.query.id]], asked)
    concepts = {s.query.id: s.query for s in chosen}
    relations = dict.fromkeys((s.parent.id, s.query.id) for s in chosen)
    return Additions(
        tuple(concepts.values()),
        tuple(relations),
        moves=_moves_of(chosen) if allow_moves else (),
        synonyms=_names_of(alike) if allow_merges else (),
    )


def _rooted(chosen: Sequence[Suggestion], asked: Collection[str]) -> list[Suggestion]:
    """Without those under a new concept of which nothing is left: they have no place either."""
    left, before = list(chosen), -1
    while len(left) != before:
        before, placed = len(left), {s.query.id for s in left}
        left = [s for s in left if s.parent.id not in asked or s.parent.id in placed]
    return left


def _moves_of(chosen: Sequence[Suggestion]) -> tuple[Shift, ...]:
    """What the inserts would move, in the order in which it is to be considered.

    Where two claim one child, a person's own comes first, then the longer name, since it says
    more (of oat milk and milk the former has organic oat milk), then what is surer.
    """

    def urgency(insert: Suggestion) -> tuple[object, ...]:
        name = fold_name(insert.query.label)
        ids = (name, insert.query.id, insert.parent.id)
        return (bool(insert.rank), -len(name.split()), -len(name), -insert.sureness, *ids)

    inserts = sorted((s for s in chosen if s.kind == INSERT), key=urgency)
    shifts = (Shift(id, s.parent.id, s.query.id) for s in inserts for id in sorted(s.moves))
    return tuple(dict.fromkeys(shifts))


def _names_of(alike: Sequence[Suggestion]) -> tuple[tuple[str, str], ...]:
    """The names of what is merged, each with the id of what it is another name of.

    Where two have one name, a person's own comes first, then what is surer.
    """

    def urgency(merge: Suggestion) -> tuple[object, ...]:
        name = merge.query.label
        return bool(merge.rank), -merge.sureness, fold_name(name), merge.parent.id, name

    ordered = sorted(alike, key=urgency)
    names = ((s.parent.id, n) for s in ordered for n in (s.query.label, *s.query.synonyms))
    return tuple(dict.fromkeys(names))


def merges(
    suggestions: Sequence[Suggestion], min_confidence: float = 0.0, min_score: float = 0.0
) -> list[Suggestion]:
    """Those that say first of all that a query is another name of what is there."""
    return [
        s
        for s in _first_of_each(suggestions)
        if s.kind == MERGE and s.score >= min_score and _is_sure(s, min_confidence)
    ]


def without_place(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """The first of those queries that have no good place, and are no other names either."""
    return [s for s in _first_of_each(suggestions) if s.place == NO_PLACE and s.kind != MERGE]


def _first_of_each(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Each query's suggestion of the lowest rank."""
    first: dict[str, Suggestion] = {}
    for suggestion in sorted(suggestions, key=lambda s: s.rank):
        first.setdefault(suggestion.query.id, suggestion)
    return list(first.values())


def _is_sure(suggestion: Suggestion, least: float) -> bool:
    """Whether a suggestion is sure enough; a person's own always is."""
    return not suggestion.rank or not least or (suggestion.confidence or 0.0) >= least


def with_query_ids(taxonomy: Taxonomy, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """The suggestions, each query with an id: one for all rows of a name that have none."""
    nameless = {s.query.label: s.query for s in suggestions if not s.query.id}
    # Ids that other rows bring are taken as well.
    others = list({s.query.id: s.query for s in suggestions if s.query.id}.values())
    named = with_ids(taxonomy, [*others, *nameless.values()])[len(others) :]
    ids = {query.label: query for query in named}
    return [s if s.query.id else replace(s, query=ids[s.query.label]) for s in suggestions]


def keep_new(
    taxonomy: Taxonomy, additions: Additions
) -> tuple[Additions, list[tuple[Concept, Concept]]]:
    """The additions without what the taxonomy holds already, and that beside what it is there.

    The old taxonomy is never changed, so an existing concept gets no further parent.
    """
    names = known_names(taxonomy)
    present = []
    new = []
    for concept in additions.concepts:
        known = concept.id in taxonomy
        if known and taxonomy.concept(concept.id).label != concept.label:
            label = taxonomy.concept(concept.id).label
            raise TaxonomyError(
                f"the id {concept.id!r} of the new concept {concept.label!r} belongs to {label!r} "
                "in the taxonomy; suggest again, or change the query_id"
            )
        index = taxonomy.index(concept.id) if known else names.get(fold_name(concept.label))
        if index is None:
            new.append(concept)
        else:
            present.append((concept, taxonomy.concept_at(index)))
    ids = {concept.id for concept in new}
    for parent, child in additions.relations:
        if parent not in taxonomy and parent not in ids:
            raise TaxonomyError(
                f"{parent!r}, the parent of {child!r}, is not in the taxonomy; were the "
                "suggestions made for another one? If its row was taken out, take this out too"
            )
    relations = [(parent, child) for parent, child in additions.relations if child in ids]
    moves = [shift for shift in additions.moves if shift.joined in ids]
    kept = replace(additions, concepts=tuple(new), relations=tuple(relations), moves=tuple(moves))
    return kept, present


def refuse_other_labels(taxonomy: Taxonomy, suggestions: Iterable[Suggestion]) -> None:
    """A parent's label must be the taxonomy's: else it was edited, or is of another taxonomy."""
    for suggestion in suggestions:
        id, told = suggestion.parent.id, suggestion.parent.label
        if told and id in taxonomy and taxonomy.concept(id).label != told:
            label = taxonomy.concept(id).label
            raise TaxonomyError(
                f"the parent {id!r} of {suggestion.query.label!r} is {label!r} in the taxonomy "
                f"and {told!r} in the suggestions; to choose another parent change the parent_id"
            )


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
