"""New concepts, proposals and decisions for the tests of the desk, and what becomes of them.

The tests of decisions name no class of the store but these, and read it as plain values.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection

from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind
from taxoexpan.desk.store.database import Database
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import (
    Action,
    ConflictError,
    LogEntry,
    QueuedConcept,
    Reason,
    Status,
    StoreError,
    concept_key,
)
from taxoexpan.desk.store.queue import QueueOrder, QueueQuery
from taxoexpan.taxonomy import Concept
from tests.support.command_line import run

__all__ = [
    "Action",
    "ConflictError",
    "DecisionStore",
    "QueueOrder",
    "QueueQuery",
    "Reason",
    "Status",
    "StoreError",
    "SuggestionKind",
]

NEW = (
    Concept("n1", "Oat Milk", ("oat drink",), "milk made of oats"),
    Concept("n2", "Crème fraîche"),
    Concept("n3", "Rye bread"),
)
PARENTS = {
    "n1": (("milk", 0.9), ("bread", 0.3), ("grain", 0.1)),
    "n2": (("dairy", 0.6), ("milk", 0.5)),
    "n3": (("bread", 0.8), ("grain", 0.2)),
}
PATHS = {
    "milk": ("food", "dairy", "milk"),
    "dairy": ("food", "dairy"),
    "bread": ("food", "bread"),
    "grain": ("food", "grain"),
    "cheese": ("food", "dairy", "cheese"),
}


def proposal(
    query: Concept,
    rank: int,
    parent: str,
    confidence: float | None,
    kind: SuggestionKind = SuggestionKind.ATTACH,
) -> Suggestion:
    """A proposal; the id of a parent is its label in capitals."""
    path = PATHS[parent]
    score = 0.5 if confidence is None else confidence
    return Suggestion(query, rank, Concept(parent.upper(), parent), path, score, confidence, kind)


def first_proposals() -> list[Suggestion]:
    """The proposals of the first model for all new concepts."""
    return [
        proposal(query, rank, parent, confidence)
        for query in NEW
        for rank, (parent, confidence) in enumerate(PARENTS[query.id], start=1)
    ]


def searched(parent: str, **fields: Any) -> Suggestion:
    """A suggestion that a curator has searched for."""
    path = PATHS.get(parent, (parent,))
    return Suggestion(Concept("", ""), 0, Concept(parent.upper(), parent), path, **fields)


def below(parent: Concept) -> Suggestion:
    """A suggestion that a curator has searched for, in any taxonomy."""
    return Suggestion(Concept("", ""), 0, parent)


def queued(store: DecisionStore, label: str) -> QueuedConcept:
    """A concept as a curator sees it now."""
    concept = store.concept(concept_key(label))
    assert concept is not None
    return concept


def decide(
    concept: QueuedConcept | str, action: Action, *suggestions: Suggestion, **fields: Any
) -> LogEntry:
    """A decision about a concept as it is now, or about a new one by its key."""
    if isinstance(concept, str):
        return LogEntry(concept, action, fields.pop("version", 0), suggestions, **fields)
    return LogEntry(concept.key, action, concept.version, suggestions, **fields)


def accept(concept: QueuedConcept, *parents: str, **fields: Any) -> LogEntry:
    """Accept parents; by default the first proposal."""
    proposed = {each.parent.label: each for each in concept.proposals}
    chosen = parents or (concept.proposals[0].parent.label,)
    suggestions = [proposed[p] if p in proposed else searched(p) for p in chosen]
    return decide(concept, Action.ACCEPT, *suggestions, **fields)


def insert(concept: QueuedConcept, parent: str, *moves: str) -> LogEntry:
    """Accept a parent, and move some of its children below the concept."""
    place = searched(parent, kind=SuggestionKind.INSERT, moves=moves)
    return decide(concept, Action.ACCEPT, place)


def merge(concept: QueuedConcept, known: str) -> LogEntry:
    """Make the concept a synonym of an existing one."""
    return decide(concept, Action.ACCEPT, searched(known, kind=SuggestionKind.MERGE))


def reject(
    concept: QueuedConcept, reason: Reason = Reason.WRONG_PARENTS, **fields: Any
) -> LogEntry:
    """Reject all proposals."""
    return decide(concept, Action.REJECT, reason=reason, **fields)


def reject_proposal(concept: QueuedConcept, parent: str) -> LogEntry:
    """Reject one proposal."""
    return decide(concept, Action.REJECT_PROPOSAL, searched(parent))


def defer(concept: QueuedConcept) -> LogEntry:
    """Not sure."""
    return decide(concept, Action.DEFER)


def comment(concept: QueuedConcept, text: str) -> LogEntry:
    """Leave a remark."""
    return decide(concept, Action.COMMENT, comment=text)


class State(NamedTuple):
    """A concept in the queue; parents are labels."""

    status: str
    version: int
    proposed: list[str]
    accepted: list[str]
    comment: str
    curator: str | None


def state(store: DecisionStore, label: str) -> State:
    """What the queue says about a concept."""
    concept = queued(store, label)
    return State(
        concept.status.value,
        concept.version,
        labels_of(concept.proposals),
        labels_of(concept.accepted),
        concept.comment,
        concept.curator,
    )


def labels_of(suggestions: Iterable[Suggestion]) -> list[str]:
    """The labels of the parents."""
    return [each.parent.label for each in suggestions]


def listed(store: DecisionStore, query: QueueQuery | None = None) -> list[str]:
    """The labels of the concepts that match a query, in its order."""
    found = store.queue() if query is None else store.queue(query)
    return [each.concept.label for each in found.concepts]


def counts(store: DecisionStore) -> dict[str, int]:
    """The numbers of concepts by status, without zeros."""
    return {status.value: count for status, count in store.counts().items() if count}


def append(store: DecisionStore, curator: str, *decisions: LogEntry) -> list[int]:
    """Let a curator decide, and return the numbers in the log."""
    return [each.number for each in store.append(decisions, curator)]


def undo(
    store: DecisionStore, curator: str, number: int | None = None, **options: Any
) -> list[int]:
    """Let a curator undo, and return the numbers of the decisions that were taken back."""
    return [each.undoes or 0 for each in store.undo(curator, number, **options)]


class Lesson(NamedTuple):
    """What a training learns about a new concept."""

    query: str
    parent_id: str
    is_merge: bool = False


def lessons(store: DecisionStore) -> tuple[list[Lesson], list[Lesson]]:
    """The right and the wrong places that a training learns from."""
    feedback = store.feedback()
    right, wrong = (
        [Lesson(each.query.label, each.parent.id, each.is_merge) for each in judged]
        for judged in (feedback.accepted, feedback.rejected)
    )
    return right, wrong


def rows(text: str) -> list[dict[str, str]]:
    """The rows of a CSV table."""
    return list(csv.DictReader(io.StringIO(text)))


def exported(url: object) -> list[dict[str, str]]:
    """The table of decisions that the command `export` prints."""
    return rows(run("export", url).out)


def history(url: object) -> list[dict[str, str]]:
    """The history that the command `export` prints, newest first."""
    return rows(run("export", url, "--history").out)


def cells(table: Sequence[dict[str, str]], *columns: str) -> list[tuple[str, ...]]:
    """Some columns of a table."""
    return [tuple(row[column] for column in columns) for row in table]


@contextmanager
def connection(url: str) -> Iterator[Connection]:
    """A transaction of another program that writes to the database of a store."""
    database = Database.connect(url)
    try:
        with database.writing() as opened:
            yield opened
    finally:
        database.close()
