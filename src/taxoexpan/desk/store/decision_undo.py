"""Undoing decisions: an undo is a decision of its own, and nothing leaves the log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

from sqlalchemy import Connection, or_

from taxoexpan.desk.store.decision_log import (
    append_to_log,
    last_number,
    logged_decision,
    not_undone,
    select_logged,
)
from taxoexpan.desk.store.decision_writer import current_concepts
from taxoexpan.desk.store.queue_derivation import derive_queue
from taxoexpan.desk.store.records import Action, LoggedDecision, NewDecision
from taxoexpan.desk.store.store_errors import StoreError
from taxoexpan.desk.store.tables import decisions


def undo_decisions(
    connection: Connection,
    curator: str,
    number: int | None,
    whole_batch: bool,
    request_id: str | None,
) -> list[LoggedDecision]:
    """Undo a decision, by default the curator's latest one, and the others of its batch."""
    repeated = _undone_by_request(connection, request_id) if request_id else []
    if repeated:
        return repeated
    target = _target(connection, curator, number)
    if target is None:
        return []
    targets = [target]
    if whole_batch and target.decision.batch:
        same = not_undone().where(decisions.c.batch == target.decision.batch)
        rows = connection.execute(same.order_by(decisions.c.number.desc()))
        targets = [logged_decision(row) for row in rows]
    logged = _undos(connection, targets, curator, request_id)
    append_to_log(connection, logged)
    derive_queue(connection, list(dict.fromkeys(each.decision.concept for each in logged)))
    return logged


def _undone_by_request(connection: Connection, request_id: str) -> list[LoggedDecision]:
    """Return the undo decisions of a request that is repeated."""
    undos = select_logged().where(decisions.c.action == Action.UNDO)
    first = connection.execute(undos.where(decisions.c.request_id == request_id)).first()
    if first is None:
        return []
    same = or_(decisions.c.number == first.number, decisions.c.batch == first.batch)
    rows = connection.execute(undos.where(same).order_by(decisions.c.number))
    return [logged_decision(row) for row in rows]


def _target(connection: Connection, curator: str, number: int | None) -> LoggedDecision | None:
    """Return the decision to undo, or None if the curator has none left."""
    if number is None:
        own = not_undone().where(decisions.c.curator == curator)
        row = connection.execute(own.order_by(decisions.c.number.desc()).limit(1)).first()
        return None if row is None else logged_decision(row)
    row = connection.execute(select_logged().where(decisions.c.number == number)).first()
    if row is None:
        raise StoreError(f"there is no decision {number}; look at the history again")
    if row.undone or row.action == Action.UNDO:
        state = "has been undone already" if row.undone else "is an undo; decide again instead"
        raise StoreError(f"decision {number} {state}")
    return logged_decision(row)


def _undos(
    connection: Connection,
    targets: Sequence[LoggedDecision],
    curator: str,
    request_id: str | None,
) -> list[LoggedDecision]:
    """Return one undo decision per target; several are a batch."""
    current = current_concepts(connection, [target.decision.concept for target in targets])
    batch = uuid4().hex if len(targets) > 1 else None
    number, time = last_number(connection), datetime.now(UTC)
    logged = []
    for target in targets:
        key = target.decision.concept
        concept = current[key]
        number += 1
        undo = NewDecision(key, Action.UNDO, concept.version, batch=batch, request_id=request_id)
        request_id = None  # the first decision of the batch has the id for all of them
        concept.version += 1
        undoes = (target.number,)
        logged.append(
            LoggedDecision(number, undo, target.label, curator, time, concept.model, undoes)
        )
    return logged
