"""The state of a concept as it follows from its decisions and its proposals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from taxoexpan.desk.store.proposal import Pair, Proposal, pair
from taxoexpan.desk.store.records import Action, LoggedDecision, Placement, Reason, Status


@dataclass(frozen=True, slots=True)
class ConceptState:
    """Where a concept stands after its decisions."""

    status: Status = Status.TODO
    version: int = 0
    turn: int = 0
    """The number of the decision that deferred it, or 0."""
    reason: Reason | None = None
    rejected: frozenset[Pair] = frozenset()
    placements: tuple[Placement, ...] = ()
    comment: str = ""
    curator: str | None = None

    def shown(self, proposals: Iterable[Proposal]) -> list[Proposal]:
        """Return the proposals that were not rejected before, by whatever model they are made."""
        return [each for each in proposals if pair(each.placement) not in self.rejected]

    def status_with(self, shown: Sequence[Proposal]) -> Status:
        """Return the status, given the proposals that are shown.

        A concept whose parents were all wrong is to do again when there is another proposal.
        """
        if self.reason == Reason.WRONG_PARENTS and shown:
            return Status.TODO
        return self.status


def derive_state(decisions: Iterable[LoggedDecision]) -> ConceptState:
    """Derive the state of a concept from all its decisions, in the order of the log."""
    state = ConceptState()
    for logged in decisions:
        state = replace(state, version=logged.decision.version + 1)
        if not logged.undone and logged.decision.action != Action.UNDO:
            state = _after(state, logged)
    return state


def _after(state: ConceptState, logged: LoggedDecision) -> ConceptState:
    """Return the state after one more decision."""
    decision = logged.decision
    state = replace(state, comment=decision.comment or state.comment)
    if decision.action == Action.COMMENT:
        return state
    state = replace(state, curator=logged.curator)
    pairs = frozenset(map(pair, decision.placements))
    if decision.action == Action.REJECT_PROPOSAL:
        return replace(state, rejected=state.rejected | pairs)
    decided = replace(state, turn=0, reason=None, placements=())
    if decision.action == Action.ACCEPT:
        kept = state.rejected - pairs
        accepted = decision.placements
        return replace(decided, status=Status.ACCEPTED, placements=accepted, rejected=kept)
    if decision.action == Action.DEFER:
        return replace(decided, status=Status.DEFERRED, turn=logged.number)
    if decision.reason == Reason.WRONG_PARENTS:
        decided = replace(decided, rejected=state.rejected | pairs)
    return replace(decided, status=Status.REJECTED, reason=decision.reason)
