"""Suspicious relations, most suspicious first, as objects and as CSV."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from taxoexpan.curation.cleaning.folds import RelationScores
from taxoexpan.explain import Evidence, describe_move
from taxoexpan.formats.tables.formulas import protect_cells
from taxoexpan.formats.tables.table import csv_text
from taxoexpan.taxonomy import Concept, Taxonomy

COLUMNS = (
    "concept", "concept_id", "parent_id", "parent_label", "path", "rank", "share",
    "better_id", "better_label", "better_path", "better_share", "suspicion",
    "confidence", "parent_confidence", "why",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SuspiciousRelation:
    """A relation of the taxonomy, scored by a model that was not trained on it.

    `rank` is the rank of the parent among all anchors, and `score` its softmax probability.
    `better` is the best anchor that is not an ancestor of the concept; `confidence` is its
    confidence. The first suggestion of the `evidence` is the better parent, and its runner-up is
    the parent.
    """

    concept: Concept
    parent: Concept
    path: tuple[str, ...]
    rank: int
    score: float
    better: Concept
    better_path: tuple[str, ...]
    better_score: float
    suspicion: float
    confidence: float | None = None
    parent_confidence: float | None = None
    evidence: Evidence | None = None

    @property
    def why(self) -> str:
        """The evidence in words."""
        return "" if self.evidence is None else describe_move(self.evidence)

    def as_dict(self) -> dict[str, str | int | float | None]:
        """Return the relation as a row of `COLUMNS`."""
        return {
            "concept": self.concept.label,
            "concept_id": self.concept.id,
            "parent_id": self.parent.id,
            "parent_label": self.parent.label,
            "path": " > ".join(self.path),
            "rank": self.rank,
            "share": _six_digits(self.score),
            "better_id": self.better.id,
            "better_label": self.better.label,
            "better_path": " > ".join(self.better_path),
            "better_share": _six_digits(self.better_score),
            "suspicion": _six_digits(self.suspicion),
            "confidence": _rounded(self.confidence),
            "parent_confidence": _rounded(self.parent_confidence),
            "why": self.why,
        }

    def as_json(self) -> dict[str, Any]:
        """Return the row together with the evidence, for JSON."""
        evidence = None if self.evidence is None else self.evidence.to_dict()
        return {**self.as_dict(), "evidence": evidence}


def suspicious_relations(taxonomy: Taxonomy, scores: RelationScores) -> list[SuspiciousRelation]:
    """Return all scored relations, most suspicious first; ties are in taxonomy order."""
    order = scores.order
    columns = {name: column[order] for name, column in scores.columns().items()}
    for name in ("log_scores", "better_log_scores"):
        columns[name] = np.exp(columns[name])
    reasons = {pair: Evidence.from_dict(reason) for pair, reason in scores.reasons.items()}
    return [
        SuspiciousRelation(
            concept=taxonomy.concept_at(concept),
            parent=taxonomy.concept_at(parent),
            path=taxonomy.path(taxonomy.ids[parent]),
            rank=rank,
            score=score,
            better=taxonomy.concept_at(better),
            better_path=taxonomy.path(taxonomy.ids[better]),
            better_score=better_score,
            suspicion=suspicion,
            confidence=None if math.isnan(better_confidence) else better_confidence,
            parent_confidence=None if math.isnan(confidence) else confidence,
            evidence=reasons.get((concept, parent)),
        )
        for (
            concept, parent, rank, score, better, better_score, confidence, better_confidence,
            suspicion,
        ) in zip(
            *(column.tolist() for column in columns.values()),
            scores.suspicions[order].tolist(),
            strict=True,
        )
    ]  # fmt: skip


def suspicious_relations_csv(
    relations: Iterable[SuspiciousRelation], keep_formulas: bool = False
) -> str:
    """Return the relations as a CSV table; formulas are escaped unless `keep_formulas` is set."""
    rows = (protect_cells(relation.as_dict(), keep_formulas) for relation in relations)
    return csv_text(COLUMNS, rows)


def _six_digits(number: float) -> float:
    return float(f"{number:.6g}")


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 4)
