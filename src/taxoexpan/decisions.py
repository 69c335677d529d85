"""Suggestions, as objects and as CSV, and the choice of those that are applied."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from taxoexpan.errors import FormatError, TaxonomyError
from taxoexpan.formats.source import Source
from taxoexpan.formats.tabular import guess_delimiter, read_cells
from taxoexpan.naming import fold_name, with_ids
from taxoexpan.screening import known_names
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

COLUMNS = ("query", "query_id", "rank", "parent_id", "parent_label", "path", "score")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One possible parent of a query; `score` is its share of the belief over all parents."""

    query: Concept
    rank: int
    parent: Concept
    path: tuple[str, ...]
    score: float

    def as_dict(self) -> dict[str, str | int | float]:
        """The suggestion as a row of `COLUMNS`."""
        return {
            "query": self.query.label,
            "query_id": self.query.id,
            "rank": self.rank,
            "parent_id": self.parent.id,
            "parent_label": self.parent.label,
            "path": " > ".join(self.path),
            "score": float(f"{self.score:.6g}"),
        }


def suggestions_csv(suggestions: Iterable[Suggestion]) -> str:
    """The suggestions as a table."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(suggestion.as_dict() for suggestion in suggestions)
    return text.getvalue()


def read_suggestions(path: Path) -> list[Suggestion]:
    """Read a table of suggestions, as it was written or as a person has pruned it.

    A query that a person has added may have a blank id.
    """
    source = Source.load(path)
    # A spreadsheet may have saved it with semicolons, and numbers with a comma.
    cells = read_cells(source, guess_delimiter(path, source.lines[0]))
    _, header = next(cells, (1, []))
    places = {name: header.index(name) for name in COLUMNS if name in header}
    for name in ("query", "parent_id"):
        if name not in places:
            raise FormatError(path, f"no column {name}; a table of suggestions has {COLUMNS}", 1)
    suggestions = []
    named: dict[str, tuple[str, int]] = {}
    for line, row in cells:
        if len(row) != len(header):
            message = f"{len(row)} cells, but the header has {len(header)}; quote cells with commas"
            raise FormatError(path, message, line)
        cell = {name: row[place].strip() for name, place in places.items()}
        suggestion = _suggestion(path, line, cell)
        query = suggestion.query
        label, first = named.setdefault(query.id, (query.label, line))
        if query.id and label != query.label:
            message = f"the query_id {query.id!r} is that of {label!r} on line {first}; change one"
            raise FormatError(path, message, line)
        suggestions.append(suggestion)
    return suggestions


def choose(suggestions: Sequence[Suggestion], top_k: int = 1, min_score: float = 0.0) -> Additions:
    """The relations to add: for each query its first `top_k`, none below `min_score`.

    Where a person has removed the first rank, the next that is there counts as the first. Rows
    with a blank rank (0 here) are a person's own: all of them come first.
    """
    good = [s for s in suggestions if s.score >= min_score]
    ranks: dict[str, set[int]] = {}
    for suggestion in good:
        ranks.setdefault(suggestion.query.id, set()).add(suggestion.rank)
    first = {id: frozenset(sorted(left)[:top_k]) for id, left in ranks.items()}
    chosen = [s for s in good if s.rank in first[s.query.id]]
    concepts = {s.query.id: s.query for s in chosen}
    relations = dict.fromkeys((s.parent.id, s.query.id) for s in chosen)
    return Additions(tuple(concepts.values()), tuple(relations))


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
                f"{parent!r}, the parent of {child!r}, is not in the taxonomy; "
                "were the suggestions made for another one?"
            )
    relations = [(parent, child) for parent, child in additions.relations if child in ids]
    return Additions(tuple(new), tuple(relations)), present


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


def _suggestion(path: Path, line: int, cell: dict[str, str]) -> Suggestion:
    for name in ("query", "parent_id"):
        if not cell[name]:
            raise FormatError(path, f"{name} is blank; fill it, or remove the row", line)
    try:
        rank, score = (
            int(cell.get("rank") or 0),
            float((cell.get("score") or "1").replace(",", ".")),
        )
    except ValueError:
        message = "rank must be a whole number and score a number; correct or blank them"
        raise FormatError(path, message, line) from None
    if not 0 <= score <= 1 or rank < 0:
        message = "rank must not be negative, and score from 0 to 1; correct or blank them"
        raise FormatError(path, message, line)
    return Suggestion(
        query=Concept(cell.get("query_id", ""), cell["query"]),
        rank=rank,
        parent=Concept(cell["parent_id"], cell.get("parent_label", "")),
        path=tuple(cell.get("path", "").split(" > ")),
        score=score,
    )
