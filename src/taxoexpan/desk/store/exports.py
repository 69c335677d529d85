"""Decisions for other programs: rows for `apply`, and feedback for training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sqlalchemy import select

from taxoexpan.decisions.feedback import Feedback
from taxoexpan.decisions.suggestion import Decider, Suggestion, SuggestionKind, Verdict
from taxoexpan.desk.store.decisions import Action, LogEntry, Reason, pair
from taxoexpan.desk.store.history import read_log
from taxoexpan.desk.store.queue import ConceptState
from taxoexpan.desk.store.tables import Transactions, concepts, read_parts
from taxoexpan.taxonomy import Concept


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
        accepts = [each for each in log if each.action == Action.ACCEPT and not each.undone]
        curator = accepts[-1].curator if accepts else ""
        right = [replace(each, curator=curator) for each in ConceptState.after(log).accepted]
        wrong = _rejected(log, any_reason=True)
        suggestions += _judged(concept, right, wrong)
    return suggestions


def read_feedback(reading: Transactions) -> Feedback:
    """Return the decisions that are not undone, as feedback for training."""
    judged: list[Suggestion] = []
    for _, concept, log in _decided_concepts(reading):
        accepted = ConceptState.after(log).accepted
        right = [each for each in accepted if each.kind != SuggestionKind.COARSE]
        accepts = [each for each in log if each.action == Action.ACCEPT and not each.undone]
        passed_over = accepts[-1].passed_over if accepts else ()
        judged += _judged(concept, right, [*_rejected(log), *passed_over])
    return Feedback(
        [each for each in judged if each.decision == Verdict.ACCEPTED],
        [each for each in judged if each.decision == Verdict.REJECTED],
    )


def _decided_concepts(reading: Transactions) -> Iterator[tuple[str, Concept, list[LogEntry]]]:
    """Yield the key, the concept and all decisions of every concept with decisions."""
    logs: dict[str, list[LogEntry]] = {}
    for each in read_log(reading):
        logs.setdefault(each.concept, []).append(each)
    for row in read_parts(reading, select(concepts), concepts.c.number):
        if row.key in logs:
            edited = ConceptState.after(logs[row.key]).edited
            concept = edited or Concept(row.id, row.label, row.synonyms, row.definition)
            yield row.key, concept, logs[row.key]


def _rejected(log: Iterable[LogEntry], any_reason: bool = False) -> list[Suggestion]:
    """Return the suggestions rejected as wrong, or for any reason, except undone rejections."""
    return [
        replace(suggestion, curator=each.curator)
        for each in log
        if not each.undone
        if each.action == Action.REJECT_PROPOSAL
        or each.reason == Reason.WRONG_PARENTS
        or (any_reason and each.action == Action.REJECT)
        for suggestion in each.suggestions
    ]


def _judged(
    query: Concept, right: Sequence[Suggestion], wrong: Iterable[Suggestion]
) -> list[Suggestion]:
    """Return suggestions for a query with their verdicts, without repeated rejections."""

    def decided(each: Suggestion, verdict: Verdict) -> Suggestion:
        return replace(each, query=query, decision=verdict, decided_by=Decider.PERSON)

    accepted = set(map(pair, right))
    rejected = {pair(each): each for each in wrong if pair(each) not in accepted}
    return [
        *(decided(each, Verdict.ACCEPTED) for each in right),
        *(decided(each, Verdict.REJECTED) for each in rejected.values()),
    ]
