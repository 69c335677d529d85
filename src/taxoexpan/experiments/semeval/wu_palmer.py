"""Wu and Palmer's similarity of two concepts, by which SemEval-2016 Task 14 scores a placement.

Of its many variants this is the one by paths: 2 d / (l + m + 2 d), where d is the depth of a common
ancestor, and l and m are the relations from the two concepts up to it, the fewest where there are
several ways; of all common ancestors the one counts that makes it largest, so that a concept has
similarity 1 with itself. A root has depth 1, and with several parents the shallowest way gives the
depth. Several roots stand under one more.
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
        self.several = int(self.is_root.sum()) > 1
        self.depths = _depths(taxonomy) + int(self.several)
        self._above = lru_cache(maxsize=100_000)(self._ways_up)

    def __call__(self, one: int, other: int) -> float:
        """From 0, for nothing in common, to 1, for the same concept."""
        some, others = self._above(one), self._above(other)
        common = some.keys() & others.keys()
        if not common:  # but the root above all
            return 2 / (self._to_top(some) + self._to_top(others) + 2)
        ways = ((int(self.depths[id]), some[id] + others[id]) for id in common)
        return max(2 * depth / (length + 2 * depth) for depth, length in ways)

    def of_pairs(self, some: Indices, others: Indices) -> NDArray[np.float64]:
        """The similarity of each concept with the other at the same place."""
        pairs = zip(some.tolist(), others.tolist(), strict=True)
        return np.array([self(one, other) for one, other in pairs])

    def _to_top(self, above: dict[int, int]) -> int:
        """How far the root above all is."""
        return 1 + min(length for ancestor, length in above.items() if self.is_root[ancestor])

    def _ways_up(self, concept: int) -> dict[int, int]:
        """All ancestors and the concept itself, each with the shortest way to it."""
        lengths, level = {concept: 0}, np.array([concept])
        while len(level):
            above = np.unique(self.parents_of.of_many(level)[1]).tolist()
            new = [ancestor for ancestor in above if ancestor not in lengths]
            lengths.update(dict.fromkeys(new, lengths[int(level[0])] + 1))
            level = np.array(new, dtype=np.int64)
        return lengths


def _depths(taxonomy: Taxonomy) -> Indices:
    """How many concepts the shallowest way from a root has, ends included: [N]."""
    depths = np.zeros(len(taxonomy), dtype=np.int64)
    roots = np.flatnonzero(taxonomy.parents_of.degrees == 0)
    depths[roots] = 1
    for number, level in enumerate(taxonomy.children_of.levels_down(roots), start=2):
        depths[level] = number
    return depths
