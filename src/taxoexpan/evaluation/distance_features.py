"""The 39 distances between a query and an anchor's egonet, the features of dist-XGBoost.

The first feature is the distance of query and anchor. Then follow eight statistics for each of four
groups of distances: query to the anchor's parents, query to its children, anchor to its parents,
and anchor to its children. The statistics are count, minimum, maximum, median, mean, standard
deviation, range, and the fraction below the distance of query and anchor. The last six features are
the minimum to the range of the query's distances to the whole egonet. All are cosine distances.
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
from taxoexpan.taxonomy.arrays import Floats, Indices

FEATURES = 39
EMPTY = -999.0
"""The statistics of an empty group, except for its count, which is 0."""
BLOCK_SIZE = 500_000
"""The number of distances per block, which bounds the memory; one query is never split."""


@dataclass(frozen=True)
class Pairs:
    """P pairs of Q queries and their anchors.

    `rows` [P] are the indices of the queries, ascending, and `anchors` [P] the anchors in
    the taxonomy. `left_out` [P] is a concept to remove from the anchor's egonet, or -1.
    """

    rows: Indices
    anchors: Indices
    left_out: Indices


class EgonetDistances:
    """Computes the features of queries and anchors, given a taxonomy and its vectors [N, D]."""

    def __init__(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        self._vectors = _unit(vectors)
        neighbors = (taxonomy.parents_of, taxonomy.children_of)
        self._sides = [_Side(adjacency, self._vectors) for adjacency in neighbors]

    @property
    def size(self) -> int:
        """The number of anchors N."""
        return len(self._vectors)

    def of_all(self, queries: Tensor) -> Iterator[Floats]:
        """Yield the features of each query with all anchors, in blocks: [Q, D] → [q * N, 39]."""
        unit_queries = _unit(queries)
        size = self.size + sum(len(side) for side in self._sides)
        block = max(1, BLOCK_SIZE // size)
        for start in range(0, len(unit_queries), block):
            distances = self._query_distances(unit_queries[start : start + block])
            yield _features(distances.ravel(), [side.of_all(distances) for side in self._sides])

    def of_pairs(self, queries: Tensor, pairs: Pairs) -> Iterator[Floats]:
        """Yield the features of pairs with queries [Q, D], in order and in blocks: [p, 39]."""
        unit_queries = _unit(queries)
        for block in self._blocks(pairs):
            rows, anchors = pairs.rows[block], pairs.anchors[block]
            distances = self._query_distances(unit_queries[rows[0] : rows[-1] + 1])
            rows, left_out = rows - rows[0], pairs.left_out[block]
            sides = [side.of_pairs(distances, rows, anchors, left_out) for side in self._sides]
            yield _features(distances[rows, anchors], sides)

    def _query_distances(self, queries: Tensor) -> Floats:
        """Return the distance of every query to every concept: [q, D] → [q, N]."""
        return _distances(queries @ self._vectors.T)

    def _blocks(self, pairs: Pairs) -> Iterator[slice]:
        """Cut the pairs into blocks of about BLOCK_SIZE distances."""
        costs = np.ones(len(pairs.anchors), dtype=np.int64)
        for side in self._sides:
            costs += side.adjacency.degrees[pairs.anchors]
        # A distance in a group also has a key and an owner, so one in the product costs less.
        costs[np.diff(pairs.rows, prepend=-1) > 0] += self.size // 8
        cuts = np.flatnonzero(np.diff(np.cumsum(costs) // BLOCK_SIZE)) + 1
        for start, end in pairwise([0, *cuts.tolist(), len(costs)]):
            if start < end:
                yield slice(start, end)


class _Side:
    """The parents or the children of every anchor, with their distances to the anchor."""

    def __init__(self, adjacency: Adjacency, vectors: Tensor) -> None:
        self.adjacency = adjacency
        self.owners, self.neighbors = adjacency.of_many(np.arange(len(adjacency)))
        self.distances = _along(self.owners, self.neighbors, vectors)
        self.groups = _Groups.of(self.distances, self.owners, len(adjacency))
        self.summary = self.groups.summary()

    def __len__(self) -> int:
        return len(self.owners)

    def of_all(self, distances: Floats) -> tuple[_Groups, Floats]:
        """Return the groups of the queries' distances [q, N], and the anchors' own statistics.

        The latter [8, q * N] are the same for every query, except for the fraction below.
        """
        times, size = distances.shape
        owners = np.arange(times)[:, None] * size + self.owners
        groups = _Groups.of(
            distances.take(self.neighbors, 1).ravel(), owners.ravel(), distances.size
        )
        below = self.groups.repeated(times).fraction_below(distances.ravel())
        return groups, np.concatenate([np.tile(self.summary, times), below])

    def of_pairs(
        self, distances: Floats, rows: Indices, anchors: Indices, left_out: Indices
    ) -> tuple[_Groups, Floats]:
        """Return the same for pairs [P], each without the concept that is left out."""
        counts = self.adjacency.degrees[anchors]
        edges = ranges(self.adjacency.offsets[anchors], counts)
        owners = np.repeat(np.arange(len(anchors)), counts)
        kept = self.neighbors[edges] != left_out[owners]
        edges, owners = edges[kept], owners[kept]
        to_query = distances[rows[owners], self.neighbors[edges]]
        to_anchor = _Groups.of(self.distances[edges], owners, len(anchors))
        statistics = to_anchor.statistics(distances[rows, anchors])
        return _Groups.of(to_query, owners, len(anchors)), statistics


@dataclass(frozen=True)
class _Groups:
    """M distances in G groups, as ascending keys [M]: the group and then the bits of the distance.

    Distances are never negative, so their bits are ordered like their values.
    """

    keys: Indices
    size: int

    @classmethod
    def of(cls, distances: Floats, owners: Indices, size: int) -> _Groups:
        """Put each distance into the group of its owner."""
        return cls._ordered((owners << 32) | distances.view(np.int32), size)

    @classmethod
    def _ordered(cls, keys: Indices, size: int) -> _Groups:
        # The stable sort is fast on input that is mostly sorted already.
        return cls(np.sort(keys, kind="stable"), size)

    def joined(self, others: list[_Groups]) -> _Groups:
        """Join the groups with the same number."""
        return self._ordered(np.concatenate([g.keys for g in (self, *others)]), self.size)

    def repeated(self, times: int) -> _Groups:
        """Repeat all groups."""
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
        """The number of distances in each group [G]."""
        return np.bincount(self.owners, minlength=self.size)

    def statistics(self, bounds: Floats) -> Floats:
        """Return the summary and the fraction below the bounds [G]: [8, G]."""
        return np.concatenate([self.summary(), self.fraction_below(bounds)])

    def summary(self) -> Floats:
        """Return count, minimum, maximum, median, mean, standard deviation and range: [7, G]."""
        distances, nonempty = self.distances, np.flatnonzero(self.counts)
        sizes = self.counts[nonempty]
        ends = np.cumsum(sizes)
        low, high = distances[ends - sizes], distances[ends - 1]
        middle = distances[ends - sizes // 2 - 1] + distances[ends - (sizes + 1) // 2]
        mean, deviation = (moment[nonempty] for moment in self._moments())
        summary = np.full((7, self.size), EMPTY, dtype=np.float32)
        summary[0] = self.counts
        for row, value in enumerate((low, high, middle / 2, mean, deviation, high - low), 1):
            summary[row, nonempty] = value
        return summary

    def _moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and the standard deviation [G]; they are meaningless for empty groups."""
        # In double precision, because the difference of two squares loses digits.
        exact, sizes = self.distances.astype(np.float64), np.maximum(self.counts, 1)
        mean = np.bincount(self.owners, exact, self.size) / sizes
        square = np.bincount(self.owners, exact * exact, self.size) / sizes
        return mean, np.sqrt(np.maximum(square - mean * mean, 0))

    def fraction_below(self, bounds: Floats) -> Floats:
        """Return the fraction of each group below its bound [G]: [1, G]."""
        below = self.owners[self.distances < bounds[self.owners]]
        fraction = np.bincount(below, minlength=self.size) / np.maximum(self.counts, 1)
        return np.where(self.counts > 0, fraction, EMPTY).astype(np.float32)[None]


def _features(distances: Floats, sides: list[tuple[_Groups, Floats]]) -> Floats:
    """Return all features of P pairs, given their distances [P] and both sides: [P, 39]."""
    anchors = _Groups.of(distances, np.arange(len(distances)), len(distances))
    groups = [group for group, _ in sides]
    egonets = anchors.joined(groups).summary()[1:]
    to_query = [group.statistics(distances) for group in groups]
    from_anchor = [statistics for _, statistics in sides]
    return np.concatenate([distances[None], *to_query, *from_anchor, egonets]).T


def _unit(vectors: Tensor) -> Tensor:
    """Return the vectors at unit length."""
    return F.normalize(vectors.float(), dim=1)


def _distances(cosines: Tensor) -> Floats:
    """Return one minus the cosine; rounding must not make it negative."""
    distances: Floats = (1 - cosines).clamp_(min=0).cpu().numpy()
    return distances


def _along(owners: Indices, targets: Indices, vectors: Tensor) -> Floats:
    """Return the distances along E relations, in blocks to save memory: [E]."""
    ends = (torch.from_numpy(indices).to(vectors.device) for indices in (owners, targets))
    parts = zip(*(end.split(max(1, BLOCK_SIZE // vectors.shape[1])) for end in ends), strict=True)
    return _distances(torch.cat([(vectors[a] * vectors[b]).sum(1) for a, b in parts]))
