"""The best tree below a root, one parent a node and no cycle, after Chu and Liu, and Edmonds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.arrays import Indices

Floats = NDArray[np.float64]

ROOT = -1
"""The parent of what hangs on the root."""


def best_arborescence(
    root: Floats, parents: Indices, children: Indices, weights: Floats
) -> Indices:
    """The parent of each of Q nodes, so that the sum of the weights is as large as can be: [Q].

    Every node may hang on the root, at the weight `root` [Q], and `children[e]` may hang on
    `parents[e]` at `weights[e]`. Of edges that weigh the same the root's counts first, then those
    in the order given.

    >>> best_arborescence(np.zeros(2), np.array([0, 1]), np.array([1, 0]), np.array([3.0, 2.0]))
    array([-1,  0])
    """
    count = len(root)
    # The root is node 0 here, and its edges come first.
    above = np.concatenate([np.zeros(count, dtype=np.int64), parents + 1])
    below = np.concatenate([np.arange(count), children]) + 1
    left = np.concatenate([root, weights]).astype(np.float64)
    levels: list[tuple[Indices, Indices]] = []  # each edge's lower end, each node's best edge
    heads, tails = below, above
    while True:
        best = _best_edges(tails, heads, left)
        upward = np.concatenate([[0], tails[best[1:]]])
        cycle = _cycles(upward)
        if not (cycle >= 0).any():
            break
        levels.append((heads, best))
        # A cycle becomes one node. To enter it at one of its nodes is to give up that node's edge.
        left = np.where(cycle[heads] >= 0, left - left[best[heads]], left)
        members = np.where(cycle >= 0, cycle, np.arange(len(cycle)))
        merged = np.unique(members, return_inverse=True)[1]
        heads, tails = merged[heads], merged[tails]
    for heads, inside in reversed(levels):
        # What leads to a cycle takes the place of the edge inside it that led to the same node.
        entering = best[1:]
        best = inside.copy()
        best[heads[entering]] = entering
    return above[best[1:]] - 1


def _best_edges(tails: Indices, heads: Indices, weights: Floats) -> Indices:
    """The heaviest edge to each node, the first of those that weigh the same; 0 for the root."""
    between = np.flatnonzero(tails != heads)
    order = between[np.lexsort((-weights[between], heads[between]))]
    reached, first = np.unique(heads[order], return_index=True)
    best = np.zeros(int(reached.max(initial=0)) + 1, dtype=np.int64)
    best[reached] = order[first]
    return best


def _cycles(upward: Indices) -> Indices:
    """For each node of a cycle the least node of it, and -1 for all others."""
    ahead, least = upward, np.minimum(np.arange(len(upward)), upward)
    for _ in range(len(upward).bit_length()):
        least = np.minimum(least, least[ahead])
        ahead = ahead[ahead]
    # After more steps than there are nodes each stands on a cycle, and on each of its nodes one.
    cycle = np.full(len(upward), -1)
    cycle[ahead] = least[ahead]
    cycle[0] = -1
    return cycle
