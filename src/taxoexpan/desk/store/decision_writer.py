"""Appending decisions to the log, with the state that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Connection, select

from taxoexpan.desk.store.decision_check import check_decision
from taxoexpan.desk.store.decision_log import (
    append_to_log,
    chunks,
    decisions_about,
    last_number,
    repeated,
)
from taxoexpan.desk.store.proposal import pair
from taxoexpan.desk.store.queue_derivation import derive_queue
from taxoexpan.desk.store.records import Action, LoggedDecision, NewDecision, Placement
from taxoexpan.desk.store.store_errors import ConflictError, StoreError
from taxoexpan.desk.store.tables import concepts, proposals, queue


@dataclass
class CurrentConcept:
    """What a new decision needs to know about its concept; the version grows with each."""

    label: str
    version: int
    model: str | None
    shown: Sequence[Placement]


def append_decisions(
    connection: Connection, new: Sequence[NewDecision], curator: str
) -> list[LoggedDecision]:
    """Append decisions and derive the state of their concepts; a repeated request does nothing."""
    for decision in new:
        check_decision(decision)
    known = repeated(connection, new)
    if known and len(known) < len(new):
        raise StoreError("the request id was used before, for other decisions; use a new one")
    if known:
        return known
    current = current_concepts(connection, list(dict.fromkeys(each.concept for each in new)))
    number, time = last_number(connection), datetime.now(UTC)
    logged = []
    for decision in new:
        concept = current[decision.concept]
        _refuse_other_version(connection, decision, concept)
        concept.version += 1
        number += 1
        logged.append(
            LoggedDecision(
                number,
                _completed(decision, concept),
                concept.label,
                curator,
                time,
                concept.model,
                passed_over=_passed_over(decision, concept.shown),
            )
        )
    append_to_log(connection, logged)
    derive_queue(connection, list(current))
    return logged


def current_concepts(connection: Connection, keys: Sequence[str]) -> dict[str, CurrentConcept]:
    """Return the current state of some concepts, or refuse one that is not in the queue."""
    found = {}
    columns = concepts.c.key, concepts.c.label, queue.c.version, queue.c.rejected
    joined = queue.join(concepts).outerjoin(proposals, proposals.c.concept == queue.c.concept)
    statement = select(*columns, proposals.c.model, proposals.c.suggestions).select_from(joined)
    for part in chunks(keys):
        for row in connection.execute(statement.where(concepts.c.key.in_(part))):
            proposed = [each.placement for each in row.suggestions]
            shown = [each for each in proposed if pair(each) not in row.rejected]
            found[row.key] = CurrentConcept(row.label, row.version, row.model, shown)
    missing = next((key for key in keys if key not in found), None)
    if missing is not None:
        raise StoreError(f"{missing!r} is not in the queue; add the concept first")
    return found


def _refuse_other_version(
    connection: Connection, decision: NewDecision, current: CurrentConcept
) -> None:
    """Refuse a decision about a version that is not the latest one."""
    if decision.version == current.version:
        return
    earlier = decisions_about(connection, [decision.concept]).get(decision.concept)
    if earlier and decision.version < current.version:
        raise ConflictError(earlier[-1])
    message = f"{current.label!r}: there is no version {decision.version}"
    raise StoreError(f"{message}, only {current.version}; look at the concept again")


def _completed(decision: NewDecision, concept: CurrentConcept) -> NewDecision:
    """Return the decision with all proposals that it rejects."""
    if decision.action != Action.REJECT:
        return decision
    named = {pair(placement) for placement in decision.placements}
    others = [each for each in concept.shown if pair(each) not in named]
    return replace(decision, placements=(*decision.placements, *others))


def _passed_over(decision: NewDecision, shown: Sequence[Placement]) -> tuple[Placement, ...]:
    """Return the proposals above the accepted ones; all if the curator searched for a parent."""
    if decision.action != Action.ACCEPT:
        return ()
    accepted = {pair(placement) for placement in decision.placements}
    ranks = [placement.rank for placement in decision.placements]
    last = max(ranks) if all(ranks) else None
    above = [each for each in shown if last is None or each.rank < last]
    return tuple(each for each in above if pair(each) not in accepted)
