"""Adjacency lists in compressed sparse rows, for graphs with millions of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from taxoexpan.taxonomy.arrays import Indices


@dataclass(frozen=True, eq=False)
class Adjacency:
    """A directed graph; the neighbors of row i are `targets[offsets[i]:offsets[i + 1]]`."""

    offsets: Indices
    targets: Indices

    @classmethod
    def from_pairs(cls, rows: Indices, targets: Indices, size: int) -> Adjacency:
        """Group `targets` by row; the targets of a row keep their order."""
        order = np.argsort(rows, kind="stable")
        offsets = np.zeros(size + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=size), out=offsets[1:])
        adjacency = cls(offsets, targets[order])
        adjacency.offsets.setflags(write=False)
        adjacency.targets.setflags(write=False)
        return adjacency

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def degrees(self) -> Indices:
        """The number of neighbors of each row."""
        return np.diff(self.offsets)

    def of(self, row: int) -> Indices:
        """The neighbors of one row."""
        return self.targets[self.offsets[row] : self.offsets[row + 1]]

    def of_many(self, rows: Indices) -> tuple[Indices, Indices]:
        """The neighbors of many rows, as (index into `rows`, neighbor)."""
        starts, counts = self.offsets[rows], self.offsets[rows + 1] - self.offsets[rows]
        owners = np.repeat(np.arange(len(rows)), counts)
        return owners, self.targets[ranges(starts, counts)]

    def between(self, start: int, stop: int) -> Adjacency:
        """The rows from `start` up to but not including `stop`, as a smaller adjacency."""
        offsets = self.offsets[start : stop + 1]
        return Adjacency(offsets - offsets[0], self.targets[offsets[0] : offsets[-1]])

    def levels_down(self, start: Indices) -> Iterator[Indices]:
        """Yield the rows that can be reached from `start`, breadth first, each row once."""
        seen = np.zeros(len(self), dtype=np.bool_)
        seen[start] = True
        frontier = np.unique(start)
        while True:
            frontier = np.unique(self.of_many(frontier)[1])
            frontier = frontier[~seen[frontier]]
            if not len(frontier):
                return
            seen[frontier] = True
            yield frontier

    def reach_of_many(self, rows: Indices) -> tuple[Indices, Indices]:
        """All rows reachable from each row, without itself, as (index into `rows`, reached)."""
        size = max(len(self), 1)
        owners, reached = np.arange(len(rows)), rows
        layers: list[Indices] = []
        while len(reached):
            sources, targets = self.of_many(reached)
            keys = np.unique(owners[sources] * size + targets)
            layers.append(keys)
            owners, reached = keys // size, keys % size
        keys = np.unique(np.concatenate(layers)) if layers else np.zeros(0, dtype=np.int64)
        return keys // size, keys % size


def ranges(starts: Indices, counts: Indices) -> Indices:
    """The concatenated ranges start, start + 1, …, start + count - 1 of all pairs."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - counts), counts) + np.arange(total)
