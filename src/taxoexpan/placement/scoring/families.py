"""Anchors with all of their children, for the features that compare a query with the children."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.placement.scoring.grouped_maximum import GroupedMaximum
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices


class Families:
    """The children of A anchors, as rows of the vectors of the concepts that occur.

    I of the anchors have children.

    Args:
        taxonomy: the taxonomy.
        chosen: the anchors [A].
        vectors: the vectors of all concepts of the taxonomy.
    """

    def __init__(self, taxonomy: Taxonomy, chosen: Indices, vectors: ConceptVectors) -> None:
        self.device = vectors.device
        counts = taxonomy.children_of.degrees[chosen]
        self.parents: Indices = np.flatnonzero(counts)
        """The rows of the anchors with children, ascending [I]."""
        self._offsets = np.append(0, np.cumsum(counts[self.parents]))
        self._children = taxonomy.children_of.of_many(chosen)[1]
        everyone = np.array_equal(chosen, np.arange(len(taxonomy)))
        used = None if everyone else np.unique(np.concatenate([chosen, self._children]))
        self._own = chosen if used is None else np.searchsorted(used, chosen)
        self._child_rows = self._children if used is None else np.searchsorted(used, self._children)
        self._used = None if used is None else self._moved(used)
        self._vectors = vectors if self._used is None else vectors.select(self._used)
        self.log_counts = self._moved(counts[self.parents]).to(vectors.names.dtype).log1p_()
        """The logarithm of one more than the number of children [I]."""

    @property
    def names(self) -> Tensor:
        """The name vectors of the concepts that occur [n, D]."""
        return self._vectors.names

    @cached_property
    def own(self) -> Tensor:
        """The row of each anchor among the concepts that occur [A]."""
        return self._moved(self._own)

    @cached_property
    def _head_rows(self) -> tuple[Indices, Indices]:
        """The distinct head words in use, and which of them each concept that occurs has."""
        return np.unique(self._vectors.head_of.cpu().numpy(), return_inverse=True)

    @cached_property
    def heads(self) -> Tensor:
        """The vectors of the head words in use [V, D]."""
        used = self._head_rows[0]
        everyone = len(used) == len(self._vectors.heads)
        heads = self._vectors.heads
        return heads if everyone else heads.index_select(0, self._moved(used))

    @cached_property
    def own_heads(self) -> Tensor:
        """The row of each anchor's head word in `heads` [A]."""
        return self._moved(self._head_rows[1][self._own])

    @cached_property
    def nearest(self) -> GroupedMaximum:
        """The maximum over children of numbers of the concepts that occur: [n, B] → [I, B]."""
        return GroupedMaximum(self._child_rows, self._offsets, self.device)

    @cached_property
    def nearest_head(self) -> GroupedMaximum:
        """The maximum over children of numbers of head words: [V, B] → [I, B]."""
        heads, size = self._head_rows[1][self._child_rows], max(len(self._head_rows[0]), 1)
        family = np.repeat(np.arange(len(self.parents)), np.diff(self._offsets))
        distinct = np.unique(family * size + heads)
        counts = np.bincount(distinct // size, minlength=len(self.parents))
        return GroupedMaximum(distinct % size, np.append(0, np.cumsum(counts)), self.device)

    @cached_property
    def mean_names(self) -> Tensor:
        """The mean name vector of the children of each anchor that has any [I, D]."""
        return self._mean(self._child_rows, self._vectors.names)

    @cached_property
    def mean_heads(self) -> Tensor:
        """The mean head vector of the children of each anchor that has any [I, D]."""
        return self._mean(self._head_rows[1][self._child_rows], self.heads)

    def mean_of(self, vectors: Tensor) -> Tensor:
        """Return the mean of the children of each anchor that has any: [N, D] → [I, D]."""
        return self._mean(self._children, vectors)

    def occurring(self, vectors: Tensor) -> Tensor:
        """Select the concepts that occur from all concepts: [N, D] → [n, D]."""
        return vectors if self._used is None else vectors.index_select(0, self._used)

    def write(self, values: Tensor, rows: slice, result: Tensor) -> None:
        """Write numbers of the anchors with children [I, B] into those of some anchors [a, B]."""
        first, last = self.parents.searchsorted([rows.start, rows.stop]).tolist()
        own = self._moved(self.parents[first:last] - rows.start)
        result[own] = values[first:last]

    def _mean(self, rows: Indices, vectors: Tensor) -> Tensor:
        if not len(rows):
            return vectors.new_zeros(0, vectors.shape[1])
        starts = self._moved(self._offsets[:-1])
        return F.embedding_bag(self._moved(rows), vectors, starts, mode="mean")

    def _moved(self, array: Indices) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
