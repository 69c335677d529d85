"""Deriving the queue from the log and the proposals."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from taxoexpan.desk.store.concept_state import ConceptState, derive_state
from taxoexpan.desk.store.decision_log import chunks, decisions_about
from taxoexpan.desk.store.proposal import Proposal
from taxoexpan.desk.store.records import short_key
from taxoexpan.desk.store.tables import concepts, proposals, queue

SEPARATOR = "\x1f"
"""Follows every label of a path."""
_MAX_ORDER = 200
_LAST = "\N{REPLACEMENT CHARACTER}"


def derive_queue(connection: Connection, keys: Sequence[str]) -> None:
    """Write the state of these concepts as it follows from their decisions and proposals."""
    for part in chunks(keys):
        decided = decisions_about(connection, part)
        joined = concepts.outerjoin(proposals)
        columns = concepts.c.key, concepts.c.number, proposals.c.suggestions
        found = select(*columns).select_from(joined).where(concepts.c.key.in_(part))
        rows = [
            {"of": row.number, **_derived(derive_state(decided.get(row.key, ())), row.suggestions)}
            for row in connection.execute(found)
        ]
        connection.execute(update(queue).where(queue.c.concept == bindparam("of")), rows)


def derive_whole_queue(connection: Connection) -> None:
    """Fill the queue anew."""
    connection.execute(delete(queue))
    rows = connection.execute(select(concepts.c.key, concepts.c.number)).all()
    for part in chunks(rows):
        connection.execute(insert(queue), [empty_row(row.number) for row in part])
    derive_queue(connection, [row.key for row in rows])


def empty_row(number: int) -> dict[str, Any]:
    """Return the row of a concept without decisions and proposals."""
    return {"concept": number, **_derived(ConceptState(), ())}


def _derived(state: ConceptState, proposed: Iterable[Proposal] | None) -> dict[str, Any]:
    """Return the derived columns."""
    shown = state.shown(proposed or ())
    first = shown[0].placement if shown else None
    confidence = (first.score if first.confidence is None else first.confidence) if first else -1.0
    path = path_text(first.path) if first else ""
    digest = hashlib.sha256(first.parent_id.encode(errors="replace")).hexdigest() if first else ""
    return {
        "status": state.status_with(shown).value,
        "version": state.version,
        "turn": state.turn,
        "confidence": confidence,
        "parent_key": short_key(first.parent_id) if first else None,
        "branch": path,
        "parent_order": f"{path[:_MAX_ORDER]}{digest[:16]}" if first else _LAST,
        "rejected": state.rejected,
        "placements": state.placements,
        "comment": state.comment,
        "curator": state.curator,
    }


def path_text(path: Iterable[str]) -> str:
    """Join the labels of a path so that the text of a branch starts those of all paths in it."""
    return "".join(f"{label}{SEPARATOR}" for label in path)
