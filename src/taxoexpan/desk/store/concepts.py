"""Adding new concepts and the proposals of a model to the store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.desk.store.decisions import Action, Status, StoreError, concept_key, storable
from taxoexpan.desk.store.log import add_to_queue, derive_queue
from taxoexpan.desk.store.queue import LISTED, UNLISTED
from taxoexpan.desk.store.tables import (
    Transactions,
    chunks,
    concepts,
    decisions,
    proposals,
    queue,
    read_parts,
)
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.name_search import fold_name

OUTDATED = ", for an earlier text"
"""What the model of proposals is called after the concept's names or definition have changed."""


def add_concepts(writing: Transactions, added: Sequence[Concept]) -> None:
    """Append new concepts to the queue, and update the id, names and definition of known ones.

    Others can decide meanwhile. If it is interrupted, the next call adds the rest.
    """
    for part in chunks([_row(key, concept) for key, concept in _with_keys(added)]):
        with writing() as connection:
            _add_rows(connection, {row["key"]: row for row in part})


def _add_rows(connection: Connection, rows: dict[str, dict[str, Any]]) -> None:
    """Add or update some concepts; their rows have no number yet."""
    stored = select(concepts).where(concepts.c.key.in_(rows))
    known = {row.key: row for row in connection.execute(stored)}
    if known:
        same = [{**rows[key], "of": key} for key in known]
        connection.execute(update(concepts).where(concepts.c.key == bindparam("of")), same)
        # Proposals for another text are shown until new ones have been computed.
        changed = [row.number for key, row in known.items() if _differs(row, rows[key])]
        renamed = update(proposals).values(model=proposals.c.model + OUTDATED)
        current = ~proposals.c.model.endswith(OUTDATED)
        connection.execute(renamed.where(proposals.c.concept.in_(changed), current))
    start = (connection.scalar(select(func.max(concepts.c.number))) or 0) + 1
    added = (row for key, row in rows.items() if key not in known)
    new = [{**row, "number": number} for number, row in enumerate(added, start)]
    if new:
        connection.execute(insert(concepts), new)
        add_to_queue(connection, [row["number"] for row in new])


def _row(key: str, concept: Concept) -> dict[str, Any]:
    return {
        "key": key,
        "id": concept.id,
        "label": concept.label,
        "synonyms": concept.synonyms,
        "definition": concept.definition,
        "searched": "\n".join(fold_name(name) for name in (concept.label, *concept.synonyms)),
    }


def _differs(old: Row[Any], row: dict[str, Any]) -> bool:
    """Return whether the names or the definition of a concept have changed."""
    names = tuple(map(storable, (row["label"], *row["synonyms"], row["definition"])))
    return names != (old.label, *old.synonyms, old.definition)


def _with_keys(added: Sequence[Concept]) -> list[tuple[str, Concept]]:
    """Return distinct concepts with keys; keys of later concepts with the same name have the id."""
    ids: dict[str, list[str]] = {}
    keyed = []
    for concept in added:
        key = concept_key(concept.label)
        same = ids.setdefault(key, [])
        if concept.id not in same:
            keyed.append((_key_with_id(concept.label, concept.id) if same else key, concept))
            same.append(concept.id)
    return keyed


def _key_with_id(label: str, id: str) -> str:
    """Return the key of a concept that shares its name with an earlier one."""
    return concept_key(f"{concept_key(label)} {id}")


def accepted_once(reading: Transactions) -> dict[str, Concept]:
    """Return the id and the current label of every concept that was ever accepted, by key."""
    joined = concepts.join(queue, queue.c.concept == concepts.c.number)
    decided = select(decisions.c.concept).where(decisions.c.action == Action.ACCEPT)
    columns = concepts.c.key, concepts.c.id, concepts.c.label, queue.c.edited
    selected = select(*columns).select_from(joined).where(concepts.c.key.in_(decided))
    rows = read_parts(reading, selected, concepts.c.number)
    return {row.key: Concept(row.id, row.edited.label if row.edited else row.label) for row in rows}


def list_mask(reading: Transactions, listed: Sequence[Concept]) -> bytes | None:
    """Return one byte per concept number, 1 if the concept is in the list; None if all are."""
    keys = {concept_key(concept.label) for concept in listed}
    keys |= {_key_with_id(concept.label, concept.id) for concept in listed}
    return key_mask(reading, keys)


def key_mask(reading: Transactions, keys: Collection[str]) -> bytes | None:
    """Return one byte per concept number, 1 if its key is given; None if all keys are given."""
    selected = select(concepts.c.number, concepts.c.key)
    rows = list(read_parts(reading, selected, concepts.c.number))
    mask = bytearray(max((row.number for row in rows), default=0))
    for row in rows:
        mask[row.number - 1 : row.number] = LISTED if row.key in keys else UNLISTED
    return bytes(mask) if UNLISTED in mask else None


def set_proposals(connection: Connection, model: str, suggestions: Sequence[Suggestion]) -> None:
    """Replace the proposals for the queries of these suggestions, which must be in the queue."""
    numbers, proposed = _by_key(connection, suggestions)
    for keys in chunks(list(proposed)):
        old = proposals.c.concept.in_([numbers[key] for key in keys])
        connection.execute(delete(proposals).where(old))
        rows = [
            {
                "concept": numbers[key],
                "model": model,
                "suggestions": sorted(proposed[key], key=lambda each: each.rank),
            }
            for key in keys
        ]
        connection.execute(insert(proposals), rows)
        derive_queue(connection, keys)


def _by_key(
    connection: Connection, suggestions: Sequence[Suggestion]
) -> tuple[dict[str, int], dict[str, list[Suggestion]]]:
    """Return the numbers of the concepts, and their proposals, both by key."""
    queries = {(suggestion.query.label, suggestion.query.id) for suggestion in suggestions}
    keys = {query: (_key_with_id(*query), concept_key(query[0])) for query in queries}
    numbers: dict[str, int] = {}
    for part in chunks([key for both in keys.values() for key in both]):
        found = select(concepts.c.key, concepts.c.number).where(concepts.c.key.in_(part))
        numbers |= {row.key: row.number for row in connection.execute(found)}
    proposed: dict[str, list[Suggestion]] = {}
    for suggestion in suggestions:
        label = suggestion.query.label
        key = next((key for key in keys[label, suggestion.query.id] if key in numbers), None)
        if key is None:
            raise StoreError(f"{label!r} is not in the queue", fix="add the concept first")
        proposed.setdefault(key, []).append(suggestion)
    return numbers, proposed


def lacking_proposals(
    reading: Transactions, model: str, listed: Sequence[Concept]
) -> list[Concept]:
    """Return the listed concepts that are not accepted and have no proposals of this model."""
    joined = queue.join(concepts).outerjoin(proposals, proposals.c.concept == concepts.c.number)
    conditions = (queue.c.status != Status.ACCEPTED, proposals.c.model.is_distinct_from(model))
    statement = select(concepts.c.key).select_from(joined).where(*conditions)
    with reading() as connection:
        keys = set(connection.scalars(statement))
    return [concept for key, concept in _with_keys(listed) if key in keys]
