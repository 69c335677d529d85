"""Deriving the queue from the log and the proposals."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from taxoexpan.desk.store.concept_state import ConceptState, derive_state
from taxoexpan.desk.store.decision_log import chunks, decisions_about
from taxoexpan.desk.store.tables import concepts, proposals, queue
from taxoexpan.placement.suggestions import Place, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept

SEPARATOR = "\x1f"
"""Stands between the labels of a path, and after the last one."""
_MAX_ORDER = 200


def derive_queue(connection: Connection, keys: Sequence[str]) -> None:
    """Write the state of these concepts as it follows from their decisions and proposals."""
    for part in chunks(keys):
        decided = decisions_about(connection, part)
        proposed = proposals_of(connection, part)
        states, flags = [], []
        for key in part:
            state = derive_state(decided.get(key, ()))
            own = proposed.get(key, [])
            states.append(_queue_row(key, state, [s for s in own if not state.is_rejected(s)]))
            if key in decided:
                flags += [
                    {"of": key, "at": position, "rejected": state.is_rejected(proposal)}
                    for position, proposal in enumerate(own)
                ]
        connection.execute(update(queue).where(queue.c.concept == bindparam("of")), states)
        if flags:
            matching = (
                proposals.c.concept == bindparam("of"),
                proposals.c.position == bindparam("at"),
            )
            connection.execute(update(proposals).where(*matching), flags)


def derive_whole_queue(connection: Connection) -> None:
    """Fill the queue anew."""
    connection.execute(delete(queue))
    rows = connection.execute(select(concepts.c.key, concepts.c.position)).all()
    for part in chunks(rows):
        connection.execute(insert(queue), [empty_row(row.key, row.position) for row in part])
    derive_queue(connection, [row.key for row in rows])


def proposals_of(
    connection: Connection, keys: Sequence[str], shown_only: bool = False
) -> dict[str, list[Suggestion]]:
    """Return the proposals for some concepts, best first; `shown_only` omits rejected ones."""
    found: dict[str, list[Suggestion]] = {}
    for part in chunks(keys):
        statement = (
            select(proposals, concepts.c.id, concepts.c.label, concepts.c.synonyms)
            .add_columns(concepts.c.definition)
            .join(concepts)
            .where(proposals.c.concept.in_(part))
            .order_by(proposals.c.concept, proposals.c.position)
        )
        if shown_only:
            statement = statement.where(~proposals.c.rejected)
        for row in connection.execute(statement):
            found.setdefault(row.concept, []).append(_suggestion(row))
    return found


def empty_row(key: str, position: int) -> dict[str, Any]:
    """Return the row of a concept without decisions and proposals."""
    row = _queue_row(key, ConceptState(), [])
    del row["of"]
    return {**row, "concept": key, "position": position}


def _queue_row(key: str, state: ConceptState, shown: Sequence[Suggestion]) -> dict[str, Any]:
    first = shown[0] if shown else None
    status = state.status_with(shown)
    return {
        "of": key,
        "status": status.value,
        "version": state.version,
        "turn": state.turn,
        "confidence": first.confidence_or_score if first else -1.0,
        "parent_id": first.parent.id if first else None,
        "branch": path_text(first.path) if first else "",
        "parent_order": _parent_order(first) if first else "\N{REPLACEMENT CHARACTER}",
        "placements": state.placements,
        "comment": state.comment,
        "curator": state.curator,
    }


def path_text(path: Iterable[str]) -> str:
    """Join the labels of a path so that a branch is a prefix of all paths in it."""
    return "".join(f"{label}{SEPARATOR}" for label in path)


def _parent_order(proposal: Suggestion) -> str:
    """Return a short text that sorts along the tree, and is unique to the parent."""
    digest = hashlib.sha256(proposal.parent.id.encode(errors="replace")).hexdigest()[:16]
    return f"{path_text(proposal.path)[:_MAX_ORDER]}{digest}"


def _suggestion(row: Row[Any]) -> Suggestion:
    return Suggestion(
        query=Concept(row.id, row.label, row.synonyms, row.definition),
        rank=row.rank,
        parent=Concept(row.parent_id, row.parent_label),
        path=row.path,
        score=row.score,
        confidence=row.confidence,
        kind=SuggestionKind(row.kind),
        place=Place(row.place),
        moves=row.moves,
        why=row.why,
    )
