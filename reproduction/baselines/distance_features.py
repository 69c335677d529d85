"""The 39 cosine distances between a query and an anchor's egonet, the features of dist-XGBoost.

- 1: the distance of query and anchor;
- 32: count, minimum, maximum, median, mean, standard deviation, range, and the fraction below the
  first feature, of the distances query to parents, query to children, anchor to parents, and anchor
  to children;
- 6: minimum to range of the query's distances to the whole egonet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency, ranges
from taxoexpan.taxonomy.arrays import Floats, Indices

FEATURES = 39
EMPTY = -999.0
"""The statistics of an empty group, except for its count, which is 0."""
BLOCK_SIZE = 500_000
"""The number of distances per block, which bounds the memory."""


@dataclass(frozen=True)
class Pairs:
    """P pairs of queries (ascending `rows` [P]) and `anchors` [P] in the taxonomy.

    `left_out` [P] is a concept to remove from the anchor's egonet, or -1.
    """

    rows: Indices
    anchors: Indices
    left_out: Indices


class EgonetDistances:
    """The features of pairs of queries and anchors, given a taxonomy and its vectors [N, D]."""

    def __init__(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        self._vectors = _unit(vectors)
        sides = (taxonomy.parents_of, taxonomy.children_of)
        self._sides = [_Side.of(side, self._vectors) for side in sides]

    @property
    def size(self) -> int:
        """The number of anchors, N."""
        return len(self._vectors)

    def of_all(self, queries: Tensor) -> Iterator[Floats]:
        """Yield the features of each query with all anchors, in blocks: [Q, D] → [p, 39]."""
        for some in queries.split(max(1, BLOCK_SIZE // self.size)):
            anchors = np.tile(np.arange(self.size), len(some))
            rows = np.repeat(np.arange(len(some)), self.size)
            yield from self.of_pairs(some, Pairs(rows, anchors, np.full(len(rows), -1)))

    def of_pairs(self, queries: Tensor, pairs: Pairs) -> Iterator[Floats]:
        """Yield the features of pairs with queries [Q, D], in order and in blocks: [p, 39]."""
        unit_queries = _unit(queries)
        for block in self._blocks(pairs):
            rows = pairs.rows[block]
            to_queries = _distances(unit_queries[rows[0] : rows[-1] + 1] @ self._vectors.T)
            yield self._features(
                to_queries, Pairs(rows - rows[0], pairs.anchors[block], pairs.left_out[block])
            )

    def _blocks(self, pairs: Pairs) -> Iterator[slice]:
        """Yield blocks of pairs with about BLOCK_SIZE distances."""
        costs = np.ones(len(pairs.anchors), dtype=np.int64)
        for side in self._sides:
            costs += side.adjacency.degrees[pairs.anchors]
        # A distance in a group also has a key and an owner, so one in the product costs less.
        costs[np.diff(pairs.rows, prepend=-1) > 0] += self.size // 8
        cuts = np.flatnonzero(np.diff(np.cumsum(costs) // BLOCK_SIZE)) + 1
        for start, end in pairwise([0, *cuts.tolist(), len(costs)]):
            if start < end:
                yield slice(start, end)

    def _features(self, to_queries: Floats, pairs: Pairs) -> Floats:
        """Return the features of P pairs, given the queries' distances [q, N]: [P, 39]."""
        anchors, starts = pairs.anchors, pairs.rows * self.size
        own = to_queries.take(starts + anchors)
        groups, to_query, from_anchor = [_keys(own, np.arange(len(own)))], [], []
        for side in self._sides:
            counts = side.adjacency.degrees[anchors]
            edges = ranges(side.adjacency.offsets[anchors], counts)
            owners = np.repeat(np.arange(len(anchors)), counts)
            summary = side.summary[:, anchors]
            kept = side.adjacency.targets[edges] != pairs.left_out[owners]
            if not kept.all():
                edges, owners = edges[kept], owners[kept]
                summary = _summary(_keys(side.distances[edges], owners), len(own))
            distances = to_queries.take(starts[owners] + side.adjacency.targets[edges])
            groups.append(_keys(distances, owners))
            to_query += [_summary(groups[-1], len(own)), _below(distances, owners, own)]
            from_anchor += [summary, _below(side.distances[edges], owners, own)]
        egonet = _summary(np.sort(np.concatenate(groups), kind="stable"), len(own))[1:]
        return np.concatenate([own[None], *to_query, *from_anchor, egonet]).T


@dataclass(frozen=True)
class _Side:
    """The parents or the children of every anchor, their distances [E], and a summary of these."""

    adjacency: Adjacency
    distances: Floats
    summary: Floats

    @classmethod
    def of(cls, adjacency: Adjacency, vectors: Tensor) -> _Side:
        """Compute the distances along all relations, in blocks to save memory."""
        owners, targets = adjacency.of_many(np.arange(len(adjacency)))
        ends = (torch.from_numpy(each).to(vectors.device) for each in (owners, targets))
        size = max(1, BLOCK_SIZE // vectors.shape[1])
        parts = zip(*(end.split(size) for end in ends), strict=True)
        distances = _distances(torch.cat([(vectors[a] * vectors[b]).sum(1) for a, b in parts]))
        return cls(adjacency, distances, _summary(_keys(distances, owners), len(adjacency)))


def _keys(distances: Floats, owners: Indices) -> Indices:
    """Return distances as ascending keys [M]: the group (owner), and the bits of the distance."""
    # Distances are never negative, so their bits are ordered like their values. The stable sort is
    # fast on input that is mostly sorted already.
    return np.sort((owners << 32) | distances.view(np.int32), kind="stable")


def _summary(keys: Indices, size: int) -> Floats:
    """Return count, minimum, maximum, median, mean, deviation and range of G groups: [7, G]."""
    owners, distances = keys >> 32, (keys & 0xFFFFFFFF).astype(np.uint32).view(np.float32)
    counts = np.bincount(owners, minlength=size)
    nonempty = np.flatnonzero(counts)
    sizes = counts[nonempty]
    ends = np.cumsum(sizes)
    low, high = distances[ends - sizes], distances[ends - 1]
    middle = distances[ends - sizes // 2 - 1] + distances[ends - (sizes + 1) // 2]
    # In double precision, because the difference of two squares loses digits.
    exact = distances.astype(np.float64)
    mean = np.bincount(owners, exact, size)[nonempty] / sizes
    square = np.bincount(owners, exact * exact, size)[nonempty] / sizes
    deviation = np.sqrt(np.maximum(square - mean * mean, 0))
    summary = np.full((7, size), EMPTY, dtype=np.float32)
    summary[0] = counts
    for row, value in enumerate((low, high, middle / 2, mean, deviation, high - low), 1):
        summary[row, nonempty] = value
    return summary


def _below(distances: Floats, owners: Indices, bounds: Floats) -> Floats:
    """Return the fraction of each group below its bound [G]: [1, G]."""
    counts = np.bincount(owners, minlength=len(bounds))
    below = np.bincount(owners[distances < bounds[owners]], minlength=len(bounds))
    return np.where(counts > 0, below / np.maximum(counts, 1), EMPTY).astype(np.float32)[None]


def _unit(vectors: Tensor) -> Tensor:
    """Return the vectors normalized to unit length."""
    return F.normalize(vectors.float(), dim=1)


def _distances(cosines: Tensor) -> Floats:
    """Return one minus the cosine, at least 0 despite rounding."""
    distances: Floats = (1 - cosines).clamp_(min=0).cpu().numpy()
    return distances
