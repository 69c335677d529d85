"""Decisions in other forms: as suggestions for `apply`, and as feedback for training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Row

from taxoexpan.desk.store.concept_state import derive_state
from taxoexpan.desk.store.decision_log import logged_decision, select_logged
from taxoexpan.desk.store.proposal import pair
from taxoexpan.desk.store.records import Action, LoggedDecision, Placement, Reason, Status
from taxoexpan.desk.store.tables import concepts, decisions
from taxoexpan.placement.suggesting.feedback import Feedback
from taxoexpan.placement.suggesting.suggestions import Suggestion, Verdict
from taxoexpan.taxonomy import Concept


def decided_suggestions(connection: Connection) -> list[Suggestion]:
    """Return the accepted placements and the rejected proposals, in the order of the queue.

    A parent that the curator searched for has the rank 0. Of several concepts with one id, only
    the first keeps it: ids were proposed for each list of new concepts anew.
    """
    suggestions = []
    owners: dict[str, str] = {}
    for key, concept, logged in _decided_concepts(connection):
        if owners.setdefault(concept.id, key) != key:
            concept = Concept("", concept.label, concept.synonyms, concept.definition)
        state = derive_state(logged)
        right = state.placements
        suggestions += [_suggestion(concept, each, Verdict.ACCEPTED) for each in right]
        wrong = {pair(each): each for each in _rejected(logged, any_reason=True)}
        for placement in right:
            wrong.pop(pair(placement), None)
        suggestions += [_suggestion(concept, each, Verdict.REJECTED) for each in wrong.values()]
    return suggestions


def read_feedback(connection: Connection) -> Feedback:
    """Return the decisions that are not undone as accepted and rejected placements."""
    accepted: list[Suggestion] = []
    rejected: list[Suggestion] = []
    for _, concept, logged in _decided_concepts(connection):
        state = derive_state(logged)
        if state.status == Status.ACCEPTED:
            accepted += [_suggestion(concept, each, Verdict.ACCEPTED) for each in state.placements]
        right = set(map(pair, state.placements))
        wrong = {pair(each): each for each in (*_rejected(logged), *_passed_over(logged))}
        rejected += [
            _suggestion(concept, each, Verdict.REJECTED)
            for key, each in wrong.items()
            if key not in right
        ]
    return Feedback(accepted, rejected)


def _decided_concepts(
    connection: Connection,
) -> Iterator[tuple[str, Concept, list[LoggedDecision]]]:
    """Yield every concept with decisions: its key, the concept, and all its decisions."""
    names = concepts.c.id.label("concept_id"), concepts.c.synonyms, concepts.c.definition
    statement = (
        select_logged()
        .add_columns(*names, concepts.c.label.label("concept_label"))
        .join(concepts, concepts.c.key == decisions.c.concept)
        .order_by(concepts.c.number, decisions.c.number)
    )
    for key, rows in groupby(connection.execute(statement), key=lambda row: row.concept):
        own = list(rows)
        yield key, _concept(own[0]), [logged_decision(row) for row in own]


def _concept(row: Row[Any]) -> Concept:
    return Concept(row.concept_id, row.concept_label, row.synonyms, row.definition)


def _rejected(logged: Iterable[LoggedDecision], any_reason: bool = False) -> list[Placement]:
    """Return the placements that were rejected as wrong, or for any reason, and not undone."""
    return [
        placement
        for each in logged
        if not each.undone
        if each.decision.action == Action.REJECT_PROPOSAL
        or each.decision.reason == Reason.WRONG_PARENTS
        or (any_reason and each.decision.action == Action.REJECT)
        for placement in each.decision.placements
    ]


def _passed_over(logged: Iterable[LoggedDecision]) -> list[Placement]:
    """Return the placements above the last accepted one."""
    effective = [each for each in logged if not each.undone]
    accepts = [each for each in effective if each.decision.action == Action.ACCEPT]
    return list(accepts[-1].passed_over) if accepts else []


def _suggestion(concept: Concept, placement: Placement, decision: Verdict) -> Suggestion:
    return Suggestion(
        query=concept,
        rank=placement.rank,
        parent=Concept(placement.parent_id, placement.parent_label),
        path=placement.path,
        score=1.0 if placement.score is None else placement.score,
        confidence=placement.confidence,
        kind=placement.kind,
        moves=placement.moves,
        decision=decision,
    )
