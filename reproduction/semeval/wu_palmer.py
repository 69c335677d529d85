"""The similarity of Wu and Palmer, with which SemEval-2016 Task 14 scores a placement.

This is the variant by paths: 2 d / (l + m + 2 d), where d is the depth of a common ancestor, and l
and m are the lengths of the shortest paths from the two concepts up to it. The common ancestor with
the largest value counts, so that a concept has similarity 1 with itself. A root has depth 1, and
the depth of a concept is that of its shortest path from a root. Several roots get a common parent.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices


class WuPalmer:
    """The similarity of any two concepts of a taxonomy, by their indices."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.parents_of = taxonomy.parents_of
        self.is_root = taxonomy.parents_of.degrees == 0
        has_several_roots = int(self.is_root.sum()) > 1
        self.depths = _depths(taxonomy) + int(has_several_roots)
        self._ancestors = lru_cache(maxsize=100_000)(self._path_lengths)

    def __call__(self, one: int, other: int) -> float:
        """Return the similarity, from above 0 to 1 for the same concept."""
        ours, theirs = self._ancestors(one), self._ancestors(other)
        common = ours.keys() & theirs.keys()
        if not common:  # only the common parent of all roots
            return 2 / (self._distance_to_top(ours) + self._distance_to_top(theirs) + 2)
        paths = ((int(self.depths[id]), ours[id] + theirs[id]) for id in common)
        return max(2 * depth / (length + 2 * depth) for depth, length in paths)

    def of_pairs(self, first: Indices, second: Indices) -> NDArray[np.float64]:
        """Return the similarity of each pair of concepts: [P], [P] → [P]."""
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        return np.array([self(one, other) for one, other in pairs])

    def _distance_to_top(self, ancestors: dict[int, int]) -> int:
        """Return the distance to the common parent of all roots."""
        return 1 + min(length for ancestor, length in ancestors.items() if self.is_root[ancestor])

    def _path_lengths(self, concept: int) -> dict[int, int]:
        """Return the concept and all ancestors with the lengths of the shortest paths to them."""
        lengths, level = {concept: 0}, np.array([concept])
        while len(level):
            parents = np.unique(self.parents_of.of_many(level)[1]).tolist()
            new = [parent for parent in parents if parent not in lengths]
            lengths.update(dict.fromkeys(new, lengths[int(level[0])] + 1))
            level = np.array(new, dtype=np.int64)
        return lengths


def _depths(taxonomy: Taxonomy) -> Indices:
    """Return the number of concepts on the shortest path from a root, both ends included: [N]."""
    depths = np.zeros(len(taxonomy), dtype=np.int64)
    roots = np.flatnonzero(taxonomy.parents_of.degrees == 0)
    depths[roots] = 1
    for number, level in enumerate(taxonomy.children_of.levels_down(roots), start=2):
        depths[level] = number
    return depths
