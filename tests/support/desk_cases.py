"""New concepts, proposals and decisions for the tests of the desk."""

from __future__ import annotations

from typing import Any

from taxoexpan.desk.store.decisions import Action, Decision, QueuedConcept, Reason
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept

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
    return Suggestion(Concept("", ""), 0, Concept(parent.upper(), parent), PATHS[parent], **fields)


def decide(
    concept: QueuedConcept | str, action: Action, *suggestions: Suggestion, **fields: Any
) -> Decision:
    """A decision about a concept as it is now, or about a new one by its key."""
    if isinstance(concept, str):
        return Decision(concept, action, 0, suggestions, **fields)
    return Decision(concept.key, action, concept.version, suggestions, **fields)


def accept(concept: QueuedConcept, *parents: str, batch: str | None = None) -> Decision:
    """Accept parents; by default the first proposal."""
    proposed = {each.parent.label: each for each in concept.proposals}
    chosen = parents or (concept.proposals[0].parent.label,)
    suggestions = [proposed[p] if p in proposed else searched(p) for p in chosen]
    return decide(concept, Action.ACCEPT, *suggestions, batch=batch)


def reject(concept: QueuedConcept, reason: Reason = Reason.WRONG_PARENTS) -> Decision:
    """Reject all proposals."""
    return decide(concept, Action.REJECT, reason=reason)


def reject_proposal(concept: QueuedConcept, parent: str) -> Decision:
    """Reject one proposal."""
    return decide(concept, Action.REJECT_PROPOSAL, searched(parent))


def comment(concept: QueuedConcept, text: str) -> Decision:
    """Leave a remark."""
    return decide(concept, Action.COMMENT, comment=text)
