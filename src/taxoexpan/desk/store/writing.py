"""Appending decisions to the log, and undoing them; nothing is deleted from the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from uuid import uuid4

from sqlalchemy import Connection, insert

from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind
from taxoexpan.desk.store.decisions import (
    Action,
    ConflictError,
    LogEntry,
    QueuedConcept,
    StoreError,
)
from taxoexpan.desk.store.log import (
    decisions_about,
    derive_queue,
    last_number,
    not_undone,
    read_decision,
    read_decisions,
    read_requested,
    select_decisions,
)
from taxoexpan.desk.store.queue import read_concepts
from taxoexpan.desk.store.tables import chunks, decisions

MAX_NAME = 200
"""Characters of a curator's name, a batch and a request id."""
_COLUMNS = [each.name for each in fields(LogEntry) if each.name in decisions.c]


def append_decisions(
    connection: Connection, new: Sequence[LogEntry], curator: str
) -> list[LogEntry]:
    """Append all decisions or none; a repeated request does nothing.

    Raises:
        ConflictError: Another decision about the same version of a concept was appended first.
        StoreError: A decision is incomplete, or its concept is not in the queue.
    """
    curator = _checked_name(curator)
    for decision in new:
        if problem := _problem(decision):
            raise StoreError(f"{decision.concept!r}: {problem}")
    known = _repeated(connection, new)
    if known and len(known) < len(new):
        raise StoreError("the request id was used before, for other decisions", fix="use a new one")
    if known:
        return known
    queued = _queued_concepts(connection, new)
    completed = []
    for decision in new:
        concept = queued[decision.concept]
        _refuse_other_version(connection, decision, concept)
        queued[decision.concept] = replace(concept, version=concept.version + 1)
        # Proposals that another model has made since were not shown, so they are not judged.
        is_shown = decision.model in (None, concept.model)
        shown = concept.proposals if is_shown else ()
        named = {each.target for each in decision.suggestions}
        if decision.action == Action.REJECT:  # it rejects all proposals that are shown
            others = tuple(each for each in shown if each.target not in named)
            decision = replace(decision, suggestions=(*decision.suggestions, *others))
        passed_over = _passed_over(decision, shown)
        label = concept.concept.label
        model = concept.model if is_shown else None
        completed.append(
            replace(decision, passed_over=passed_over, label=label, model=model, curator=curator)
        )
    return _append(connection, completed)


def undo_decisions(
    connection: Connection,
    curator: str,
    number: int | None = None,
    whole_batch: bool = True,
    request_id: str | None = None,
) -> list[LogEntry]:
    """Undo the curator's latest decision, or the decision with this number, or its `whole_batch`.

    Return the undo decisions that were appended; the list is empty if nothing is left to undo.
    """
    curator = _checked_name(curator)
    if repeated := _undone_by(connection, request_id):
        return repeated
    target = _target(connection, curator, number)
    if target is None:
        return []
    targets = [target]
    if whole_batch and target.batch:
        same = not_undone().where(decisions.c.batch == target.batch)
        targets = read_decisions(connection, same.order_by(decisions.c.number.desc()))
    queued = _queued_concepts(connection, targets)
    batch = uuid4().hex if len(targets) > 1 else None
    undos: list[LogEntry] = []
    for each in targets:
        concept = queued[each.concept]
        queued[each.concept] = replace(concept, version=concept.version + 1)
        undos.append(
            LogEntry(
                each.concept,
                Action.UNDO,
                concept.version,
                batch=batch,
                # The first decision of the batch has the id for all of them.
                request_id=None if undos else request_id,
                label=each.label,
                curator=curator,
                model=concept.model,
                undoes=each.number,
            )
        )
    return _append(connection, undos)


def _append(connection: Connection, new: Sequence[LogEntry]) -> list[LogEntry]:
    """Number decisions, insert them into the log, and derive the state of their concepts."""
    first = last_number(connection) + 1
    time = datetime.now(UTC)
    numbered = [replace(each, number=n, time=time) for n, each in enumerate(new, first)]
    for part in chunks(numbered):
        rows = [{name: getattr(each, name) for name in _COLUMNS} for each in part]
        connection.execute(insert(decisions), rows)
    derive_queue(connection, list(dict.fromkeys(each.concept for each in new)))
    return numbered


def _checked_name(curator: str) -> str:
    """Return the curator's name with normalized spaces, or refuse it."""
    name = " ".join(curator.split())
    if not name or len(name) > MAX_NAME:
        raise StoreError(f"the curator's name must have 1 to {MAX_NAME} characters")
    return name


def _problem(decision: LogEntry) -> str | None:
    """Return why a decision is incomplete or contradictory, or None."""
    action = decision.action
    suggestions = decision.suggestions
    parents = [each.parent.id for each in suggestions]
    if any(len(name or "") > MAX_NAME for name in (decision.batch, decision.request_id)):
        return f"a batch and a request id may have at most {MAX_NAME} characters"
    if action == Action.UNDO:
        return "a decision is undone by its number"
    if action in (Action.ACCEPT, Action.REJECT_PROPOSAL) and not parents:
        return f"{action.value} needs at least one parent; choose one"
    if action == Action.ACCEPT and len(parents) > 1 and any(each.is_merge for each in suggestions):
        return "a concept that is merged has no parents; choose either"
    if action == Action.ACCEPT and len(set(parents)) < len(parents):
        return "a parent is chosen twice; remove one"
    if not all(parents):
        return "a parent has no id; choose it again"
    if action == Action.REJECT and decision.reason is None:
        return "a rejection needs a reason; choose one"
    if action == Action.EDIT and (decision.edited is None or not decision.edited.label.strip()):
        return "the label is empty; write one"
    if action == Action.COMMENT and not decision.comment.strip():
        return "the comment is empty; write one"
    return None


def _repeated(connection: Connection, new: Sequence[LogEntry]) -> list[LogEntry]:
    """Return the decisions that are already in the log because a request was repeated."""
    wanted = {(each.request_id, each.concept) for each in new if each.request_id}
    requests = dict.fromkeys(each.request_id for each in new if each.request_id)
    found = (each for request in requests for each in read_requested(connection, request))
    return [each for each in found if (each.request_id, each.concept) in wanted]


def _queued_concepts(connection: Connection, about: Sequence[LogEntry]) -> dict[str, QueuedConcept]:
    """Return the concepts of the decisions by key, or refuse a concept that is not in the queue."""
    keys = list(dict.fromkeys(each.concept for each in about))
    found = read_concepts(connection, keys)
    missing = next((key for key in keys if key not in found), None)
    if missing is not None:
        raise StoreError(f"{missing!r} is not in the queue", fix="add the concept first")
    return found


def _refuse_other_version(
    connection: Connection, decision: LogEntry, concept: QueuedConcept
) -> None:
    """Refuse a decision about an outdated version of a concept."""
    if decision.version == concept.version:
        return
    earlier = decisions_about(connection, [decision.concept]).get(decision.concept)
    if earlier and decision.version < concept.version:
        raise ConflictError(earlier[-1])
    message = f"{concept.concept.label!r}: there is no version {decision.version}"
    raise StoreError(f"{message}, only {concept.version}", fix="look at the concept again")


def _passed_over(decision: LogEntry, shown: Sequence[Suggestion]) -> tuple[Suggestion, ...]:
    """Return the proposals above the accepted ones; all if the curator searched for a parent."""
    is_coarse = any(each.kind == SuggestionKind.COARSE for each in decision.suggestions)
    if decision.action != Action.ACCEPT or is_coarse:  # a finer proposal may still be right
        return ()
    accepted = {each.target for each in decision.suggestions}
    ranks = [each.rank for each in decision.suggestions]
    last = max(ranks) if all(ranks) else None
    above = [each for each in shown if last is None or each.rank < last]
    return tuple(each for each in above if each.target not in accepted)


def _undone_by(connection: Connection, request_id: str | None) -> list[LogEntry]:
    """Return the undo decisions that a repeated request has already made."""
    if not request_id:
        return []
    found = [e for e in read_requested(connection, request_id) if e.action == Action.UNDO]
    if not found or found[0].batch is None:
        return found
    same = select_decisions().where(decisions.c.batch == found[0].batch)
    return read_decisions(connection, same.order_by(decisions.c.number))


def _target(connection: Connection, curator: str, number: int | None) -> LogEntry | None:
    """Return the decision to undo, or None if the curator has nothing left to undo."""
    if number is None:
        own = not_undone().where(decisions.c.curator == curator)
        latest = own.order_by(decisions.c.number.desc()).limit(1)
        return next(iter(read_decisions(connection, latest)), None)
    found = read_decision(connection, number)
    if found is None:
        raise StoreError(f"there is no decision {number}", fix="look at the history again")
    if found.undone or found.action == Action.UNDO:
        state = "has been undone already" if found.undone else "is an undo; decide again instead"
        raise StoreError(f"decision {number} {state}")
    return found
