"""Questions to the queue of new concepts, and one page of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from taxoexpan.desk.store.records import Placement, QueuedConcept, Status
from taxoexpan.placement.suggesting.suggestions import Place


class QueueOrder(StrEnum):
    """The order of the queue; deferred concepts always come last, in the order of deferral."""

    CONFIDENCE = "confidence"
    """The most confident first proposal comes first."""
    PARENT = "parent"
    """Concepts with the same first proposal are next to each other, along the taxonomy."""
    LISTED = "listed"
    """The order in which the concepts were added."""


@dataclass(frozen=True, slots=True)
class QueueQuery:
    """Which concepts of the queue to return, and in which order.

    Confidence means that of a concept's first proposal, or its score if there is no confidence.
    Concepts without a proposal have none, and are returned only without these limits.
    """

    statuses: Sequence[Status] = ()
    """Only concepts with one of these statuses; all if empty."""
    text: str = ""
    """Words or parts of words, all of which must be in a concept's label and synonyms."""
    min_confidence: float | None = None
    max_confidence: float | None = None
    """The confidence must be below this limit."""
    branch: Sequence[str] = ()
    """Labels from a root down to a concept; the first proposal must be at or below it."""
    parent_id: str | None = None
    """The first proposal must be this parent."""
    listed: bytes | None = None
    """Only the concepts of a list, as `DecisionStore.listed` returns it; all if None."""
    order: QueueOrder = QueueOrder.CONFIDENCE
    offset: int = 0
    limit: int | None = 50


@dataclass(frozen=True, slots=True)
class FirstProposal:
    """A concept of the queue with its first proposal only, to go through the whole queue."""

    key: str
    label: str
    version: int
    placement: Placement
    place: Place

    @property
    def confidence_or_score(self) -> float:
        """The confidence, or the score if there is no confidence."""
        confidence = self.placement.confidence
        return (self.placement.score or 0.0) if confidence is None else confidence


@dataclass(frozen=True, slots=True)
class QueuePage:
    """Some of the concepts that match a query, and the number of all of them."""

    concepts: tuple[QueuedConcept, ...]
    total: int
