"""Relations that look wrong, as objects and as CSV, the most doubtful first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from taxoexpan.cleaning.judging import Floats, Judgements
from taxoexpan.formats.tabular import csv_of
from taxoexpan.taxonomy import Concept, Taxonomy

COLUMNS = (
    "concept", "concept_id", "parent_id", "parent_label", "path", "rank", "share",
    "better_id", "better_label", "better_path", "better_share", "suspicion",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Doubt:
    """A relation of the taxonomy as a model sees it that has not learned it.

    `rank` is that of the parent among all places, `share` its part of the belief in all of them;
    `better` is the best place that is not above the concept now. Both paths end with the place.
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

    def as_dict(self) -> dict[str, str | int | float]:
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
        }


def suspicions(judgements: Judgements) -> Floats:
    """How much more a model believes in another place than in the parent: a log-ratio."""
    return judgements.other_shares - judgements.shares


def doubts_of(taxonomy: Taxonomy, judgements: Judgements, top: int | None = None) -> list[Doubt]:
    """The most doubtful relations, or all of them; those alike in the order of the taxonomy."""
    suspicion = suspicions(judgements)
    order = np.lexsort((judgements.parents, judgements.concepts, -suspicion))[:top]
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
        )
        for concept, parent, rank, share, better, better_share, doubt in zip(
            judgements.concepts[order].tolist(),
            judgements.parents[order].tolist(),
            judgements.ranks[order].tolist(),
            np.exp(judgements.shares[order]).tolist(),
            judgements.others[order].tolist(),
            np.exp(judgements.other_shares[order]).tolist(),
            suspicion[order].tolist(),
            strict=True,
        )
    ]


def doubts_csv(doubts: Iterable[Doubt]) -> str:
    """The doubts as a table."""
    return csv_of(COLUMNS, (doubt.as_dict() for doubt in doubts))


def _short(number: float) -> float:
    return float(f"{number:.6g}")
