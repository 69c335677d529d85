"""Reading the log of decisions, and appending to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, Select, func, insert, select

from taxoexpan.desk.store.column_types import reads_stored
from taxoexpan.desk.store.records import Action, LoggedDecision, NewDecision, Reason
from taxoexpan.desk.store.tables import decisions

T = TypeVar("T")
CHUNK = 500
"""How many keys one statement names."""

_undo = decisions.alias("undo")


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split items into parts that one statement can name."""
    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]


def select_logged() -> Select[Any]:
    """Select decisions of the log, each with whether it was undone."""
    undone = _undo.c.number.is_not(None).label("undone")
    joined = decisions.outerjoin(_undo, _undo.c.undoes == decisions.c.number)
    return select(decisions, undone).select_from(joined)


def not_undone() -> Select[Any]:
    """Select decisions that can be undone."""
    return select_logged().where(decisions.c.action != Action.UNDO, _undo.c.number.is_(None))


@reads_stored
def logged_decision(row: Row[Any]) -> LoggedDecision:
    """Build a decision from a row of the log."""
    decision = NewDecision(
        concept=row.concept,
        action=Action(row.action),
        version=row.version,
        placements=row.placements,
        reason=Reason(row.reason) if row.reason else None,
        comment=row.comment,
        batch=row.batch,
        request_id=row.request_id,
    )
    return LoggedDecision(
        number=row.number,
        decision=decision,
        label=row.label,
        curator=row.curator,
        time=row.time,
        model=row.model,
        undoes=() if row.undoes is None else (row.undoes,),
        undone=bool(row.undone),
        passed_over=row.passed_over,
    )


def decisions_about(
    connection: Connection, concepts: Sequence[str]
) -> dict[str, list[LoggedDecision]]:
    """Return all decisions about some concepts, in the order of the log."""
    found: dict[str, list[LoggedDecision]] = {}
    for keys in chunks(concepts):
        statement = select_logged().where(decisions.c.concept.in_(keys))
        for row in connection.execute(statement.order_by(decisions.c.number)):
            found.setdefault(row.concept, []).append(logged_decision(row))
    return found


def repeated(connection: Connection, new: Sequence[NewDecision]) -> list[LoggedDecision]:
    """Return the decisions that are in the log already, because a request was repeated."""
    ids = list({decision.request_id for decision in new if decision.request_id})
    wanted = {(decision.request_id, decision.concept) for decision in new}
    found = []
    for part in chunks(ids):
        statement = select_logged().where(decisions.c.request_id.in_(part))
        rows = connection.execute(statement.order_by(decisions.c.number))
        found += [row for row in rows if (row.request_id, row.concept) in wanted]
    return [logged_decision(row) for row in found]


def append_to_log(connection: Connection, new: Sequence[LoggedDecision]) -> None:
    """Insert decisions; the triggers and constraints of the table protect the others."""
    rows = (
        {
            "number": logged.number,
            "concept": logged.decision.concept,
            "version": logged.decision.version,
            "action": logged.decision.action.value,
            "placements": logged.decision.placements,
            "passed_over": logged.passed_over,
            "reason": logged.decision.reason.value if logged.decision.reason else None,
            "comment": logged.decision.comment,
            "batch": logged.decision.batch,
            "request_id": logged.decision.request_id,
            "label": logged.label,
            "curator": logged.curator,
            "time": logged.time,
            "model": logged.model,
            "undoes": logged.undoes[0] if logged.undoes else None,
        }
        for logged in new
    )
    while part := list(islice(rows, CHUNK)):
        connection.execute(insert(decisions), part)


def last_number(connection: Connection) -> int:
    """Return the number of the latest decision, or 0."""
    return connection.scalar(select(func.max(decisions.c.number))) or 0
