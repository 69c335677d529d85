"""Reading the queue: one concept, one page, and the number of concepts per status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, func, select

from taxoexpan.desk.store.concept_import import fold
from taxoexpan.desk.store.queue_derivation import path_text, proposals_of
from taxoexpan.desk.store.queue_query import QueueOrder, QueuePage, QueueQuery
from taxoexpan.desk.store.records import QueuedConcept, Status
from taxoexpan.desk.store.tables import concepts, queue
from taxoexpan.taxonomy import Concept


def read_concept(connection: Connection, key: str) -> QueuedConcept | None:
    """Return one concept, or None if it is not in the queue."""
    rows = connection.execute(_select_concepts().where(queue.c.concept == key)).all()
    found = _with_proposals(connection, rows)
    return found[0] if found else None


def read_page(connection: Connection, query: QueueQuery) -> QueuePage:
    """Return one page of the queue, and the number of all concepts that match."""
    conditions = _conditions(query)
    joined = queue.join(concepts) if query.text.split() else queue
    counted = select(func.count()).select_from(joined).where(*conditions)
    total = connection.scalar(counted) or 0
    keys = select(queue.c.concept).select_from(joined).where(*conditions)
    page = keys.order_by(*_order(query.order)).offset(query.offset)
    if query.limit is not None:
        page = page.limit(query.limit)
    shown = page.subquery()
    statement = _select_concepts().join(shown, shown.c.concept == queue.c.concept)
    rows = connection.execute(statement.order_by(*_order(query.order))).all()
    return QueuePage(tuple(_with_proposals(connection, rows)), total)


def count_statuses(connection: Connection) -> dict[Status, int]:
    """Count the concepts of every status."""
    counted = select(queue.c.status, func.count().label("number")).group_by(queue.c.status)
    found = {row.status: row.number for row in connection.execute(counted)}
    return {status: found.get(status.value, 0) for status in Status}


def _select_concepts() -> Select[Any]:
    names = concepts.c.id, concepts.c.label, concepts.c.synonyms, concepts.c.definition
    return select(queue, *names).join(concepts, concepts.c.key == queue.c.concept)


def _conditions(query: QueueQuery) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if query.statuses:
        conditions.append(queue.c.status.in_([status.value for status in query.statuses]))
    if query.min_confidence is not None:
        conditions.append(queue.c.confidence >= max(query.min_confidence, 0.0))
    if query.max_confidence is not None:
        conditions += [queue.c.confidence < query.max_confidence, queue.c.confidence >= 0]
    if query.branch:
        branch = path_text(query.branch)
        conditions.append(func.substr(queue.c.branch, 1, len(branch)) == branch)
    if query.parent_id is not None:
        conditions.append(queue.c.parent_id == query.parent_id)
    words = fold(query.text).split()
    conditions += [concepts.c.searched.contains(word, autoescape=True) for word in words]
    return conditions


def _order(order: QueueOrder) -> Sequence[ColumnElement[Any]]:
    confidence, position = queue.c.confidence.desc(), queue.c.position.asc()
    columns = {
        QueueOrder.CONFIDENCE: [confidence, position],
        QueueOrder.PARENT: [queue.c.parent_order.asc(), confidence, position],
        QueueOrder.LISTED: [position],
    }[order]
    return [queue.c.turn.asc(), *columns]


def _with_proposals(connection: Connection, rows: Sequence[Row[Any]]) -> list[QueuedConcept]:
    proposed = proposals_of(connection, [row.concept for row in rows], shown_only=True)
    return [
        QueuedConcept(
            key=row.concept,
            concept=Concept(row.id, row.label, row.synonyms, row.definition),
            status=Status(row.status),
            version=row.version,
            proposals=tuple(proposed.get(row.concept, ())),
            placements=row.placements,
            comment=row.comment,
            curator=row.curator,
        )
        for row in rows
    ]
