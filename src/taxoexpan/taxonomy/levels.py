"""Levels of a directed graph: the longest distance of each node from a root."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices


def compute_levels(parents_of: Adjacency, children_of: Adjacency) -> tuple[Indices, list[Indices]]:
    """The level of each node, and some cycles; levels are valid only if there is no cycle."""
    waiting = parents_of.degrees.copy()
    levels = np.zeros(len(parents_of), dtype=np.int64)
    frontier, level = np.flatnonzero(waiting == 0), 0
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
    """Some cycles that share no node, each from a parent to its child and so on."""
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
