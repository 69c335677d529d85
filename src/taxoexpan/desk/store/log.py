"""The log of decisions: reading it, and the queue, exports and feedback that follow from it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, func, insert, select, update

from taxoexpan.decisions.feedback import Feedback
from taxoexpan.decisions.suggestion import Decider, Suggestion, SuggestionKind, Target, Verdict
from taxoexpan.desk.store.decisions import Action, LogEntry, Status, short_key
from taxoexpan.desk.store.queue import path_text
from taxoexpan.desk.store.tables import (
    Transactions,
    chunks,
    concepts,
    decisions,
    proposals,
    queue,
    read_parts,
)
from taxoexpan.formats.tables.formulas import protect_cells
from taxoexpan.formats.tables.table import csv_text
from taxoexpan.taxonomy import Concept

STATUS_AFTER = {
    Action.ACCEPT: Status.ACCEPTED,
    Action.REJECT: Status.REJECTED,
    Action.DEFER: Status.DEFERRED,
}
"""The decisions that say what is done with the whole concept; the last one counts."""
MAX_ORDER = 200
"""The characters of a path that count for the order of the queue."""
LAST = "\N{REPLACEMENT CHARACTER}"
"""Sorts concepts without a proposal after all others."""
_undo = decisions.alias("undo")
_last = select(decisions).order_by(decisions.c.number.desc()).limit(1)
_numbered = select(decisions).where(decisions.c.number == bindparam("wanted"))
_columns = [column.label(column.key) for column in decisions.c]


def select_decisions() -> Select[Any]:
    """Select decisions of the log, with a column that marks the undone ones."""
    joined = decisions.outerjoin(_undo, _undo.c.undoes == decisions.c.number)
    return select(*_columns, _undo.c.number.is_not(None).label("undone")).select_from(joined)


def not_undone() -> Select[Any]:
    """Select decisions that can be undone."""
    return select_decisions().where(decisions.c.action != Action.UNDO, _undo.c.number.is_(None))


def read_decisions(connection: Connection, selected: Select[Any]) -> list[LogEntry]:
    """Return the selected decisions."""
    return [LogEntry(**row._mapping) for row in connection.execute(selected)]


def read_history(
    connection: Connection, offset: int = 0, limit: int = 50, concept: str | None = None
) -> list[LogEntry]:
    """Return decisions, newest first, optionally only about the concept with a key."""
    selected = select_decisions().order_by(decisions.c.number.desc()).offset(offset).limit(limit)
    if concept is not None:
        selected = selected.where(decisions.c.concept == concept)
    return read_decisions(connection, selected)


def read_log(reading: Transactions) -> list[LogEntry]:
    """Return all decisions in their order, as of the beginning of the reading."""
    rows = list(read_parts(reading, select(*_columns), decisions.c.number))
    undone = {row.undoes for row in rows}
    return [LogEntry(**row._mapping, undone=row.number in undone) for row in rows]


def last_number(connection: Connection) -> int:
    """Return the number of the last decision in the log, or 0."""
    return connection.scalar(select(func.max(decisions.c.number))) or 0


def last_entry(connection: Connection) -> tuple[Any, ...] | None:
    """Return the last row of the log, or None."""
    row = connection.execute(_last).first()
    return row and tuple(row)


def has_entry(connection: Connection, entry: tuple[Any, ...]) -> bool:
    """Return whether a row is in the log, and unchanged."""
    row = connection.execute(_numbered, {"wanted": entry[0]}).first()
    return row is not None and tuple(row) == entry


def read_decision(connection: Connection, number: int) -> LogEntry | None:
    """Return the decision with this number, or None."""
    found = read_decisions(connection, select_decisions().where(decisions.c.number == number))
    return found[0] if found else None


def read_requested(connection: Connection, request_id: str) -> list[LogEntry]:
    """Return the decisions of a request, in their order; an empty list if the request is new."""
    selected = select_decisions().where(decisions.c.request_id == request_id)
    return read_decisions(connection, selected.order_by(decisions.c.number))


def recent_decisions(
    connection: Connection, curator: str, period: timedelta
) -> tuple[int, datetime | None]:
    """Count a curator's single decisions within a period, and return the time of the first."""
    time = decisions.c.time
    own = (
        decisions.c.curator == curator,
        time >= datetime.now(UTC) - period,
        decisions.c.batch.is_(None),
    )
    decided = decisions.c.action.in_([Action.ACCEPT, Action.REJECT, Action.DEFER])
    row = connection.execute(
        select(func.count(), func.min(time, type_=time.type)).where(*own, decided)
    ).one()
    return row[0], row[1]


def decisions_about(connection: Connection, about: Sequence[str]) -> dict[str, list[LogEntry]]:
    """Return all decisions about some concepts by key, in the order of the log."""
    found: dict[str, list[LogEntry]] = {}
    for keys in chunks(about):
        selected = select_decisions().where(decisions.c.concept.in_(keys))
        for each in read_decisions(connection, selected.order_by(decisions.c.number)):
            found.setdefault(each.concept, []).append(each)
    return found


def counted(log: Iterable[LogEntry]) -> list[LogEntry]:
    """Return the decisions of a log that count: they are not undone."""
    return [each for each in log if not each.undone and each.action != Action.UNDO]


def last_verdict(log: Iterable[LogEntry]) -> LogEntry | None:
    """Return the decision about a whole concept that holds, given those that count."""
    return next((each for each in reversed([*log]) if each.action in STATUS_AFTER), None)


def edited_concept(log: Iterable[LogEntry]) -> Concept | None:
    """Return a concept as it was edited last, given the decisions about it that count."""
    return next((each.edited for each in reversed([*log]) if each.edited), None)


def rejected_targets(log: Iterable[LogEntry]) -> frozenset[Target]:
    """Return the parents and merges that are rejected as wrong, and not accepted later."""
    rejected: frozenset[Target] = frozenset()
    for each in log:
        targets = {suggestion.target for suggestion in each.suggestions}
        if each.action == Action.ACCEPT:
            rejected -= targets
        elif each.action == Action.REJECT_PROPOSAL or each.finds_all_wrong:
            rejected |= targets
    return rejected


def queue_row(log: Sequence[LogEntry], proposed: Iterable[Suggestion] = ()) -> dict[str, Any]:
    """Return the columns of the queue for a concept, given all decisions and proposals."""
    decided = counted(log)
    verdict = last_verdict(decided)
    rejected = rejected_targets(decided)
    first = next((each for each in proposed if each.target not in rejected), None)
    status = STATUS_AFTER[verdict.action] if verdict else Status.TODO
    if first and verdict and verdict.finds_all_wrong:
        status = Status.TODO  # there is another proposal
    path = path_text(first.path) if first else ""
    id = first.parent.id if first else ""
    digest = hashlib.sha256(id.encode(errors="replace")).hexdigest()[:16]
    curators = [e.curator for e in decided if e.action not in (Action.COMMENT, Action.EDIT)]
    return {
        "status": status,
        "version": log[-1].version + 1 if log else 0,
        "turn": verdict.number if verdict and verdict.action == Action.DEFER else 0,
        "is_merge": first is not None and first.is_merge,
        "confidence": first.confidence_or_score if first else -1.0,
        "parent_key": short_key(id) if first else None,
        "branch": path,
        "parent_order": f"{path[:MAX_ORDER]}{digest}" if first else LAST,
        "rejected": rejected,
        "accepted": verdict.suggestions if verdict and verdict.action == Action.ACCEPT else (),
        "comment": next((each.comment for each in reversed(decided) if each.comment), ""),
        "curator": curators[-1] if curators else None,
        "edited": edited_concept(decided),
    }


def derive_queue(connection: Connection, keys: Sequence[str]) -> None:
    """Write the state of these concepts, derived from their decisions and proposals."""
    for part in chunks(keys):
        decided = decisions_about(connection, part)
        columns = concepts.c.key, concepts.c.number, proposals.c.suggestions
        joined = select(*columns).select_from(concepts.outerjoin(proposals))
        rows = []
        for found in connection.execute(joined.where(concepts.c.key.in_(part))):
            row = queue_row(decided.get(found.key, ()), found.suggestions or ())
            rows.append({"of": found.number, **row})
        connection.execute(update(queue).where(queue.c.concept == bindparam("of")), rows)


def derive_whole_queue(connection: Connection) -> None:
    """Derive the state of all concepts again from the log and the proposals."""
    connection.execute(delete(queue))
    rows = connection.execute(select(concepts.c.key, concepts.c.number)).all()
    add_to_queue(connection, [row.number for row in rows])
    derive_queue(connection, [row.key for row in rows])


def add_to_queue(connection: Connection, numbers: Sequence[int]) -> None:
    """Add concepts without decisions and proposals, by number."""
    for part in chunks(numbers):
        rows = [{"concept": number, **queue_row(())} for number in part]
        connection.execute(insert(queue), rows)


def history_csv(history: Iterable[LogEntry]) -> str:
    """Return a CSV table with one row per decision; several parents are separated by `|`."""
    rows = [protect_cells(row) for row in history_rows(history)]
    columns = list(_history_row(LogEntry("", Action.COMMENT, 0)))
    return csv_text(columns, rows)


def history_rows(history: Iterable[LogEntry]) -> list[dict[str, object]]:
    """Return the cells of every decision by column."""
    return [_history_row(each) for each in history]


def _history_row(decision: LogEntry) -> dict[str, object]:
    suggestions = decision.suggestions

    def joined(texts: Iterable[object]) -> str:
        return "|".join(map(str, texts))

    return {
        "number": decision.number,
        "time": decision.time.isoformat(timespec="seconds"),
        "curator": decision.curator,
        "action": decision.action.value,
        "query": decision.label,
        "parent_id": joined(each.parent.id for each in suggestions),
        "parent_label": joined(each.parent.label for each in suggestions),
        "kind": joined(each.kind for each in suggestions),
        "moves": joined(id for each in suggestions for id in each.moves),
        "rank": joined(each.rank or "" for each in suggestions),
        "confidence": joined(
            "" if each.confidence is None else f"{each.confidence:.4g}" for each in suggestions
        ),
        "reason": decision.reason or "",
        "comment": decision.comment,
        "edited": decision.edited.label if decision.edited else "",
        "model": decision.model or "",
        "batch": decision.batch or "",
        "undoes": decision.undoes or "",
        "undone": "yes" if decision.undone else "",
    }


def decided_suggestions(reading: Transactions) -> list[Suggestion]:
    """Return the accepted and rejected suggestions, in the order of the queue.

    A parent that the curator searched for has the rank 0. If several concepts have the same id,
    only the first keeps it, because each list of new concepts gets its ids independently.
    """
    suggestions: list[Suggestion] = []
    owners: dict[str, str] = {}
    for key, concept, log in _decided_concepts(reading):
        if owners.setdefault(concept.id, key) != key:
            concept = replace(concept, id="")
        rejecting = (Action.REJECT, Action.REJECT_PROPOSAL)
        wrong = _suggestions(each for each in log if each.action in rejecting)
        suggestions += _judged(concept, _suggestions(_accepting(log)), wrong)
    return suggestions


def read_feedback(reading: Transactions) -> Feedback:
    """Return the decisions that are not undone, as feedback for training."""
    judged: list[Suggestion] = []
    for _, concept, log in _decided_concepts(reading):
        accepted = [each for entry in _accepting(log) for each in entry.suggestions]
        right = [each for each in accepted if each.kind != SuggestionKind.COARSE]
        rejecting = (e for e in log if e.action == Action.REJECT_PROPOSAL or e.finds_all_wrong)
        wrong = _suggestions(rejecting)
        accepts = [each for each in log if each.action == Action.ACCEPT]
        wrong += accepts[-1].passed_over if accepts else ()
        judged += _judged(concept, right, wrong)
    return Feedback(
        [each for each in judged if each.decision == Verdict.ACCEPTED],
        [each for each in judged if each.decision == Verdict.REJECTED],
    )


def _decided_concepts(reading: Transactions) -> Iterator[tuple[str, Concept, list[LogEntry]]]:
    """Yield every concept with decisions: its key, the concept, and the decisions that count."""
    logs: dict[str, list[LogEntry]] = {}
    for each in read_log(reading):
        logs.setdefault(each.concept, []).append(each)
    for row in read_parts(reading, select(concepts), concepts.c.number):
        if row.key in logs:
            log = counted(logs[row.key])
            listed = Concept(row.id, row.label, row.synonyms, row.definition)
            yield row.key, edited_concept(log) or listed, log


def _accepting(log: Sequence[LogEntry]) -> list[LogEntry]:
    """Return the decision that holds, if it accepts something."""
    verdict = last_verdict(log)
    return [verdict] if verdict and verdict.action == Action.ACCEPT else []


def _suggestions(log: Iterable[LogEntry]) -> list[Suggestion]:
    """Return the suggestions that decisions are about, with who decided."""
    return [
        replace(suggestion, curator=each.curator) for each in log for suggestion in each.suggestions
    ]


def _judged(
    query: Concept, right: Sequence[Suggestion], wrong: Iterable[Suggestion]
) -> list[Suggestion]:
    """Return suggestions for a query with their verdicts, without repeated rejections."""

    def decided(each: Suggestion, verdict: Verdict) -> Suggestion:
        return replace(each, query=query, decision=verdict, decided_by=Decider.PERSON)

    accepted = {each.target for each in right}
    rejected = {each.target: each for each in wrong if each.target not in accepted}
    return [
        *(decided(each, Verdict.ACCEPTED) for each in right),
        *(decided(each, Verdict.REJECTED) for each in rejected.values()),
    ]
