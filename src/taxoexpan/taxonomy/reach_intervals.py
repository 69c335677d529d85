"""Reachability in an acyclic graph, as intervals of numbers (Agrawal, Borgida, Jagadish 1989).

All rows below a row in a spanning forest have consecutive numbers. So the rows that can be reached
are one interval in a tree, and few intervals in a graph that is almost a tree.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.adjacency import Adjacency, compute_levels, ranges
from taxoexpan.taxonomy.arrays import Indices


@dataclass(frozen=True)
class ReachIntervals:
    """The rows that can be reached from each row of an acyclic graph, including the row itself.

    Args:
        numbers: the number of each row [N].
        rows: the row of each number [N].
        sets: the intervals of row i are those from `sets[i]` up to `sets[i + 1]` [N + 1].
        starts: the first number of each interval.
        stops: the number after the last number of each interval.
    """

    numbers: Indices
    rows: Indices
    sets: Indices
    starts: Indices
    stops: Indices

    @classmethod
    def build(cls, targets_of: Adjacency, sources_of: Adjacency) -> ReachIntervals:
        """Number the rows of a graph, given in both directions, and collect the intervals."""
        size = len(targets_of)
        levels = compute_levels(sources_of, targets_of)[0]
        order = np.argsort(levels, kind="stable")
        above = _deepest_sources(sources_of, levels)
        numbers, ends = _number(above, order)
        rows = np.empty(size, dtype=np.int64)
        rows[numbers] = np.arange(size)
        # What a row reaches outside its interval begins with a relation that leaves the interval.
        sources, targets = targets_of.of_many(np.arange(size))
        leaves = (numbers[targets] < numbers[sources]) | (numbers[targets] >= ends[sources])
        affected = np.zeros(size, dtype=np.bool_)
        affected[sources[leaves]] = True
        for level in sources_of.levels_down(np.flatnonzero(affected)):
            affected[level] = True
        followed = leaves | affected[targets]
        others = Adjacency.from_pairs(sources[followed], targets[followed], size)
        wanted = order[affected[order]][::-1]
        is_target = sources_of.degrees > 0
        lengths, pairs = _collect(wanted, others, numbers, ends, is_target)
        counts = np.ones(size, dtype=np.int64)
        counts[wanted] = lengths
        sets = np.concatenate([[0], np.cumsum(counts)])
        starts = np.repeat(numbers, counts)
        stops = np.repeat(ends, counts)
        cells = ranges(sets[wanted], lengths)
        starts[cells], stops[cells] = pairs[::2], pairs[1::2]
        return cls(numbers, rows, sets, starts, stops)

    def intervals(self, wanted: Indices) -> tuple[Indices, Indices, Indices]:
        """Return disjoint, ascending intervals of many rows: (index into `wanted`, start, stop)."""
        counts = self.sets[wanted + 1] - self.sets[wanted]
        cells = ranges(self.sets[wanted], counts)
        return np.repeat(np.arange(len(wanted)), counts), self.starts[cells], self.stops[cells]

    def counts(self, wanted: Indices) -> Indices:
        """Return the number of rows that can be reached from each row, including itself."""
        owners, starts, stops = self.intervals(wanted)
        return np.bincount(owners, stops - starts, len(wanted)).astype(np.int64)

    def pairs(self, wanted: Indices) -> tuple[Indices, Indices]:
        """Return all reachable rows, including the rows themselves: (index into `wanted`, row)."""
        owners, starts, stops = self.intervals(wanted)
        lengths = stops - starts
        return np.repeat(owners, lengths), self.rows[ranges(starts, lengths)]

    def pairs_among(self, wanted: Indices, candidates: Indices) -> tuple[Indices, Indices]:
        """Return reachable candidates: (index into `wanted`, index into `candidates`)."""
        owners, starts, stops = self.intervals(wanted)
        order = np.argsort(self.numbers[candidates], kind="stable")
        ascending = self.numbers[candidates][order]
        first = np.searchsorted(ascending, starts)
        counts = np.searchsorted(ascending, stops) - first
        return np.repeat(owners, counts), order[ranges(first, counts)]

    def contain(self, wanted: Indices, targets: Indices) -> NDArray[np.bool_]:
        """Return whether each target [N, B] can be reached from the row of its column [B]."""
        owners, starts, stops = self.intervals(wanted)
        width = len(self.numbers) + 1
        own = np.arange(len(wanted)) * width
        # An interval of another column ends before the first number of this one.
        keys = self.numbers[targets] + own
        nearest = np.searchsorted(owners * width + starts, keys, side="right") - 1
        return (nearest >= 0) & (keys < (owners * width + stops)[nearest])


class AncestorIntervals:
    """The ancestors of some concepts, as intervals for these concepts only."""

    def __init__(self, parents_of: Adjacency, concepts: Indices) -> None:
        self._members = np.unique(np.concatenate([concepts, *parents_of.levels_down(concepts)]))
        owners, parents = parents_of.of_many(self._members)
        above = np.searchsorted(self._members, parents)
        size = len(self._members)
        upwards = Adjacency.from_pairs(owners, above, size)
        self._reach = ReachIntervals.build(upwards, Adjacency.from_pairs(above, owners, size))

    def pairs(self, concepts: Indices) -> tuple[Indices, Indices]:
        """Return all ancestors, including the concepts: (index into `concepts`, ancestor)."""
        owners, members = self._reach.pairs(np.searchsorted(self._members, concepts))
        return owners, self._members[members]

    def contain(self, concepts: Indices, others: Indices) -> NDArray[np.bool_]:
        """Return whether `others` [N, B] are the concepts of their columns [B], or ancestors."""
        ours, theirs = (np.searchsorted(self._members, each) for each in (concepts, others))
        return self._reach.contain(ours, theirs)


def _deepest_sources(sources_of: Adjacency, levels: Indices) -> Indices:
    """Return the deepest source of each row, which reaches the fewest other rows, or -1."""
    targets, sources = sources_of.of_many(np.arange(len(sources_of)))
    order = np.lexsort((-levels[sources], targets))
    targets, first = np.unique(targets[order], return_index=True)
    above = np.full(len(sources_of), -1)
    above[targets] = sources[order][first]
    return above


def _number(above: Indices, order: Indices) -> tuple[Indices, Indices]:
    """Number the rows of a forest in preorder, given their sources and a topological order."""
    # Plain lists: a chain has as many levels as rows, so there is nothing to do at once.
    sources = above.tolist()
    downwards = order.tolist()
    sizes = [1] * len(sources)
    for row in reversed(downwards):
        if sources[row] >= 0:
            sizes[sources[row]] += sizes[row]
    following = [0] * (len(sources) + 1)  # the next free number below each row, and of a root
    numbers = [0] * len(sources)
    for row in downwards:
        source = sources[row]
        numbers[row] = following[source]
        following[source] += sizes[row]
        following[row] = numbers[row] + 1
    starts = np.array(numbers, dtype=np.int64)
    return starts, starts + np.array(sizes, dtype=np.int64)


def _collect(
    wanted: Indices, others: Adjacency, numbers: Indices, ends: Indices, kept: NDArray[np.bool_]
) -> tuple[Indices, Indices]:
    """Return the number of intervals of each row, and all their ends; targets come before sources.

    Only the rows in `kept` are targets of others; the intervals of the rest need little memory.
    """
    found: dict[int, list[tuple[int, int]]] = {}
    lengths = array("q")
    flat = array("q")
    starts = numbers.tolist()
    stops = ends.tolist()
    for row in wanted.tolist():
        intervals = [(starts[row], stops[row])]
        for target in others.of(row).tolist():
            intervals += found.get(target) or [(starts[target], stops[target])]
        united = _united(intervals)
        if kept[row]:
            found[row] = united
        lengths.append(len(united))
        flat.extend(chain.from_iterable(united))
    return np.array(lengths, dtype=np.int64), np.array(flat, dtype=np.int64)


def _united(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge intervals that overlap or touch."""
    intervals.sort()
    united: list[tuple[int, int]] = []
    start, stop = intervals[0]
    for other_start, other_stop in intervals:
        if other_start > stop:
            united.append((start, stop))
            start = other_start
            stop = other_stop
        elif other_stop > stop:
            stop = other_stop
    united.append((start, stop))
    return united
