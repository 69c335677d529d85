"""Anchors with all their children, for features that compare a query with the children."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import ranges
from taxoexpan.taxonomy.arrays import Indices

WIDTHS = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32])
"""The sizes of the runs that groups are split into; a shorter run repeats its last row."""
MAX_CELLS = {"cpu": 1 << 18, "cuda": 1 << 26}
"""Numbers that are copied at a time: few enough for the cache of a CPU."""


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
    def nearest(self) -> GroupedMaximum:
        """The maximum over children of values of the concepts that occur: [n, B] → [I, B]."""
        return GroupedMaximum(self._child_rows, self._offsets, self.device)

    @cached_property
    def nearest_head(self) -> GroupedMaximum:
        """The maximum over children of values of head words: [V, B] → [I, B]."""
        heads, size = self._head_rows[1][self._child_rows], max(len(self._head_rows[0]), 1)
        family = np.repeat(np.arange(len(self.parents)), np.diff(self._offsets))
        distinct = np.unique(family * size + heads)
        counts = np.bincount(distinct // size, minlength=len(self.parents))
        return GroupedMaximum(distinct % size, np.append(0, np.cumsum(counts)), self.device)

    @cached_property
    def mean_names(self) -> Tensor:
        """The mean name vector of the children of each anchor with children [I, D]."""
        return self._mean(self._child_rows, self._vectors.names)

    @cached_property
    def mean_heads(self) -> Tensor:
        """The mean head vector of the children of each anchor with children [I, D]."""
        return self._mean(self._head_rows[1][self._child_rows], self.heads)

    def mean_of(self, vectors: Tensor) -> Tensor:
        """Return the mean over the children of each anchor with children: [N, D] → [I, D]."""
        return self._mean(self._children, vectors)

    def occurring(self, vectors: Tensor) -> Tensor:
        """Select the concepts that occur from all concepts: [N, D] → [n, D]."""
        return vectors if self._used is None else vectors.index_select(0, self._used)

    def write(self, values: Tensor, rows: slice, result: Tensor) -> None:
        """Write values of the anchors with children [k, I, B] to a slice of rows [k, a, B]."""
        first, last = self.parents.searchsorted([rows.start, rows.stop]).tolist()
        own = self._moved(self.parents[first:last] - rows.start)
        result[:, own] = values[:, first:last]

    def _mean(self, rows: Indices, vectors: Tensor) -> Tensor:
        if not len(rows):
            return vectors.new_zeros(0, vectors.shape[1])
        starts = self._moved(self._offsets[:-1])
        return F.embedding_bag(self._moved(rows), vectors, starts, mode="mean")

    def _moved(self, array: Indices) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


class GroupedMaximum:
    """The maximum of each of G nonempty groups of rows: [n, B] → [G, B].

    Runs of equal length are reduced together. Large groups are split into several runs whose maxima
    are reduced again, so they cost no more per row than small groups. Group g has the rows
    `members[offsets[g]:offsets[g + 1]]`.
    """

    def __init__(self, members: Indices, offsets: Indices, device: torch.device) -> None:
        widest = int(WIDTHS[-1])
        pieces = -(-np.diff(offsets) // widest)
        group = np.repeat(np.arange(len(pieces)), pieces)
        starts = offsets[:-1][group] + widest * ranges(np.zeros_like(pieces), pieces)
        lengths = np.minimum(offsets[1:][group] - starts, widest)
        kind = np.searchsorted(WIDTHS, lengths)
        order = np.argsort(kind, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self._tables: list[Tensor] = []
        for number, width in enumerate(WIDTHS.tolist()):
            runs = np.flatnonzero(kind == number)
            steps = np.minimum(np.arange(width), lengths[runs, None] - 1)
            table = torch.from_numpy(members[starts[runs, None] + steps])
            self._tables.append(table.to(device))
        self._runs, self._place = len(group), torch.from_numpy(place).to(device)
        self._rest: GroupedMaximum | None = None
        if len(group) > len(pieces):
            self._rest = GroupedMaximum(place, np.append(0, np.cumsum(pieces)), device)

    def __call__(self, values: Tensor) -> Tensor:
        """Return the maximum of each group in each column."""
        size = values.shape[1]
        maxima, first = values.new_empty(self._runs, size), 0
        for table in self._tables:
            width = table.shape[1]
            cells = MAX_CELLS.get(values.device.type, MAX_CELLS["cpu"])
            for part in table.split(max(1, cells // max(width * size, 1))):
                result = maxima[first : first + len(part)]
                first += len(part)
                if width == 1:
                    torch.index_select(values, 0, part[:, 0], out=result)
                    continue
                rows = values.index_select(0, part.reshape(-1)).view(-1, width, size)
                torch.amax(rows, 1, out=result)
        if self._rest is not None:
            return self._rest(maxima)
        return maxima.index_select(0, self._place)
