"""What accepting many concepts at once would do: how many, and how many errors to expect."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from taxoexpan.desk.store.queue_query import FirstProposal
from taxoexpan.desk.store.records import Action, NewDecision, Placement
from taxoexpan.placement.suggesting.suggestions import Place, SuggestionKind

LOW_CONFIDENCE = 0.5
"""Below this confidence a proposal is more likely wrong than right."""
THRESHOLDS = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
MAX_EXAMPLES = 15


@dataclass(frozen=True, slots=True)
class ThresholdStep:
    """A threshold, the number of concepts at or above it, and the expected errors in them."""

    threshold: float
    count: int
    expected_errors: float | None
    url: str


@dataclass(frozen=True, slots=True)
class BulkPreview:
    """The concepts that would be accepted, with the figures that a curator needs to decide.

    Likely duplicates (`merges`) are never accepted in bulk. Concepts without a suitable parent
    (`unsuitable`) only `with_unsuitable`.
    """

    threshold: float
    measure: str
    """The name of the numbers that the threshold is compared with: confidence or score."""
    accepted: tuple[FirstProposal, ...]
    total: int
    merges: int
    unsuitable: int
    with_unsuitable: bool
    steps: tuple[ThresholdStep, ...]

    @property
    def count(self) -> int:
        """The number of concepts that would be accepted."""
        return len(self.accepted)

    @property
    def expected_errors(self) -> float | None:
        """The sum of 1 - confidence; None if a confidence is unknown."""
        return expected_errors(self.accepted)

    @property
    def has_confidence(self) -> bool:
        """Whether the confidence of all of them is known."""
        return _have_confidence(self.accepted)

    @property
    def low_count(self) -> int:
        """The number of concepts whose proposal is more likely wrong than right."""
        return sum(each.confidence_or_score < LOW_CONFIDENCE for each in self.accepted)

    @property
    def lowest(self) -> float | None:
        """The lowest confidence or score."""
        return min((each.confidence_or_score for each in self.accepted), default=None)

    @property
    def needs_confirmation(self) -> bool:
        """Whether a curator has to confirm that low or unknown confidence is accepted."""
        return bool(
            self.low_count
            or not self.has_confidence
            or any(_is_unsuitable(each) for each in self.accepted)
        )

    @property
    def examples(self) -> list[FirstProposal]:
        """The least confident of them, the lowest confidence first."""
        ordered = sorted(self.accepted, key=lambda each: each.confidence_or_score)
        return ordered[:MAX_EXAMPLES]

    @property
    def digest(self) -> str:
        """A digest of what would be accepted; it changes with every concept, version or parent."""
        rows = [f"{c.key}\0{c.version}\0{c.placement.parent_id}" for c in self.accepted]
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:32]

    def decisions(self, batch: str) -> list[NewDecision]:
        """Return the decisions: every concept below its first proposal; nothing is moved."""
        return [
            NewDecision(
                each.key, Action.ACCEPT, each.version, (_attached(each.placement),), batch=batch
            )
            for each in self.accepted
        ]


def preview_bulk(
    concepts: Sequence[FirstProposal],
    threshold: float,
    total: int,
    with_unsuitable: bool,
    parameters: Iterable[tuple[str, str]] = (),
) -> BulkPreview:
    """Divide concepts, which are some of a total, into those that would be accepted, and others."""
    parents = [each for each in concepts if each.placement.kind != SuggestionKind.MERGE]
    suitable = [each for each in parents if with_unsuitable or not _is_unsuitable(each)]
    steps = []
    for step in THRESHOLDS:
        reached = _reaching(suitable, step)
        query = urlencode([*parameters, ("min", step)])
        steps.append(ThresholdStep(step, len(reached), expected_errors(reached), f"/bulk?{query}"))
    accepted = _reaching(suitable, threshold)
    return BulkPreview(
        threshold=threshold,
        measure="confidence" if _have_confidence(accepted or concepts) else "score",
        accepted=tuple(accepted),
        total=total,
        merges=len(_reaching(concepts, threshold)) - len(_reaching(parents, threshold)),
        unsuitable=len(_reaching([c for c in parents if _is_unsuitable(c)], threshold)),
        with_unsuitable=with_unsuitable,
        steps=tuple(steps),
    )


def expected_errors(concepts: Iterable[FirstProposal]) -> float | None:
    """Return the expected number of wrong first proposals; None if a confidence is unknown."""
    known = [each.placement.confidence for each in concepts]
    return None if None in known else sum(1 - each for each in known if each is not None)


def _reaching(concepts: Sequence[FirstProposal], threshold: float) -> list[FirstProposal]:
    return [each for each in concepts if each.confidence_or_score >= threshold]


def _have_confidence(concepts: Iterable[FirstProposal]) -> bool:
    return all(each.placement.confidence is not None for each in concepts)


def _is_unsuitable(concept: FirstProposal) -> bool:
    return concept.place == Place.NONE


def _attached(placement: Placement) -> Placement:
    return replace(placement, kind=SuggestionKind.ATTACH, moves=())
