"""Adding new concepts and the proposals of a model to the store."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from taxoexpan.desk.store.concept_state import derive_state
from taxoexpan.desk.store.decision_log import chunks, decisions_about
from taxoexpan.desk.store.queue_derivation import derive_queue, empty_row
from taxoexpan.desk.store.records import concept_key
from taxoexpan.desk.store.store_errors import StoreError
from taxoexpan.desk.store.tables import concepts, proposals, queue
from taxoexpan.placement.suggestions import Suggestion
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.names import normalize_name


def add_new(connection: Connection, added: Sequence[Concept]) -> None:
    """Add concepts at the end; known ones get the id, names and definition of the new list."""
    rows = {key: _row(key, concept) for key, concept in _with_keys(added)}
    known = set(connection.scalars(select(concepts.c.key)))
    changed = [{**row, "of": key} for key, row in rows.items() if key in known]
    for part in chunks(changed):
        connection.execute(update(concepts).where(concepts.c.key == bindparam("of")), part)
    start = (connection.scalar(select(func.max(concepts.c.position))) or 0) + 1
    new = [row for key, row in rows.items() if key not in known]
    for offset, row in enumerate(new):
        row["position"] = start + offset
    for part in chunks(new):
        connection.execute(insert(concepts), part)
        connection.execute(insert(queue), [empty_row(r["key"], r["position"]) for r in part])


def _with_keys(added: Sequence[Concept]) -> list[tuple[str, Concept]]:
    """Return each concept with its key; of several with one name, later ones have their id in it.

    A concept that is listed twice is listed once.
    """
    ids: dict[str, list[str]] = {}
    keyed = []
    for concept in added:
        key = concept_key(concept.label)
        same = ids.setdefault(key, [])
        if concept.id not in same:
            keyed.append((concept_key(f"{key} {concept.id}") if same else key, concept))
            same.append(concept.id)
    return keyed


def _row(key: str, concept: Concept) -> dict[str, Any]:
    return {
        "key": key,
        "id": concept.id,
        "label": concept.label,
        "synonyms": concept.synonyms,
        "definition": concept.definition,
        "searched": "\n".join(fold(name) for name in (concept.label, *concept.synonyms)),
    }


def fold(name: str) -> str:
    """Return a name for searching: without case, accents and hyphens."""
    decomposed = unicodedata.normalize("NFKD", normalize_name(name))
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def replace_proposals(
    connection: Connection, model: str, suggestions: Sequence[Suggestion]
) -> None:
    """Replace the proposals for the concepts that these are about, and derive their state."""
    proposed = _by_key(connection, suggestions)
    for keys in chunks(list(proposed)):
        connection.execute(delete(proposals).where(proposals.c.concept.in_(keys)))
        decided = decisions_about(connection, keys)
        rows = []
        for key in keys:
            state = derive_state(decided.get(key, ()))
            ranked = sorted(proposed[key], key=lambda suggestion: suggestion.rank)
            rows += [
                _proposal_row(key, position, model, each, state.is_rejected(each))
                for position, each in enumerate(ranked)
            ]
        connection.execute(insert(proposals), rows)
        derive_queue(connection, keys)


def _by_key(
    connection: Connection, suggestions: Sequence[Suggestion]
) -> dict[str, list[Suggestion]]:
    """Group suggestions by the key of their query, which must have been added before."""
    rows = connection.execute(select(concepts.c.id, concepts.c.label, concepts.c.key)).all()
    by_id = {(row.id, row.label): row.key for row in rows}
    known = {row.key for row in rows}
    proposed: dict[str, list[Suggestion]] = {}
    for suggestion in suggestions:
        query = suggestion.query
        key = by_id.get((query.id, query.label)) or concept_key(query.label)
        if key not in known:
            raise StoreError(f"{query.label!r} is not in the queue; add the concept first")
        proposed.setdefault(key, []).append(suggestion)
    return proposed


def _proposal_row(
    key: str, position: int, model: str, suggestion: Suggestion, rejected: bool
) -> dict[str, Any]:
    return {
        "concept": key,
        "position": position,
        "model": model,
        "rank": suggestion.rank,
        "parent_id": suggestion.parent.id,
        "parent_label": suggestion.parent.label,
        "path": suggestion.path,
        "score": float(suggestion.score),
        "confidence": None if suggestion.confidence is None else float(suggestion.confidence),
        "kind": suggestion.kind.value,
        "place": suggestion.place.value,
        "moves": suggestion.moves,
        "why": suggestion.why,
        "rejected": rejected,
    }
