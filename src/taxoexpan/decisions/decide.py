"""Deciding: one decision per new concept, by persons or else by a policy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from taxoexpan.decisions.decision import (
    Decision,
    Leave,
    Merge,
    Person,
    Place,
    Reason,
    Refusal,
    Reject,
)
from taxoexpan.decisions.parent_lookup import prepared
from taxoexpan.decisions.policies import Exact, Policy, has_no_suitable_parent
from taxoexpan.decisions.suggestion import Decider, Suggestion, SuggestionKind, Verdict
from taxoexpan.taxonomy import Taxonomy

COARSE = SuggestionKind.COARSE
Rows = Sequence[Suggestion]
"""The suggestions for one concept, in their order in the file."""


def decide(taxonomy: Taxonomy, suggestions: Iterable[Suggestion], policy: Policy) -> list[Decision]:
    """Return one decision per new concept: what a person has accepted, or what the policy chooses.

    A concept without a suitable parent, or whose name is similar to an existing one, is left,
    unless a person has decided about it.
    """
    grouped = _by_concept(suggestions)
    policy = _fitted(policy, grouped)
    return reachable([_decision(rows, policy, taxonomy) for rows in grouped])


def fitted(policy: Policy, suggestions: Iterable[Suggestion]) -> Policy:
    """Return the policy that can be used for the undecided ones among these suggestions."""
    return _fitted(policy, _by_concept(suggestions))


def _fitted(policy: Policy, grouped: Sequence[Rows]) -> Policy:
    considered = [rows for rows in grouped if not (policy.is_asked_for and _is_similar(rows))]
    return policy.fitted([s for rows in considered for s in _choosable(rows, policy)])


def _by_concept(suggestions: Iterable[Suggestion]) -> list[Rows]:
    """Return the suggestions for each concept."""
    concepts: dict[str, list[Suggestion]] = {}
    for suggestion in suggestions:
        concepts.setdefault(suggestion.query.id, []).append(suggestion)
    return list(concepts.values())


def _choosable(rows: Rows, policy: Policy) -> list[Suggestion]:
    """Return the suggestions for a concept that a policy may choose from, best first."""
    if any(s.is_decided for s in rows):
        return []
    if policy.is_asked_for:
        return ranked([s for s in rows if s.decision != Verdict.REJECTED])
    is_reviewed = any(s.curator or s.decision == Verdict.UNDECIDED for s in rows)
    is_changed = all(s.rank != 1 for s in rows)
    return [] if is_reviewed or is_changed else ranked([s for s in rows if not s.decision])


def ranked(rows: Rows) -> list[Suggestion]:
    """Return suggestions in the order of their ranks."""
    return sorted(rows, key=lambda s: s.rank)


def _decision(rows: Rows, policy: Policy, taxonomy: Taxonomy) -> Decision:
    """Return the decision about one concept."""
    query = rows[0].query
    if accepted := [s for s in rows if s.is_decided]:
        return _accepted(accepted, rows, policy)
    left = ranked([s for s in rows if s.decision != Verdict.REJECTED])
    if not left:
        return Reject(query, _person(rows), rows)
    if _is_similar(rows):
        return Leave(query, policy, left[:1], Reason.SIMILAR)
    open_rows = _choosable(rows, policy)
    if open_rows and (policy.is_asked_for or not has_no_suitable_parent(open_rows[0])):
        rejected = {s.parent.id for s in rows if s.decision == Verdict.REJECTED}
        return _chosen(policy.choose(open_rows, taxonomy, rejected), rows, policy, policy)
    if not open_rows and (remaining := ranked([s for s in rows if not s.decision])):
        # A person has removed or reviewed the first suggestion.
        first = Exact(confidence=None, top_k=policy.top_k)
        return _chosen(first.choose(remaining, taxonomy, ()), rows, policy, Person())
    return _left(rows, policy)


def _accepted(accepted: Rows, rows: Rows, policy: Policy) -> Decision:
    """Return the decision of a person, or of an earlier policy, about one concept."""
    first = ranked(accepted)[0]
    by = _person(accepted)
    if first.is_merge:
        return Merge(first.query, by, [first])
    # A finer suggestion that a person has accepted replaces the coarse one.
    finer = any(s.kind != COARSE for s in accepted)
    parents = [s for s in accepted if not s.is_merge and not (finer and s.kind == COARSE)]
    is_moving = policy.allow_moves or any(s.decided_by == Decider.PERSON for s in parents)
    return Place(first.query, by, parents, is_moving, _finer(rows))


def _chosen(chosen: Rows, rows: Rows, policy: Policy, by: Person | Policy) -> Decision:
    """Return the decision to follow some suggestions, as far as a policy allows it."""
    if not chosen:
        return _left(rows, policy)
    query = rows[0].query
    if not chosen[0].is_merge:
        positions = {id(suggestion): position for position, suggestion in enumerate(rows)}
        ordered = sorted(chosen, key=lambda s: positions.get(id(s), len(rows)))
        return Place(query, by, ordered, policy.allow_moves, _finer(rows))
    if policy.allow_merges:
        return Merge(query, by, chosen)
    return Leave(query, by, chosen, Reason.MERGE)


def _finer(rows: Rows) -> list[Suggestion]:
    """Return the ranked parents that nobody has rejected."""
    return [
        s
        for s in rows
        if s.is_ranked and s.decision != Verdict.REJECTED and not s.is_merge and s.kind != COARSE
    ]


def _left(rows: Rows, policy: Policy) -> Leave:
    """Return the decision to leave a concept for review."""
    first = ranked(rows)[0]
    reason = Reason.NO_PARENT if first.place else Reason.NOT_SURE
    return Leave(first.query, policy, [first], reason)


def _is_similar(rows: Rows) -> bool:
    """Return whether a person has to decide about a concept with a similar name."""
    left = ranked([s for s in rows if s.decision != Verdict.REJECTED])
    return bool(left) and left[0].kind == SuggestionKind.SIMILAR


def _person(rows: Rows) -> Person:
    """Return who has accepted or rejected suggestions; the name may not be known."""
    return Person(next((s.curator for s in rows if s.curator), ""))


def reachable(decisions: Sequence[Decision]) -> list[Decision]:
    """Leave the concepts whose parents are new concepts that are not added."""
    queries = {decision.query.id for decision in decisions}

    def exists(suggestion: Suggestion, placed: Collection[str]) -> bool:
        id = suggestion.parent.id
        return suggestion.is_merge or id in placed or id not in queries

    kept, _ = _without_missing(decisions, exists)
    return [
        each
        if each.suggestions
        else Leave(each.query, each.by, whole.suggestions[:1], Reason.NO_PLACE)
        for each, whole in zip(kept, decisions, strict=True)
    ]


def _without_missing(
    decisions: Sequence[Decision], exists: Callable[[Suggestion, Collection[str]], bool]
) -> tuple[list[Decision], list[Suggestion]]:
    """Remove the places and merges that do not exist from decisions; return the removed ones, too.

    `exists` gets the ids of the concepts that are placed. A concept that has lost all its places is
    none of them any more.
    """
    kept = list(decisions)
    missing: list[Suggestion] = []
    before = -1
    while before != len(missing):
        before = len(missing)
        placed = {d.query.id for d in kept if isinstance(d, Place) and d.suggestions}
        for position, decision in enumerate(kept):
            if not isinstance(decision, Place | Merge):
                continue
            gone = [s for s in decision.suggestions if not exists(s, placed)]
            if gone:
                missing += gone
                existing = [s for s in decision.suggestions if exists(s, placed)]
                kept[position] = replace(decision, suggestions=existing)
    return kept, missing


def accepted_decisions(
    taxonomy: Taxonomy, suggestions: Iterable[Suggestion]
) -> tuple[list[Decision], list[Refusal]]:
    """Return what persons have accepted, and refuse parents that do not exist.

    Such a parent is neither in the taxonomy nor an accepted new concept; the model may have learned
    it from a decision that was undone since.
    """
    accepted = prepared(taxonomy, [s for s in suggestions if s.decision == Verdict.ACCEPTED])
    decisions = decide(taxonomy, accepted, Policy())
    return with_existing_parents(taxonomy, decisions)


def with_existing_parents(
    taxonomy: Taxonomy, decisions: Sequence[Decision]
) -> tuple[list[Decision], list[Refusal]]:
    """Refuse the parents of decisions that are neither in the taxonomy nor added."""

    def exists(suggestion: Suggestion, placed: Collection[str]) -> bool:
        return suggestion.parent.id in taxonomy or suggestion.parent.id in placed

    kept, missing = _without_missing(decisions, exists)
    return [each for each in kept if each.suggestions], list(map(_missing, missing))


def _missing(suggestion: Suggestion) -> Refusal:
    """Return the message about a parent that does not exist."""
    how = "merged with" if suggestion.is_merge else "accepted below"
    parent = f"{suggestion.parent.label!r} ({suggestion.parent.id})"
    message = f"{suggestion.query.label!r} is {how} {parent}, which is not in the taxonomy"
    fix = "undo this decision, or accept that one"
    return Refusal(f"{message} and not accepted as a new concept; {fix}", suggestion.query)


def marked(suggestions: Sequence[Suggestion], decisions: Sequence[Decision]) -> list[Suggestion]:
    """Return the suggestions with the verdicts of a policy, and with its coarse placements.

    The suggestions for a probable synonym stay open: the permission to merge decides about them.
    """
    by_query = {decision.query.id: decision for decision in decisions}
    last = {s.query.id: position for position, s in enumerate(suggestions)}
    rows = []
    for position, suggestion in enumerate(suggestions):
        decision = by_query[suggestion.query.id]
        rows.append(_marked(suggestion, decision))
        if last[suggestion.query.id] == position and isinstance(decision, Place):
            coarse = [s for s in decision.suggestions if s.kind == COARSE and not s.is_decided]
            rows += [_accepted_by_policy(s) for s in coarse]
    return rows


def _accepted_by_policy(suggestion: Suggestion) -> Suggestion:
    return replace(suggestion, decision=Verdict.ACCEPTED, decided_by=Decider.POLICY)


def _marked(suggestion: Suggestion, decision: Decision) -> Suggestion:
    if suggestion.decision or isinstance(decision.by, Person):
        return suggestion
    if isinstance(decision, Place):
        chosen = any(s is suggestion for s in decision.suggestions)
        return _accepted_by_policy(suggestion) if chosen else suggestion
    if isinstance(decision, Merge) or (
        isinstance(decision, Leave) and decision.reason == Reason.MERGE
    ):
        return suggestion
    return replace(suggestion, decision=Verdict.UNDECIDED)
