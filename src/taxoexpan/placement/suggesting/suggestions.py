"""Suggestions: what is proposed for a query, and what was decided about it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from taxoexpan.taxonomy import Concept

COLUMNS = (
    "query",
    "query_id",
    "rank",
    "parent_id",
    "parent_label",
    "path",
    "score",
    "confidence",
    "decision",
    "kind",
    "place",
    "moves",
    "why",
)


class SuggestionKind(StrEnum):
    """What a suggestion proposes for its query."""

    ATTACH = "attach"
    """Add the query below the parent."""
    ALSO = "also"
    """Add the query below the parent, in addition to its first parent."""
    INSERT = "insert"
    """Add the query below the parent, and move some of the parent's children below the query."""
    MERGE = "merge"
    """Make the query a synonym of the suggested concept."""


class Place(StrEnum):
    """Whether the query has a suitable parent; all have one where that could not be learned."""

    POSSIBLE = ""
    NONE = "none"


class Decision(StrEnum):
    """What was decided about a suggestion, by `expand` or by a person."""

    OPEN = ""
    """No decision: the rank and the thresholds count."""
    ACCEPTED = "accepted"
    """Applied, whatever its rank and the thresholds."""
    UNDECIDED = "undecided"
    """Left for review; applied only if a threshold is given that it reaches."""
    REJECTED = "rejected"
    """Never applied."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One possible parent of a query, or an existing concept that it may be a synonym of.

    `score` is the softmax probability over all anchors. `confidence` is the probability that the
    parent is right, if that could be learned. `place` says whether the query has a suitable parent
    at all, and `moves` which children of the parent might belong below the query.
    """

    query: Concept
    rank: int
    parent: Concept
    path: tuple[str, ...]
    score: float
    confidence: float | None = None
    kind: SuggestionKind = SuggestionKind.ATTACH
    place: Place = Place.POSSIBLE
    moves: tuple[str, ...] = ()
    why: str = ""
    decision: Decision = Decision.OPEN

    @property
    def is_decided(self) -> bool:
        """Whether it is to be applied in any case: it is accepted, or a person's own (no rank)."""
        if self.decision in (Decision.ACCEPTED, Decision.REJECTED):
            return self.decision == Decision.ACCEPTED
        return not self.rank

    @property
    def confidence_or_score(self) -> float:
        """The confidence, or the score if there is no confidence."""
        return self.score if self.confidence is None else self.confidence

    @property
    def measure(self) -> str:
        """The name of `confidence_or_score`."""
        return "score" if self.confidence is None else "confidence"

    def as_dict(self) -> dict[str, str | int | float | None]:
        """Return the suggestion as a row of `COLUMNS`."""
        return {
            "query": self.query.label,
            "query_id": self.query.id,
            "rank": self.rank,
            "parent_id": self.parent.id,
            "parent_label": self.parent.label,
            "path": " > ".join(self.path),
            "score": float(f"{self.score:.6g}"),
            "confidence": None if self.confidence is None else round(self.confidence, 4),
            "decision": self.decision.value,
            "kind": self.kind.value,
            "place": self.place.value,
            "moves": join_texts(self.moves),
            "why": self.why,
        }


def join_texts(texts: Sequence[str]) -> str:
    """Join ids or names with |, or as JSON if that would be ambiguous."""
    if any("|" in text or text.startswith("[") or text != text.strip() for text in texts):
        return json.dumps(texts, ensure_ascii=False)
    return "|".join(texts)


def grouped_by_position(
    suggestions: Iterable[Suggestion], concepts: Sequence[Concept]
) -> list[list[Suggestion]]:
    """Return the suggestions of each concept; the id of a query is the concept's position."""
    groups: list[list[Suggestion]] = [[] for _ in concepts]
    for suggestion in suggestions:
        index = int(suggestion.query.id)
        groups[index].append(replace(suggestion, query=concepts[index]))
    return groups
