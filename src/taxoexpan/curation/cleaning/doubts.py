"""Relations that look wrong, as objects and as CSV, the most doubtful first."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from taxoexpan.curation.cleaning.reasons import Fold
from taxoexpan.explain import Evidence, describe_move
from taxoexpan.formats.tables.table_file import csv_of
from taxoexpan.taxonomy import Concept, Taxonomy

COLUMNS = (
    "concept", "concept_id", "parent_id", "parent_label", "path", "rank", "share",
    "better_id", "better_label", "better_path", "better_share", "suspicion",
    "confidence", "parent_confidence", "why",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Doubt:
    """A relation of the taxonomy as a model sees it that has not learned it.

    `rank` is that of the parent among all places, `share` its part of the belief in all of them;
    `better` is the best place that is not above the concept now. Both paths end with the place.
    `confidence` is the probability that the model gives to the better place, `parent_confidence`
    that of the parent, where it could be learned. The `evidence` has the better place as the first
    suggestion and the parent as the runner-up, and is there for the most doubtful relations.
    """

    concept: Concept
    parent: Concept
    path: tuple[str, ...]
    rank: int
    share: float
    better: Concept
    better_path: tuple[str, ...]
    better_share: float
    suspicion: float
    confidence: float | None = None
    parent_confidence: float | None = None
    evidence: Evidence | None = None

    @property
    def why(self) -> str:
        """The evidence in words."""
        return "" if self.evidence is None else describe_move(self.evidence)

    def as_dict(self) -> dict[str, str | int | float | None]:
        """The doubt as a row of `COLUMNS`."""
        return {
            "concept": self.concept.label,
            "concept_id": self.concept.id,
            "parent_id": self.parent.id,
            "parent_label": self.parent.label,
            "path": " > ".join(self.path),
            "rank": self.rank,
            "share": _short(self.share),
            "better_id": self.better.id,
            "better_label": self.better.label,
            "better_path": " > ".join(self.better_path),
            "better_share": _short(self.better_share),
            "suspicion": _short(self.suspicion),
            "confidence": _rounded(self.confidence),
            "parent_confidence": _rounded(self.parent_confidence),
            "why": self.why,
        }

    def as_json(self) -> dict[str, Any]:
        """The row with the evidence in figures."""
        evidence = None if self.evidence is None else self.evidence.to_dict()
        return {**self.as_dict(), "evidence": evidence}


def doubts_of(taxonomy: Taxonomy, fold: Fold, top: int | None = None) -> list[Doubt]:
    """The most doubtful relations, or all of them; those alike in the order of the taxonomy."""
    judgements = fold.judgements
    order = judgements.order[:top]
    reasons = {
        (each.concept, each.parent): Evidence.from_dict(each.evidence) for each in fold.reasons
    }
    return [
        Doubt(
            concept=taxonomy.concept_at(concept),
            parent=taxonomy.concept_at(parent),
            path=taxonomy.path(taxonomy.ids[parent]),
            rank=rank,
            share=share,
            better=taxonomy.concept_at(better),
            better_path=taxonomy.path(taxonomy.ids[better]),
            better_share=better_share,
            suspicion=doubt,
            confidence=_known(sure),
            parent_confidence=_known(parent_sure),
            evidence=reasons.get((concept, parent)),
        )
        for concept, parent, rank, share, better, better_share, doubt, sure, parent_sure in zip(
            judgements.concepts[order].tolist(),
            judgements.parents[order].tolist(),
            judgements.ranks[order].tolist(),
            np.exp(judgements.shares[order]).tolist(),
            judgements.others[order].tolist(),
            np.exp(judgements.other_shares[order]).tolist(),
            judgements.suspicions[order].tolist(),
            judgements.other_confidences[order].tolist(),
            judgements.confidences[order].tolist(),
            strict=True,
        )
    ]


def doubts_csv(doubts: Iterable[Doubt]) -> str:
    """The doubts as a table."""
    return csv_of(COLUMNS, (doubt.as_dict() for doubt in doubts))


def _short(number: float) -> float:
    return float(f"{number:.6g}")


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 4)
