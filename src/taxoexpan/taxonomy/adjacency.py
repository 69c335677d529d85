"""Adjacency lists in compressed sparse rows, and the levels and cycles of such a graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.arrays import Indices

FEW = 16
"""The neighbors of up to this many rows are found faster one by one than all at once."""


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

    @property
    def first_targets(self) -> Indices:
        """The first target of each row, or the row itself if it has no targets."""
        first = np.arange(len(self))
        rows = np.flatnonzero(self.degrees)
        first[rows] = self.targets[self.offsets[rows]]
        return first

    def of(self, row: int) -> Indices:
        """Return the neighbors of one row."""
        return self.targets[self.offsets[row] : self.offsets[row + 1]]

    def of_many(self, rows: Indices) -> tuple[Indices, Indices]:
        """Return the neighbors of many rows, as (index into `rows`, neighbor)."""
        starts = self.offsets[rows]
        counts = self.offsets[rows + 1] - self.offsets[rows]
        owners = np.repeat(np.arange(len(rows)), counts)
        return owners, self.targets[ranges(starts, counts)]

    def of_few(self, rows: Indices) -> list[int] | None:
        """Return the neighbors of a few rows, or None if arrays would be faster than a loop."""
        if len(rows) > FEW:
            return None
        ends = [(self.offsets[row], self.offsets[row + 1]) for row in rows.tolist()]
        if sum(stop - start for start, stop in ends) > FEW:
            return None
        return [target for start, stop in ends for target in self.targets[start:stop].tolist()]

    def between(self, start: int, stop: int) -> Adjacency:
        """Return the rows from `start` up to but not including `stop` as a smaller adjacency."""
        offsets = self.offsets[start : stop + 1]
        return Adjacency(offsets - offsets[0], self.targets[offsets[0] : offsets[-1]])

    def levels_down(self, start: Indices) -> Iterator[Indices]:
        """Yield the rows that can be reached from `start`, breadth first and each row once."""
        seen = np.zeros(len(self), dtype=np.bool_)
        seen[start] = True
        frontier = np.unique(start)
        while True:
            few = self.of_few(frontier)
            if few is None:
                frontier = np.unique(self.of_many(frontier)[1])
                frontier = frontier[~seen[frontier]]
            else:
                new = sorted(row for row in {*few} if not seen[row])
                frontier = np.array(new, dtype=np.int64)
            if not len(frontier):
                return
            seen[frontier] = True
            yield frontier


def ranges(starts: Indices, counts: Indices) -> Indices:
    """Return the concatenated ranges start, start + 1, …, start + count - 1 of all pairs."""
    ends = np.cumsum(counts)
    return np.repeat(starts - (ends - counts), counts) + np.arange(counts.sum())


def follow_to_the_end(following: Indices) -> Indices:
    """Return the last row of the chain from each row; a last row is followed by itself."""
    # Every round doubles the distance, so even a very long chain takes few rounds.
    while not np.array_equal(following, further := following[following]):
        following = further
    return following


def compute_levels(parents_of: Adjacency, children_of: Adjacency) -> tuple[Indices, list[Indices]]:
    """Return the level of each node, and some cycles; with cycles, the levels are not valid."""
    waiting = parents_of.degrees.copy()
    levels = np.zeros(len(parents_of), dtype=np.int64)
    frontier = np.flatnonzero(waiting == 0)
    level = 0
    while len(frontier):
        levels[frontier] = level
        below = children_of.of_few(frontier)
        if below is None:
            wide, arrivals = np.unique(children_of.of_many(frontier)[1], return_counts=True)
            waiting[wide] -= arrivals
            frontier = wide[waiting[wide] == 0]
        else:
            for node in below:
                waiting[node] -= 1
            frontier = np.array([node for node in {*below} if not waiting[node]], dtype=np.int64)
        level += 1
    levels.setflags(write=False)
    return levels, list(_cycles(parents_of, waiting > 0))


def _cycles(parents_of: Adjacency, unvisited: NDArray[np.bool_]) -> Iterator[Indices]:
    """Yield some cycles without common nodes, each in the direction from parents to children."""
    for start in np.flatnonzero(unvisited).tolist():
        walk: dict[int, int] = {}
        node = start
        while unvisited[node] and node not in walk:
            walk[node] = len(walk)
            above = parents_of.of(node)
            above = above[unvisited[above]]
            if not len(above):
                break
            node = int(above[0])
        else:
            if walk:
                yield np.array(list(walk)[walk[node] :][::-1])
        # Other cycles through these nodes are reported after this one is removed.
        unvisited[list(walk)] = False
