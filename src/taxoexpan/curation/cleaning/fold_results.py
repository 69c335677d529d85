"""The result of one fold: scores of its relations, and reasons for the most suspicious ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.arrays import Floats, Indices


@dataclass(frozen=True, eq=False)
class RelationScores:
    """How models score relations, one row per relation; concepts are indices in the taxonomy.

    `ranks` are the ranks of the parents among all anchors, without the concept's other parents.
    `better` are the best anchors that are not ancestors of the concept. Scores are logarithms,
    because the smallest ones matter most. Confidences are NaN where the model has no calibration.
    """

    concepts: Indices
    parents: Indices
    ranks: Indices
    log_scores: Floats
    better: Indices
    better_log_scores: Floats
    confidences: Floats
    better_confidences: Floats

    @property
    def suspicions(self) -> Floats:
        """The logarithm of the better anchor's score over the parent's score."""
        return self.better_log_scores - self.log_scores

    @property
    def order(self) -> Indices:
        """The rows, most suspicious first; ties are in the order of the taxonomy."""
        return np.lexsort((self.parents, self.concepts, -self.suspicions))

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by name."""
        return {column.name: getattr(self, column.name) for column in fields(self)}

    def where(self, selected: NDArray[np.bool_]) -> RelationScores:
        """Only the selected rows."""
        return RelationScores(**{name: col[selected] for name, col in self.columns().items()})

    @classmethod
    def concatenate(cls, parts: Sequence[RelationScores]) -> RelationScores:
        """The rows of all parts, one part after another."""
        columns = [part.columns() for part in parts]
        return cls(
            **{name: np.concatenate([each[name] for each in columns]) for name in columns[0]}
        )


@dataclass(frozen=True, slots=True)
class Reason:
    """Why the parent of a concept is suspicious: its evidence as JSON.

    Concept and parent are indices in the whole taxonomy.
    """

    concept: int
    parent: int
    evidence: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class FoldResult:
    """The scores of a fold's relations, and the reasons for the most suspicious ones."""

    scores: RelationScores
    reasons: tuple[Reason, ...] = ()

    @classmethod
    def concatenate(cls, results: Sequence[FoldResult]) -> FoldResult:
        """Several results as one."""
        scores = RelationScores.concatenate([result.scores for result in results])
        return cls(scores, tuple(reason for result in results for reason in result.reasons))
