"""Anchors with all their children, for features that compare a query with the children."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices


class Families:
    """The children of A anchors (I of them with children), as rows of the concepts that occur."""

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
    def rows_of_parents(self) -> Tensor:
        """The rows of the anchors with children, on the device [I]."""
        return self._moved(self.parents)

    @cached_property
    def own_of_parents(self) -> Tensor:
        """The row of each anchor with children among the concepts that occur [I]."""
        return self.own.index_select(0, self.rows_of_parents)

    @cached_property
    def heads_of_parents(self) -> Tensor:
        """The row of the head word of each anchor with children in `heads` [I]."""
        return self.own_heads.index_select(0, self.rows_of_parents)

    @cached_property
    def _head_rows(self) -> tuple[Indices, Indices]:
        """The distinct head words in use, and the head word of each concept that occurs."""
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
    def children(self) -> RowGroups:
        """The children of each anchor with children, among the concepts that occur."""
        return self._groups(self._child_rows, self._offsets)

    @cached_property
    def head_children(self) -> RowGroups:
        """The head words of the children of each anchor with children, in `heads`."""
        return self._groups(self._head_rows[1][self._child_rows], self._offsets)

    def mean_of(self, vectors: Tensor) -> Tensor:
        """Return the mean over the children of each anchor with children: [N, D] → [I, D]."""
        return self._groups(self._children, self._offsets).mean(vectors)

    def occurring(self, vectors: Tensor) -> Tensor:
        """Select the concepts that occur from all concepts: [N, D] → [n, D]."""
        return vectors if self._used is None else vectors.index_select(0, self._used)

    def write(self, values: Tensor, rows: slice, result: Tensor) -> None:
        """Write values of the anchors with children [k, I, B] to a slice of rows [k, a, B]."""
        first, last = self.parents.searchsorted([rows.start, rows.stop]).tolist()
        own = self._moved(self.parents[first:last] - rows.start)
        result[:, own] = values[:, first:last]

    def _groups(self, rows: Indices, offsets: Indices) -> RowGroups:
        group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        return RowGroups(*map(self._moved, (rows, offsets[:-1], group)))

    def _moved(self, array: Indices) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


@dataclass(frozen=True)
class RowGroups:
    """G nonempty groups of rows [M], with the start of each group [G] and the group of each row."""

    rows: Tensor
    starts: Tensor
    group: Tensor

    def maximum(self, values: Tensor) -> Tensor:
        """Return the maximum of each group: [n, B] → [G, B]."""
        members = values.index_select(0, self.rows)
        result = values.new_full((len(self.starts), values.shape[1]), -torch.inf)
        return result.scatter_reduce_(0, self.group[:, None].expand_as(members), members, "amax")

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean of each group: [n, B] → [G, B]."""
        if not len(self.rows):
            return values.new_zeros(0, values.shape[1])
        return F.embedding_bag(self.rows, values, self.starts, mode="mean")
