"""Branch probabilities: that the parent of a query is a concept or one of its descendants.

The branch of a concept has consecutive numbers in a tree, and a few intervals of numbers in another
taxonomy (`ReachIntervals`), so its probability is a difference of sums. Every descendant counts
once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices


class Branches:
    """The branches of a taxonomy, for sums over its concepts on a device."""

    def __init__(self, taxonomy: Taxonomy, device: torch.device) -> None:
        self._taxonomy, self._device = taxonomy, device
        self._lineages: dict[int, Indices] = {}

    def levels(self, scores: Tensor, concepts: Indices, temperature: float = 1.0) -> Floats:
        """Return the probability of each branch on the paths of concepts [Q, K]: → [Q, K, L].

        Given are the scores of all concepts [N, Q]. The first of the L numbers belongs to the root;
        short paths are padded with NaN.
        """
        for index in np.setdiff1d(concepts, list(self._lineages)).tolist():
            self._lineages[index] = self._taxonomy.short_lineage(index)
        paths = [self._lineages[index] for index in concepts.ravel().tolist()]
        lengths = np.array([len(path) for path in paths])
        is_level = np.arange(lengths.max(initial=0)) < lengths[:, None]
        columns = np.repeat(np.arange(len(concepts)), concepts.shape[1])
        levels = np.full(is_level.shape, np.nan)
        levels[is_level] = self.sums(
            scores, np.concatenate(paths), np.repeat(columns, lengths), temperature
        )
        return levels.reshape(*concepts.shape, -1)

    def sums(
        self, scores: Tensor, concepts: Indices, columns: Indices, temperature: float = 1.0
    ) -> Floats:
        """Return the probabilities of branches, each for the query of a column: [N, Q] → [P].

        Scores are logarithms of probabilities, up to a constant per query.
        """
        distinct, owners = np.unique(concepts, return_inverse=True)
        reach = self._taxonomy.descendant_intervals
        branches, starts, stops = reach.intervals(distinct)
        # Only sums between the ends of intervals are needed, and there are fewer than concepts.
        ends = np.unique(np.concatenate([starts, stops]))
        segments = np.searchsorted(ends, reach.numbers, side="right")
        branch, segment, start, stop = (
            torch.from_numpy(each).to(self._device)
            for each in (branches, segments, *np.searchsorted(ends, [starts, stops]))
        )
        probabilities = (scores if temperature == 1 else scores / temperature).softmax(0)
        sums = probabilities.new_zeros(len(ends) + 1, scores.shape[1])
        below = sums.index_add_(0, segment, probabilities).cumsum(0)
        found = sums.new_zeros(len(distinct), scores.shape[1])
        found.index_add_(0, branch, below[stop] - below[start])
        pairs = (torch.from_numpy(each).to(self._device) for each in (owners, columns))
        result: Floats = found[tuple(pairs)].clamp_(0, 1).double().cpu().numpy()
        return result


def is_informative(taxonomy: Taxonomy, lineage: Indices) -> NDArray[np.bool_]:
    """Return whether each concept of a path is informative as a place, from the root down: [L].

    A branch with more than half of all concepts does not, nor does a root, unless it is the end.
    """
    sizes = taxonomy.descendant_intervals.counts(lineage)
    is_place: NDArray[np.bool_] = 2 * sizes <= len(taxonomy)
    is_place[0] &= len(lineage) == 1
    return is_place


def true_levels(
    taxonomy: Taxonomy, concepts: Indices, parents: Sequence[Indices]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether each branch on the paths has a true parent, and is informative: [Q, L] each.

    The levels are those of `Branches.levels`, given the concepts [Q] at the ends of the paths.
    """
    paths = [taxonomy.short_lineage(index) for index in concepts.tolist()]
    shape = len(paths), max(map(len, paths), default=0)
    right, is_place = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    for row, (path, own) in enumerate(zip(paths, parents, strict=True)):
        owners, _ = taxonomy.descendant_intervals.pairs_among(path, own)
        right[row, owners] = True
        is_place[row, : len(path)] = is_informative(taxonomy, path)
    return right, is_place
