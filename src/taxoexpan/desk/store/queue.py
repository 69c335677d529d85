"""Reading the queue of new concepts, which is derived from the log and the proposals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind, Target, rejected_parents
from taxoexpan.desk.store.decisions import (
    QueuedConcept,
    Status,
    StoredValueError,
    short_key,
)
from taxoexpan.desk.store.tables import Transactions, chunks, concepts, proposals, queue
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.name_search import fold_name

LISTED = b"\1"
UNLISTED = b"\0"
SEPARATOR = "\x1f"
"""Follows every label of a path."""
_STRIDE = 1_220_703_125
_MODULUS = 2_147_483_647
"""The factor and the prime of a multiplicative hash of concept numbers."""


class QueueOrder(StrEnum):
    """The order of the queue; deferred concepts always come last, in the order of deferral."""

    CONFIDENCE = "confidence"
    """The most confident first proposal comes first."""
    LEAST = "least"
    """The least confident first proposal comes first: the best to learn from."""
    SAMPLE = "sample"
    """A random order, which stays the same: its first concepts are a random sample."""
    PARENT = "parent"
    """Concepts with the same first proposal are next to each other, along the taxonomy."""
    LISTED = "listed"
    """The order in which the concepts were added."""


@dataclass(frozen=True, slots=True)
class QueueQuery:
    """A filter and an order of the queue.

    Limits of confidence apply to the confidence, or else the score, of the first proposal; concepts
    without a proposal are returned only without limits.
    """

    statuses: Sequence[Status] = ()
    """Only concepts with one of these statuses; all if empty."""
    coarse: bool = False
    """Only accepted concepts whose place is to be refined."""
    merge: bool | None = None
    """Only concepts whose first proposal is a merge, or only the others; all if None."""
    commented: bool = False
    """Only concepts with a comment."""
    text: str = ""
    """Words or parts of words, all of which must be in a concept's label and synonyms."""
    min_confidence: float | None = None
    max_confidence: float | None = None
    """The confidence must be below this limit."""
    branch: Sequence[str] = ()
    """Labels from a root down to a concept; the first proposal must be at or below it."""
    parent_id: str | None = None
    """The first proposal must be this parent."""
    listed: bytes | None = None
    """Only the concepts of a list, as `DecisionStore.listed` returns it; all if None."""
    order: QueueOrder = QueueOrder.CONFIDENCE
    offset: int = 0
    limit: int | None = 50


@dataclass(frozen=True, slots=True)
class QueuePage:
    """One page of the concepts that match a query, and the total number of matches."""

    concepts: tuple[QueuedConcept, ...]
    total: int


def read_page(connection: sa.Connection, query: QueueQuery = QueueQuery()) -> QueuePage:  # noqa: B008
    """Return one page of the queue, and the total number of matching concepts."""
    matching = sa.select(queue.c.concept).where(*_conditions(query))
    shown = matching.order_by(*_order(query)).offset(query.offset).limit(query.limit).subquery()
    statement = _select_concepts().join(shown, shown.c.concept == queue.c.concept)
    rows = connection.execute(statement.order_by(*_order(query))).all()
    total = query.offset + len(rows)
    if not rows or len(rows) == query.limit:  # other pages may have more
        total = count_page(connection, query)
    return QueuePage(tuple(_queued_concept(row) for row in rows), total)


def read_concept(connection: sa.Connection, key: str) -> QueuedConcept | None:
    """Return one concept, or None if it is not in the queue."""
    return read_concepts(connection, [key]).get(key)


def read_concepts(connection: sa.Connection, keys: Sequence[str]) -> dict[str, QueuedConcept]:
    """Return the concepts with these keys that are in the queue."""
    found = {}
    for part in chunks(keys):
        for row in connection.execute(_select_concepts().where(concepts.c.key.in_(part))):
            found[row.key] = _queued_concept(row)
    return found


def read_first_proposals(reading: Transactions, query: QueueQuery) -> list[QueuedConcept]:
    """Return all matching concepts with only their first proposal, without decoding the others.

    Concepts that are decided during the reading are left out.
    """
    matching = sa.select(queue.c.concept, queue.c.version).where(*_conditions(query))
    with reading() as connection:
        matches = connection.execute(matching.order_by(*_order(query))).all()
    stored = sa.type_coerce(proposals.c.suggestions, sa.Text).label("stored")
    columns = queue.c.concept, concepts.c.key, concepts.c.label, queue.c.status, queue.c.version
    joined = queue.join(concepts).join(proposals, proposals.c.concept == queue.c.concept)
    statement = sa.select(*columns, queue.c.rejected, stored).select_from(joined)
    queued = []
    for part in chunks(matches):
        numbers = [match.concept for match in part]
        with reading() as connection:
            rows = connection.execute(statement.where(queue.c.concept.in_(numbers))).all()
        found = {(row.concept, row.version): row for row in rows}
        for row in filter(None, (found.get((match.concept, match.version)) for match in part)):
            concept = Concept("", row.label)
            first = _first_proposal(concept, row.stored, row.rejected)
            if first is not None:
                state = row.key, concept, row.status, row.version, (first,)
                wrong = rejected_parents(row.rejected)
                queued.append(QueuedConcept(*state, rejected_parents=wrong))
    return queued


def _first_proposal(query: Concept, stored: str, rejected: frozenset[Target]) -> Suggestion | None:
    """Return the first stored proposal that is not rejected."""
    try:
        proposed = (Suggestion.restored(query, values) for values in json.loads(stored))
        return next((each for each in proposed if each.target not in rejected), None)
    except (ValueError, TypeError, LookupError) as error:
        raise StoredValueError(str(error)) from error


def count_statuses(connection: sa.Connection, listed: bytes | None = None) -> dict[Status, int]:
    """Count the concepts by status, optionally only the concepts of a list."""
    numbers = [sa.func.count().filter(queue.c.status == status) for status in Status]
    conditions = [] if listed is None else [_is_listed(listed)]
    row = connection.execute(sa.select(*numbers).where(*conditions)).one()
    return dict(zip(Status, row, strict=True))


def count_page(connection: sa.Connection, query: QueueQuery) -> int:
    """Count the concepts that match a query."""
    matching = sa.select(sa.func.count()).select_from(queue).where(*_conditions(query))
    return connection.scalar(matching) or 0


def _select_concepts() -> sa.Select[Any]:
    joined = queue.join(concepts).outerjoin(proposals, proposals.c.concept == queue.c.concept)
    columns = [*queue.c, *concepts.c, proposals.c.model, proposals.c.suggestions]
    needed = [column.label(column.key) for column in columns if column.key != "searched"]
    return sa.select(*needed).select_from(joined)


def _queued_concept(row: sa.Row[Any]) -> QueuedConcept:
    concept = row.edited or Concept(row.id, row.label, row.synonyms, row.definition)
    proposed = [replace(each, query=concept) for each in row.suggestions or ()]
    return QueuedConcept(
        key=row.key,
        concept=concept,
        status=row.status,
        version=row.version,
        proposals=tuple(each for each in proposed if each.target not in row.rejected),
        model=row.model,
        accepted=tuple(replace(each, query=concept) for each in row.accepted),
        comment=row.comment,
        curator=row.curator,
        rejected=tuple(each for each in proposed if each.target in row.rejected),
        rejected_parents=rejected_parents(row.rejected),
    )


def _conditions(query: QueueQuery) -> list[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = []
    if query.listed is not None:
        conditions.append(_is_listed(query.listed))
    if query.statuses:
        conditions.append(queue.c.status.in_(query.statuses))
    if query.coarse:
        stored = sa.type_coerce(queue.c.accepted, sa.Text)
        conditions.append(stored.contains(f'"kind": "{SuggestionKind.COARSE}"'))
    if query.merge is not None:
        conditions.append(queue.c.is_merge == query.merge)
    if query.commented:
        conditions.append(queue.c.comment != "")
    if query.min_confidence is not None:
        conditions.append(queue.c.confidence >= max(query.min_confidence, 0.0))
    if query.max_confidence is not None:
        conditions += [queue.c.confidence < query.max_confidence, queue.c.confidence >= 0]
    if query.branch:
        branch = path_text(query.branch)
        conditions.append(sa.func.substr(queue.c.branch, 1, len(branch)) == branch)
    if query.parent_id is not None:
        conditions.append(queue.c.parent_key == short_key(query.parent_id))
    words = fold_name(query.text).split()
    if words:
        # As a list of concepts, so that the names are searched once and in their own table.
        named = [concepts.c.searched.contains(word, autoescape=True) for word in words]
        conditions.append(queue.c.concept.in_(sa.select(concepts.c.number).where(*named)))
    return conditions


def _is_listed(listed: bytes) -> sa.ColumnElement[bool]:
    """Return the condition that the mask has a 1 at the concept's number."""
    mask = sa.literal(listed, sa.LargeBinary)
    byte = sa.func.substr(mask, queue.c.concept, 1, type_=sa.LargeBinary)
    return byte == sa.literal(LISTED, sa.LargeBinary)


def _order(query: QueueQuery) -> Sequence[sa.ColumnElement[Any]]:
    confidence = queue.c.confidence.desc()
    number = queue.c.concept.asc()
    columns: dict[QueueOrder, list[sa.ColumnElement[Any]]] = {
        QueueOrder.CONFIDENCE: [confidence, number],
        QueueOrder.LEAST: [queue.c.confidence.asc(), number],
        QueueOrder.SAMPLE: [sa.cast(queue.c.concept, sa.BigInteger) * _STRIDE % _MODULUS],
        QueueOrder.PARENT: [queue.c.parent_order.asc(), confidence, number],
        QueueOrder.LISTED: [number],
    }
    return [queue.c.turn.asc(), *columns[query.order]]


def path_text(path: Iterable[str]) -> str:
    """Join the labels of a path, so that the string of a branch is a prefix of all paths in it."""
    return "".join(f"{label}{SEPARATOR}" for label in path)
