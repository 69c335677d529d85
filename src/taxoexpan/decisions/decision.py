"""Decisions: what is done with each new concept, by persons or else by a policy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from taxoexpan.decisions.policies import Exact, Policy, has_no_suitable_parent
from taxoexpan.decisions.suggestion import (
    Decider,
    Suggestion,
    SuggestionKind,
    Verdict,
    rejected_parents,
)
from taxoexpan.taxonomy import Concept, Taxonomy

COARSE = SuggestionKind.COARSE
Rows = Sequence[Suggestion]
"""The suggestions for one concept, in their order in the file."""


class Reason(StrEnum):
    """The reason why a new concept is left for review, or not added."""

    SIMILAR = "similar to an existing concept"
    NO_PARENT = "without a suitable parent"
    NOT_SURE = "not sure enough"
    MERGE = "probably a synonym"
    NO_PLACE = "below a concept that is not added"
    REFUSED = "not possible in this file"


class Refusal(NamedTuple):
    """A message about a decision that cannot be carried out, and the new concept."""

    message: str
    query: Concept | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done with a new concept: one of `Place`, `Merge`, `Reject` and `Leave`."""

    query: Concept
    suggestions: Sequence[Suggestion]
    """The suggestions that were chosen; of a concept that is left, the first one."""
    policy: Policy | None = field(default=None, kw_only=True)
    """The policy that decided; None if a person did."""
    curator: str = field(default="", kw_only=True)
    """The name of the person, if it is known."""


@dataclass(frozen=True, slots=True)
class Place(Decision):
    """Add the concept below the parents of the suggestions."""

    is_moving: bool = False
    """Whether the existing concepts that an insert names move below the new one."""
    finer: Sequence[Suggestion] = ()
    """The other suggested parents, among which a coarse placement is to be refined."""

    @property
    def has_moves(self) -> bool:
        """Whether existing concepts move."""
        return self.is_moving and any(s.moves for s in self.suggestions)


@dataclass(frozen=True, slots=True)
class Merge(Decision):
    """Make the names of the concept synonyms of the suggested one."""


@dataclass(frozen=True, slots=True)
class Reject(Decision):
    """Add the concept nowhere."""


@dataclass(frozen=True, slots=True)
class Leave(Decision):
    """Leave the concept for review."""

    reason: Reason = Reason.NOT_SURE


def decide(taxonomy: Taxonomy, suggestions: Iterable[Suggestion], policy: Policy) -> list[Decision]:
    """Return one decision per new concept: what a person has accepted, or what the policy chooses.

    A concept without a suitable parent, or whose name is similar to an existing one, is left,
    unless a person has decided about it.
    """
    grouped = by_concept(suggestions)
    policy = _fitted(policy, grouped)
    return reachable([_decision(rows, policy, taxonomy) for rows in grouped])


def fitted(policy: Policy, suggestions: Iterable[Suggestion]) -> Policy:
    """Return the policy that can be used for the undecided ones among these suggestions."""
    return _fitted(policy, by_concept(suggestions))


def _fitted(policy: Policy, grouped: Sequence[Rows]) -> Policy:
    considered = [rows for rows in grouped if not (policy.is_asked_for and _is_similar(rows))]
    return policy.fitted([s for rows in considered for s in _choosable(rows, policy)])


def by_concept(suggestions: Iterable[Suggestion]) -> list[Rows]:
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
    # A rejected row without a rank may have been the first.
    is_changed = all(s.rank > 1 for s in rows)
    return [] if is_reviewed or is_changed else ranked([s for s in rows if not s.decision])


def ranked(rows: Rows) -> list[Suggestion]:
    """Return suggestions in the order of their ranks."""
    return sorted(rows, key=lambda s: s.rank)


def _decision(rows: Rows, policy: Policy, taxonomy: Taxonomy) -> Decision:
    """Return the decision about one concept."""
    query = rows[0].query
    if accepted := [s for s in rows if s.is_decided]:
        return accepted_decision(accepted, rows, policy.allow_moves)
    left = ranked([s for s in rows if s.decision != Verdict.REJECTED])
    if not left:
        return Reject(query, rows, curator=_curator(rows))
    if _is_similar(rows):
        return Leave(query, left[:1], Reason.SIMILAR, policy=policy)
    open_rows = _choosable(rows, policy)
    if open_rows and (policy.is_asked_for or not has_no_suitable_parent(open_rows[0])):
        rejected = rejected_parents(s.target for s in rows if s.decision == Verdict.REJECTED)
        return _chosen(policy.choose(open_rows, taxonomy, rejected), rows, policy)
    if not open_rows and (remaining := ranked([s for s in rows if not s.decision])):
        # A person has removed or reviewed the first suggestion.
        first = Exact(confidence=None, top_k=policy.top_k)
        return _chosen(first.choose(remaining, taxonomy, ()), rows, policy, is_by_person=True)
    return _left(rows, policy)


def accepted_decision(accepted: Rows, rows: Rows, allow_moves: bool = False) -> Decision:
    """Return the decision of a person, or of an earlier policy, about one concept."""
    first = ranked(accepted)[0]
    curator = _curator(accepted)
    if first.is_merge:
        return Merge(first.query, [first], curator=curator)
    # A finer suggestion that a person has accepted replaces the coarse one.
    finer = any(s.kind != COARSE for s in accepted)
    parents = [s for s in accepted if not s.is_merge and not (finer and s.kind == COARSE)]
    is_moving = allow_moves or any(s.decided_by == Decider.PERSON for s in parents)
    return Place(first.query, parents, is_moving, _finer(rows), curator=curator)


def _chosen(chosen: Rows, rows: Rows, policy: Policy, is_by_person: bool = False) -> Decision:
    """Return the decision to follow some suggestions, as far as a policy allows it."""
    if not chosen:
        return _left(rows, policy)
    query = rows[0].query
    by = None if is_by_person else policy
    if not chosen[0].is_merge:
        positions = {id(suggestion): position for position, suggestion in enumerate(rows)}
        ordered = sorted(chosen, key=lambda s: positions.get(id(s), len(rows)))
        return Place(query, ordered, policy.allow_moves, _finer(rows), policy=by)
    if policy.allow_merges:
        return Merge(query, chosen, policy=by)
    return Leave(query, chosen, Reason.MERGE, policy=by)


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
    return Leave(first.query, [first], reason, policy=policy)


def _is_similar(rows: Rows) -> bool:
    """Return whether a person has to decide about a concept with a similar name."""
    left = ranked([s for s in rows if s.decision != Verdict.REJECTED])
    return bool(left) and left[0].kind == SuggestionKind.SIMILAR


def _curator(rows: Rows) -> str:
    """Return who has accepted or rejected suggestions, if it is known."""
    return next((s.curator for s in rows if s.curator), "")


def reachable(decisions: Sequence[Decision]) -> list[Decision]:
    """Leave the concepts whose parents are new concepts that are not added."""
    queries = {decision.query.id for decision in decisions}

    def exists(suggestion: Suggestion, placed: Collection[str]) -> bool:
        id = suggestion.parent.id
        return suggestion.is_merge or id in placed or id not in queries

    kept, _ = without_missing(decisions, exists)
    return [
        each if each.suggestions else left_out(whole, whole.suggestions[:1], Reason.NO_PLACE)
        for each, whole in zip(kept, decisions, strict=True)
    ]


def left_out(decision: Decision, suggestions: Rows, reason: Reason) -> Leave:
    """Return what a decision becomes if it cannot be carried out for a reason."""
    by = decision.policy
    return Leave(decision.query, suggestions, reason, policy=by, curator=decision.curator)


def without_missing(
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
    if suggestion.decision or decision.policy is None:
        return suggestion
    if isinstance(decision, Place):
        chosen = any(s is suggestion for s in decision.suggestions)
        return _accepted_by_policy(suggestion) if chosen else suggestion
    if isinstance(decision, Merge) or (
        isinstance(decision, Leave) and decision.reason == Reason.MERGE
    ):
        return suggestion
    return replace(suggestion, decision=Verdict.UNDECIDED)
