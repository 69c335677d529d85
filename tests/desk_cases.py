"""New concepts, proposals and decisions for the tests of the desk."""

from __future__ import annotations

from taxoexpan.desk.store.records import Action, NewDecision, Placement, QueuedConcept, Reason
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept

MILK = Concept("m", "milk")
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


def placement(parent: str, rank: int = 0, confidence: float | None = None) -> Placement:
    """A placement below a parent."""
    return Placement(parent.upper(), parent, PATHS[parent], rank=rank, confidence=confidence)


def accept(concept: QueuedConcept, *parents: str, batch: str | None = None) -> NewDecision:
    """Accept parents; by default the first proposal."""
    ranks = {each.parent.label: each for each in concept.proposals}
    chosen = parents or (concept.proposals[0].parent.label,)
    placements = tuple(
        placement(p, ranks[p].rank, ranks[p].confidence) if p in ranks else placement(p)
        for p in chosen
    )
    return NewDecision(concept.key, Action.ACCEPT, concept.version, placements, batch=batch)


def reject(concept: QueuedConcept, reason: Reason = Reason.WRONG_PARENTS) -> NewDecision:
    """Reject all proposals."""
    return NewDecision(concept.key, Action.REJECT, concept.version, reason=reason)


def reject_proposal(concept: QueuedConcept, parent: str) -> NewDecision:
    """Reject one proposal."""
    return NewDecision(concept.key, Action.REJECT_PROPOSAL, concept.version, (placement(parent),))


def defer(concept: QueuedConcept) -> NewDecision:
    """Decide later."""
    return NewDecision(concept.key, Action.DEFER, concept.version)


def comment(concept: QueuedConcept, text: str) -> NewDecision:
    """Leave a remark."""
    return NewDecision(concept.key, Action.COMMENT, concept.version, comment=text)
