"""A proposal of a model as it is stored: a placement, and what the model says about it."""

from __future__ import annotations

from dataclasses import dataclass

from taxoexpan.desk.store.records import Placement
from taxoexpan.placement.suggesting.suggestions import Place, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept

Pair = tuple[str, bool]
"""What is rejected with a proposal: the parent's id, and whether it is a merge with it."""


def pair(placement: Placement) -> Pair:
    """Return what is rejected with a placement."""
    return placement.parent_id, placement.kind == SuggestionKind.MERGE


@dataclass(frozen=True, slots=True)
class Proposal:
    """A suggestion without its query."""

    placement: Placement
    place: Place = Place.POSSIBLE
    why: str = ""

    @classmethod
    def of(cls, suggestion: Suggestion) -> Proposal:
        """Return the proposal that a suggestion makes."""
        return cls(placement_of(suggestion), suggestion.place, suggestion.why)

    def suggestion(self, query: Concept) -> Suggestion:
        """Return the proposal as a suggestion for its query."""
        placement = self.placement
        return Suggestion(
            query=query,
            rank=placement.rank,
            parent=Concept(placement.parent_id, placement.parent_label),
            path=placement.path,
            score=placement.score or 0.0,
            confidence=placement.confidence,
            kind=placement.kind,
            place=self.place,
            moves=placement.moves,
            why=self.why,
        )


def placement_of(suggestion: Suggestion) -> Placement:
    """Return the placement that a suggestion proposes."""
    confidence = suggestion.confidence
    return Placement(
        parent_id=suggestion.parent.id,
        parent_label=suggestion.parent.label,
        path=suggestion.path,
        kind=suggestion.kind,
        moves=suggestion.moves,
        rank=suggestion.rank,
        confidence=None if confidence is None else float(confidence),
        score=float(suggestion.score),
    )
