"""Checks of a decision before it is appended."""

from __future__ import annotations

from taxoexpan.desk.store.records import Action, NewDecision
from taxoexpan.desk.store.store_errors import StoreError
from taxoexpan.placement.suggesting.suggestions import SuggestionKind

MAX_NAME = 200
"""Characters of a curator's name, a batch and a request id."""


def check_curator(curator: str) -> str:
    """Return the name of a curator without spaces around it, or refuse it."""
    name = " ".join(curator.split())
    if not name or len(name) > MAX_NAME:
        raise StoreError(f"the curator's name must have 1 to {MAX_NAME} characters")
    return name


def check_decision(decision: NewDecision) -> None:
    """Refuse a decision that is incomplete or contradicts itself."""
    problem = _problem(decision)
    if problem:
        raise StoreError(f"{decision.concept!r}: {problem}")


def _problem(decision: NewDecision) -> str | None:
    action, placements = decision.action, decision.placements
    kinds = [placement.kind for placement in placements]
    if any(len(name or "") > MAX_NAME for name in (decision.batch, decision.request_id)):
        return f"a batch and a request id may have at most {MAX_NAME} characters"
    if action == Action.UNDO:
        return "a decision is undone by its number"
    if action in (Action.ACCEPT, Action.REJECT_PROPOSAL) and not placements:
        return f"{action.value} needs at least one parent; choose one"
    if action == Action.ACCEPT and SuggestionKind.MERGE in kinds and len(kinds) > 1:
        return "a concept that is merged has no parents; choose either"
    if action == Action.ACCEPT and len({each.parent_id for each in placements}) < len(placements):
        return "a parent is chosen twice; remove one"
    if any(not placement.parent_id for placement in placements):
        return "a parent has no id; choose it again"
    if action == Action.REJECT and decision.reason is None:
        return "a rejection needs a reason; choose one"
    if action == Action.COMMENT and not decision.comment.strip():
        return "the comment is empty; write one"
    return None
