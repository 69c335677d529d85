"""How much of the removed subtrees a placement has restored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taxoexpan.taxonomy import Additions, Taxonomy


@dataclass(frozen=True)
class Recovery:
    """Counts of restored relations and ancestors, summed over some batches.

    Relations are pairs (found, true), from an existing concept and from another new one;
    `ancestors` are (found, true, predicted) over all concepts of the batches.
    """

    from_old: tuple[int, int]
    from_new: tuple[int, int]
    ancestors: tuple[int, int, int]

    @property
    def fractions(self) -> tuple[float, float, float]:
        """The fraction of true relations that was found: of all, from old ones, from new ones."""
        both = self.from_old[0] + self.from_new[0], self.from_old[1] + self.from_new[1]
        return _fraction(*both), _fraction(*self.from_old), _fraction(*self.from_new)

    @property
    def ancestor_f1(self) -> float:
        """The harmonic mean of the ancestors' precision and recall."""
        found, true, predicted = self.ancestors
        return _fraction(2 * found, true + predicted)


def recovery_of(
    taxonomy: Taxonomy, truth: Sequence[Additions], placed: Sequence[Additions]
) -> Recovery:
    """Compare batches as they were placed with the truth; each is added to the taxonomy."""
    from_old, from_new = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    ancestors = np.zeros(3, dtype=np.int64)
    for true, found in zip(truth, placed, strict=True):
        relations = set(found.relations)
        for relation in true.relations:
            into = from_old if relation[0] in taxonomy else from_new
            into += (relation in relations, 1)
        original, expanded = taxonomy.expanded(true), taxonomy.expanded(found)
        for concept in true.concepts:
            right = set(original.ancestors(concept.id))
            predicted = set(expanded.ancestors(concept.id))
            ancestors += (len(right & predicted), len(right), len(predicted))
    old, new, above = from_old.tolist(), from_new.tolist(), ancestors.tolist()
    return Recovery((old[0], old[1]), (new[0], new[1]), (above[0], above[1], above[2]))


def _fraction(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
