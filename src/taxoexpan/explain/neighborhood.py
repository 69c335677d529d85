"""The parents and children of suggested anchors, and their cosines with the queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.pairs import QueryAnchorPairs, concept_cosines
from taxoexpan.taxonomy.adjacency import Adjacency, ranges
from taxoexpan.taxonomy.arrays import Floats, Indices


@dataclass(frozen=True)
class Neighbors:
    """The parents, or the children, of the anchors of pairs, in the order of the pairs.

    Neighbor e belongs to pair `pair[e]` and is the concept `concept[e]`; `edge[e]` is its index
    in the targets of the taxonomy's adjacency. `cosines` [2, E] compare it with the query of its
    pair, by whole names and by head words.
    """

    pair: Indices
    concept: Indices
    edge: Indices
    cosines: Floats

    def nearest(self, count: int, always: Indices | None = None) -> Indices:
        """Return the rows of the `count` most similar neighbors of each pair, nearest first.

        The concept `always[p]` counts as the nearest neighbor in pair p.
        """
        cosines = self.cosines[0]
        if always is not None:
            cosines = np.where(self.concept == always[self.pair], np.float32(2), cosines)
        order = np.lexsort((-cosines, self.pair))
        counts = np.bincount(self.pair)
        rank = ranges(np.zeros_like(counts), counts)
        return order[rank < count]

    def first_pairs(self, count: int) -> Neighbors:
        """Return the neighbors of the first `count` pairs."""
        rows = slice(int(np.searchsorted(self.pair, count)))
        return Neighbors(
            self.pair[rows], self.concept[rows], self.edge[rows], self.cosines[:, rows]
        )


@dataclass(frozen=True)
class Neighborhood:
    """Pairs with all parents and children of their anchors.

    `anchor_cosines` [2, P] compare each query with its anchor. All cosines are those that the
    fusion head sees: by whole names and by head words.
    """

    pairs: QueryAnchorPairs
    anchor_cosines: Floats
    parents: Neighbors
    children: Neighbors

    def first_pairs(self, count: int) -> Neighborhood:
        """Return the neighborhood of the first `count` pairs."""
        pairs = QueryAnchorPairs(self.pairs.query[:count], self.pairs.anchor[:count])
        parents, children = self.parents.first_pairs(count), self.children.first_pairs(count)
        return Neighborhood(pairs, self.anchor_cosines[:, :count], parents, children)


def find_neighborhood(anchors: Anchors, pairs: QueryAnchorPairs, queries: Tensor) -> Neighborhood:
    """Find the parents and children of the pairs' anchors, with cosines; queries are [2, Q, D]."""
    taxonomy = anchors.taxonomy
    parents, children = _edges(taxonomy.parents_of, pairs), _edges(taxonomy.children_of, pairs)
    concepts = np.concatenate([pairs.anchor, parents[1], children[1]])
    query = pairs.query[np.concatenate([np.arange(len(pairs)), parents[0], children[0]])]
    cosines = concept_cosines(anchors.vectors, concepts, queries, query).cpu().numpy()
    own, by_parent, by_child = np.split(cosines, np.cumsum([len(pairs), len(parents[0])]), axis=1)
    return Neighborhood(pairs, own, Neighbors(*parents, by_parent), Neighbors(*children, by_child))


def _edges(adjacency: Adjacency, pairs: QueryAnchorPairs) -> tuple[Indices, Indices, Indices]:
    """Return the pair, the concept and the edge index of every neighbor."""
    starts = adjacency.offsets[pairs.anchor]
    counts = adjacency.offsets[pairs.anchor + 1] - starts
    edges = ranges(starts, counts)
    return np.repeat(np.arange(len(pairs)), counts), adjacency.targets[edges], edges
