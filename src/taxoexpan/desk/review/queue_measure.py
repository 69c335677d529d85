"""The number that the queue is sorted by: the confidence, or the score where there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from taxoexpan.desk.store.queue_query import QueueOrder
from taxoexpan.desk.store.records import QueuedConcept

_ABOUT_SCORES = "which orders parents, but is not the probability that they are right."


@dataclass(frozen=True, slots=True)
class QueueMeasure:
    """The name of the number, and a note for the curator if some proposals have only a score."""

    name: str = "confidence"
    note: str = ""

    @classmethod
    def of(cls, concepts: Iterable[QueuedConcept]) -> QueueMeasure:
        """Return what the proposals of these concepts have."""
        proposals = [each for concept in concepts for each in concept.proposals]
        scored = sum(each.confidence is None for each in proposals)
        if not scored:
            return cls()
        if scored < len(proposals):
            who, whose = "Some proposals have", "their"
        else:
            who, whose = "The model has", "the"
        note = f"{who} no confidence, so the queue uses {whose} score, {_ABOUT_SCORES}"
        return cls("confidence" if scored < len(proposals) else "score", note)

    @property
    def orders(self) -> tuple[tuple[QueueOrder, str], ...]:
        """All orders of the queue with their names."""
        return (
            (QueueOrder.CONFIDENCE, f"by {self.name}"),
            (QueueOrder.PARENT, "grouped by parent"),
            (QueueOrder.LISTED, "as listed"),
        )
