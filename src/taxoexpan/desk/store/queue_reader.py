"""Reading the queue: one concept, one page, and the number of concepts per status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    Row,
    Select,
    Text,
    func,
    literal,
    select,
    type_coerce,
)

from taxoexpan.desk.store.column_types import first_stored, reads_stored
from taxoexpan.desk.store.concept_import import LISTED, fold
from taxoexpan.desk.store.proposal import pair
from taxoexpan.desk.store.queue_derivation import path_text
from taxoexpan.desk.store.queue_query import FirstProposal, QueueOrder, QueuePage, QueueQuery
from taxoexpan.desk.store.records import QueuedConcept, Status, short_key
from taxoexpan.desk.store.tables import concepts, proposals, queue
from taxoexpan.taxonomy import Concept


def read_concept(connection: Connection, key: str) -> QueuedConcept | None:
    """Return one concept, or None if it is not in the queue."""
    row = connection.execute(_select_concepts().where(concepts.c.key == key)).first()
    return None if row is None else _queued_concept(row)


def read_page(connection: Connection, query: QueueQuery) -> QueuePage:
    """Return one page of the queue, and the number of all concepts that match."""
    matching = select(queue.c.concept).where(*_conditions(query))
    page = matching.order_by(*_order(query.order)).offset(query.offset)
    if query.limit is not None:
        page = page.limit(query.limit)
    shown = page.subquery()
    statement = _select_concepts().join(shown, shown.c.concept == queue.c.concept)
    rows = connection.execute(statement.order_by(*_order(query.order))).all()
    total = query.offset + len(rows)
    if not rows or len(rows) == query.limit:  # other pages may have more
        total = connection.scalar(select(func.count()).select_from(matching.subquery())) or 0
    return QueuePage(tuple(_queued_concept(row) for row in rows), total)


def read_first_proposals(connection: Connection, query: QueueQuery) -> list[FirstProposal]:
    """Return the first proposals of all concepts that match, in the order of the queue.

    The other proposals are not decoded: that would take most of the time.
    """
    stored = type_coerce(proposals.c.suggestions, Text).label("stored")
    columns = concepts.c.key, concepts.c.label, queue.c.version, queue.c.rejected, stored
    joined = queue.join(concepts).join(proposals, proposals.c.concept == queue.c.concept)
    statement = select(*columns).select_from(joined).where(*_conditions(query))
    found = []
    for row in connection.execute(statement.order_by(*_order(query.order))):
        first = first_stored(row.stored, row.rejected)
        if first is not None:
            placement, place = first.placement, first.place
            found.append(FirstProposal(row.key, row.label, row.version, placement, place))
    return found


def count_statuses(connection: Connection, listed: bytes | None = None) -> dict[Status, int]:
    """Count the concepts of every status; only those of a list if one is given."""
    numbers = [func.count().filter(queue.c.status == status.value) for status in Status]
    conditions = [] if listed is None else [_is_listed(listed)]
    row = connection.execute(select(*numbers).where(*conditions)).one()
    return dict(zip(Status, row, strict=True))


def _select_concepts() -> Select[Any]:
    joined = queue.join(concepts).outerjoin(proposals, proposals.c.concept == queue.c.concept)
    columns = [column for column in concepts.c if column.name != "searched"]
    return select(queue, *columns, proposals.c.suggestions).select_from(joined)


def _conditions(query: QueueQuery) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if query.listed is not None:
        conditions.append(_is_listed(query.listed))
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
        conditions.append(queue.c.parent_key == short_key(query.parent_id))
    words = fold(query.text).split()
    if words:
        # As a list of concepts, so that the names are searched once and in their own table.
        named = [concepts.c.searched.contains(word, autoescape=True) for word in words]
        conditions.append(queue.c.concept.in_(select(concepts.c.number).where(*named)))
    return conditions


def _is_listed(listed: bytes) -> ColumnElement[bool]:
    """Whether the byte at a concept's number is 1: one value, also for 100,000 concepts."""
    mask = literal(listed, LargeBinary)
    byte = func.substr(mask, queue.c.concept, 1, type_=LargeBinary)
    return byte == literal(LISTED, LargeBinary)


def _order(order: QueueOrder) -> Sequence[ColumnElement[Any]]:
    confidence, number = queue.c.confidence.desc(), queue.c.concept.asc()
    columns = {
        QueueOrder.CONFIDENCE: [confidence, number],
        QueueOrder.PARENT: [queue.c.parent_order.asc(), confidence, number],
        QueueOrder.LISTED: [number],
    }[order]
    return [queue.c.turn.asc(), *columns]


@reads_stored
def _queued_concept(row: Row[Any]) -> QueuedConcept:
    concept = Concept(row.id, row.label, row.synonyms, row.definition)
    shown = [each for each in row.suggestions if pair(each.placement) not in row.rejected]
    return QueuedConcept(
        key=row.key,
        concept=concept,
        status=Status(row.status),
        version=row.version,
        proposals=tuple(each.suggestion(concept) for each in shown),
        placements=row.placements,
        comment=row.comment,
        curator=row.curator,
    )
