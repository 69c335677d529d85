"""The 39 distances between a query and an anchor's egonet, from which dist-XGBoost learns.

First the distance of query and anchor. Then eight figures for each of four groups, which are the
distances of the query to the anchor's parents, of the query to its children, of the anchor to its
parents, and of the anchor to its children: how many there are, the least, the greatest, median,
mean, standard deviation, range, and the share of them that is less than that of query and anchor.
Last, the least to the range of the query's distances to the whole egonet. All are cosine distances.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency, ranges
from taxoexpan.taxonomy.arrays import Indices

Floats = NDArray[np.float32]

FEATURES = 39
EMPTY = -999.0
"""What stands for the figures of a group that is empty; its count is 0."""
CELLS = 500_000
"""Distances looked at together, which bounds the memory; one query takes what it needs."""


@dataclass(frozen=True)
class Pairs:
    """P pairs of Q queries and their anchors.

    `places` [P] are those of the queries among the Q, ascending, and `anchors` [P] indices in the
    taxonomy. `left_out` [P] is a concept that is taken out of the anchor's egonet, or -1 for none.
    """

    places: Indices
    anchors: Indices
    left_out: Indices


class EgonetDistances:
    """Makes the features of queries and anchors, given a taxonomy and its vectors [N, D]."""

    def __init__(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        self._vectors = _unit(vectors)
        neighbors = (taxonomy.parents_of, taxonomy.children_of)
        self._sides = [_Side(adjacency, self._vectors) for adjacency in neighbors]

    @property
    def size(self) -> int:
        """How many anchors there are: N."""
        return len(self._vectors)

    def of_all(self, queries: Tensor) -> Iterator[Floats]:
        """All anchors for each query, in blocks of some queries: [Q, D] → [q * N, 39] each."""
        asked = _unit(queries)
        size = self.size + sum(len(side) for side in self._sides)
        together = max(1, CELLS // size)
        for start in range(0, len(asked), together):
            far = self._far(asked[start : start + together])
            yield _features(far.ravel(), [side.of_all(far) for side in self._sides])

    def of_pairs(self, queries: Tensor, pairs: Pairs) -> Iterator[Floats]:
        """Some pairs with queries [Q, D], in blocks: [p, 39] each, in the order of the pairs."""
        asked = _unit(queries)
        for block in self._blocks(pairs):
            places, anchors = pairs.places[block], pairs.anchors[block]
            far = self._far(asked[places[0] : places[-1] + 1])
            places, out = places - places[0], pairs.left_out[block]
            sides = [side.of_pairs(far, places, anchors, out) for side in self._sides]
            yield _features(far[places, anchors], sides)

    def _far(self, queries: Tensor) -> Floats:
        """The distance of every query to every concept: [q, D] → [q, N]."""
        return _distances(queries @ self._vectors.T)

    def _blocks(self, pairs: Pairs) -> Iterator[slice]:
        """Cut the pairs so that no block takes much more than so many cells."""
        costs = np.ones(len(pairs.anchors), dtype=np.int64)
        for side in self._sides:
            costs += side.adjacency.degrees[pairs.anchors]
        # In a group a distance has a key, an owner and more beside it; in the product it has not.
        costs[np.diff(pairs.places, prepend=-1) > 0] += self.size // 8
        cuts = np.flatnonzero(np.diff(np.cumsum(costs) // CELLS)) + 1
        for start, end in pairwise([0, *cuts.tolist(), len(costs)]):
            if start < end:
                yield slice(start, end)


class _Side:
    """The parents of every anchor, or the children, with their distances to the anchor."""

    def __init__(self, adjacency: Adjacency, vectors: Tensor) -> None:
        self.adjacency = adjacency
        self.owners, self.neighbors = adjacency.of_many(np.arange(len(adjacency)))
        self.distances = _along(self.owners, self.neighbors, vectors)
        self.groups = _Groups.of(self.distances, self.owners, len(adjacency))
        self.summary = self.groups.summary()

    def __len__(self) -> int:
        return len(self.owners)

    def of_all(self, far: Floats) -> tuple[_Groups, Floats]:
        """Each query's distances [q, N] to all anchors' neighbours, and the anchors' own figures.

        The latter [8, q * N] are the same for every query, but for the share that is nearer.
        """
        times, size = far.shape
        owners = np.arange(times)[:, None] * size + self.owners
        groups = _Groups.of(far.take(self.neighbors, 1).ravel(), owners.ravel(), far.size)
        nearer = self.groups.repeated(times).nearer(far.ravel())
        return groups, np.concatenate([np.tile(self.summary, times), nearer])

    def of_pairs(
        self, far: Floats, places: Indices, anchors: Indices, left_out: Indices
    ) -> tuple[_Groups, Floats]:
        """The same for some pairs [P], each without what is left out of it."""
        counts = self.adjacency.degrees[anchors]
        edges = ranges(self.adjacency.offsets[anchors], counts)
        owners = np.repeat(np.arange(len(anchors)), counts)
        kept = self.neighbors[edges] != left_out[owners]
        edges, owners = edges[kept], owners[kept]
        to_query = far[places[owners], self.neighbors[edges]]
        anchored = _Groups.of(self.distances[edges], owners, len(anchors))
        figures = anchored.figures(far[places, anchors])
        return _Groups.of(to_query, owners, len(anchors)), figures


@dataclass(frozen=True)
class _Groups:
    """M distances in G groups, as ascending keys [M]: the group, and below it the distance's bits.

    A distance is never negative, so that its bits have the order of its values.
    """

    keys: Indices
    size: int

    @classmethod
    def of(cls, distances: Floats, owners: Indices, size: int) -> _Groups:
        """Put each distance into the group that owns it."""
        return cls._ordered((owners << 32) | distances.view(np.int32), size)

    @classmethod
    def _ordered(cls, keys: Indices, size: int) -> _Groups:
        # The stable sort makes use of what is in order already, and most of it is.
        return cls(np.sort(keys, kind="stable"), size)

    def joined(self, others: list[_Groups]) -> _Groups:
        """Each group together with those of the same number."""
        return self._ordered(np.concatenate([g.keys for g in (self, *others)]), self.size)

    def repeated(self, times: int) -> _Groups:
        """All groups so many times, one after the other."""
        shifts = np.arange(times)[:, None] * self.size << 32
        return _Groups((self.keys + shifts).ravel(), self.size * times)

    @cached_property
    def owners(self) -> Indices:
        """The group of each distance [M]."""
        return self.keys >> 32

    @cached_property
    def distances(self) -> Floats:
        """The distances [M], ascending in each group."""
        return (self.keys & 0xFFFFFFFF).astype(np.uint32).view(np.float32)

    @cached_property
    def counts(self) -> Indices:
        """How many distances each group has [G]."""
        return np.bincount(self.owners, minlength=self.size)

    def figures(self, bounds: Floats) -> Floats:
        """The summary and the share that is nearer than a bound [G]: [8, G]."""
        return np.concatenate([self.summary(), self.nearer(bounds)])

    def summary(self) -> Floats:
        """Count, minimum, maximum, median, mean, standard deviation and range: [7, G]."""
        distances, full = self.distances, np.flatnonzero(self.counts)
        sizes = self.counts[full]
        ends = np.cumsum(sizes)
        low, high = distances[ends - sizes], distances[ends - 1]
        middle = distances[ends - sizes // 2 - 1] + distances[ends - (sizes + 1) // 2]
        mean, deviation = (moment[full] for moment in self._moments())
        found = np.full((7, self.size), EMPTY, dtype=np.float32)
        found[0] = self.counts
        for row, figure in enumerate((low, high, middle / 2, mean, deviation, high - low), 1):
            found[row, full] = figure
        return found

    def _moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean and the standard deviation [G], of no meaning where a group is empty."""
        # In double precision, or else too little would be left of the difference of two squares.
        exact, sizes = self.distances.astype(np.float64), np.maximum(self.counts, 1)
        mean = np.bincount(self.owners, exact, self.size) / sizes
        square = np.bincount(self.owners, exact * exact, self.size) / sizes
        return mean, np.sqrt(np.maximum(square - mean * mean, 0))

    def nearer(self, bounds: Floats) -> Floats:
        """The share of each group that is less than its bound [G]: [1, G]."""
        below = self.owners[self.distances < bounds[self.owners]]
        share = np.bincount(below, minlength=self.size) / np.maximum(self.counts, 1)
        return np.where(self.counts > 0, share, EMPTY).astype(np.float32)[None]


def _features(far: Floats, sides: list[tuple[_Groups, Floats]]) -> Floats:
    """All features of P pairs, given the distance of each [P] and what both sides have: [P, 39]."""
    anchors = _Groups.of(far, np.arange(len(far)), len(far))
    groups = [side for side, _ in sides]
    egonets = anchors.joined(groups).summary()[1:]
    to_query = [group.figures(far) for group in groups]
    from_anchor = [figures for _, figures in sides]
    return np.concatenate([far[None], *to_query, *from_anchor, egonets]).T


def _unit(vectors: Tensor) -> Tensor:
    """The same vectors at unit length."""
    return F.normalize(vectors.float(), dim=1)


def _distances(cosines: Tensor) -> Floats:
    """One minus the cosine, which rounding must not take below zero."""
    distances: Floats = (1 - cosines).clamp_(min=0).cpu().numpy()
    return distances


def _along(owners: Indices, targets: Indices, vectors: Tensor) -> Floats:
    """The distances along E relations, some at a time for the sake of memory: [E]."""
    ends = (torch.from_numpy(some).to(vectors.device) for some in (owners, targets))
    parts = zip(*(end.split(max(1, CELLS // vectors.shape[1])) for end in ends), strict=True)
    return _distances(torch.cat([(vectors[a] * vectors[b]).sum(1) for a, b in parts]))
