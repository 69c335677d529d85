"""Queries beside anchors, and how near each query is to what stands around the anchor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.explain.shared_words import name_words
from taxoexpan.placement.ranking import Anchors
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency, ranges
from taxoexpan.taxonomy.arrays import Indices

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Pairs:
    """Pair p is the query `query[p]` under the anchor `anchor[p]`, both [P]."""

    query: Indices
    anchor: Indices

    def __len__(self) -> int:
        return len(self.query)


@dataclass(frozen=True)
class Neighbours:
    """The parents, or the children, of the anchors of pairs, in the order of the pairs.

    Neighbour e stands in pair `pair[e]`, is the concept `concept[e]`, and is found at `place[e]` in
    the targets of the taxonomy's adjacency; `cosines` [2, E] are with the query of its pair, by
    whole names and by head words.
    """

    pair: Indices
    concept: Indices
    place: Indices
    cosines: Floats

    def nearest(self, most: int, before: Indices | None = None) -> Indices:
        """The `most` of each pair that are nearest by whole names: their rows, nearest first.

        The concept `before[p]` counts as the nearest in pair p.
        """
        nearness = self.cosines[0]
        if before is not None:
            nearness = np.where(self.concept == before[self.pair], np.float32(2), nearness)
        order = np.lexsort((-nearness, self.pair))
        counts = np.bincount(self.pair)
        rank = ranges(np.zeros_like(counts), counts)
        return order[rank < most]

    def of_first(self, pairs: int) -> Neighbours:
        """Those of the first pairs."""
        some = slice(int(np.searchsorted(self.pair, pairs)))
        return Neighbours(
            self.pair[some], self.concept[some], self.place[some], self.cosines[:, some]
        )


@dataclass(frozen=True)
class Surroundings:
    """Pairs with the parents and children of their anchors; `own` [2, P] are the anchors' cosines.

    The cosines are those that the fusion head sees: by whole names, and by head words.
    """

    pairs: Pairs
    own: Floats
    parents: Neighbours
    children: Neighbours

    def of_first(self, pairs: int) -> Surroundings:
        """Those of the first pairs."""
        few = Pairs(self.pairs.query[:pairs], self.pairs.anchor[:pairs])
        parents, children = self.parents.of_first(pairs), self.children.of_first(pairs)
        return Surroundings(few, self.own[:, :pairs], parents, children)


def look_around(anchors: Anchors, pairs: Pairs, queries: Tensor) -> Surroundings:
    """All parents and children of the pairs' anchors, with their cosines; queries are [2, Q, D]."""
    taxonomy = anchors.taxonomy
    above, below = _around(taxonomy.parents_of, pairs), _around(taxonomy.children_of, pairs)
    everyone = np.concatenate([pairs.anchor, above[1], below[1]])
    asking = pairs.query[np.concatenate([np.arange(len(pairs)), above[0], below[0]])]
    cosines = _cosines(anchors, everyone, asking, queries)
    own, by_parent, by_child = np.split(cosines, np.cumsum([len(pairs), len(above[0])]), axis=1)
    return Surroundings(pairs, own, Neighbours(*above, by_parent), Neighbours(*below, by_child))


def _around(adjacency: Adjacency, pairs: Pairs) -> tuple[Indices, Indices, Indices]:
    """The pair, the concept and the place of every neighbour."""
    starts = adjacency.offsets[pairs.anchor]
    counts = adjacency.offsets[pairs.anchor + 1] - starts
    places = ranges(starts, counts)
    return np.repeat(np.arange(len(pairs)), counts), adjacency.targets[places], places


def _cosines(anchors: Anchors, concepts: Indices, asking: Indices, queries: Tensor) -> Floats:
    """The cosines [2, E] of concepts with queries; every distinct concept meets all queries once.

    A hub's children are asked for by many queries, so that one product is cheaper than the pairs.
    """
    vectors = anchors.vectors
    distinct, rows = np.unique(concepts, return_inverse=True)
    near = vectors.select(torch.from_numpy(distinct).to(vectors.device))
    heads, head_of = near.used_heads()
    row, column = (torch.from_numpy(i).to(vectors.device) for i in (rows, asking))
    by_name = (near.names @ queries[0].T)[row, column]
    by_head = (heads @ queries[1].T)[head_of.index_select(0, row), column]
    return torch.stack([by_name, by_head]).cpu().numpy()


class Lookup:
    """What a taxonomy says of a concept at an index: itself, its path, the words of its names."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self.concept = cache(taxonomy.concept_at)
        self.path = cache(lambda index: taxonomy.path(taxonomy.ids[index]))
        self.words = cache(lambda index: name_words(self.concept(index)))

    def standing(self, index: int, seen_from: int) -> str:
        """Where one concept stands, seen from another: above, below, beside or elsewhere."""
        parents, children = self.taxonomy.parents_of, self.taxonomy.children_of
        above = parents.of(seen_from)
        if index in above:
            return "above"
        if index in children.of(seen_from):
            return "below"
        return "beside" if set(above.tolist()) & set(parents.of(index).tolist()) else "elsewhere"
