"""The maximum arborescence: the best tree below a root (Chu and Liu; Edmonds)."""

from __future__ import annotations

import numpy as np

from taxoexpan.taxonomy.arrays import Floats, Indices

ROOT = -1
"""The parent of a node that is attached to the root."""


def best_arborescence(
    root: Floats, parents: Indices, children: Indices, weights: Floats
) -> Indices:
    """Return the parent of each of Q nodes that maximizes the sum of the edge weights: [Q].

    Edges lead from the root with the weights `root` [Q], and from `parents[e]` to `children[e]`
    with `weights[e]`. Among equal weights the root comes first, then the edges in the given order.

    >>> best_arborescence(np.zeros(2), np.array([0, 1]), np.array([1, 0]), np.array([3.0, 2.0]))
    array([-1,  0])
    """
    count = len(root)
    # Internally the root is node 0, and its edges come first.
    above = np.concatenate([np.zeros(count, dtype=np.int64), parents + 1])
    below = np.concatenate([np.arange(count), children]) + 1
    remaining = np.concatenate([root, weights]).astype(np.float64)
    levels: list[tuple[Indices, Indices]] = []  # each edge's lower end, each node's best edge
    heads, tails = below, above
    while True:
        best = _best_edges(tails, heads, remaining)
        upward = np.concatenate([[0], tails[best[1:]]])
        cycle = _cycles(upward)
        if not (cycle >= 0).any():
            break
        levels.append((heads, best))
        # Contract each cycle to one node. Entering it at a node replaces the node's own best edge.
        remaining = np.where(cycle[heads] >= 0, remaining - remaining[best[heads]], remaining)
        members = np.where(cycle >= 0, cycle, np.arange(len(cycle)))
        merged = np.unique(members, return_inverse=True)[1]
        heads, tails = merged[heads], merged[tails]
    for heads, inside in reversed(levels):
        # Expand: an edge that enters a cycle replaces the edge inside it that led to the same node.
        entering = best[1:]
        best = inside.copy()
        best[heads[entering]] = entering
    return above[best[1:]] - 1


def _best_edges(tails: Indices, heads: Indices, weights: Floats) -> Indices:
    """Return the heaviest edge to each node, the first of equal ones; 0 for the root."""
    between = np.flatnonzero(tails != heads)
    order = between[np.lexsort((-weights[between], heads[between]))]
    reached, first = np.unique(heads[order], return_index=True)
    best = np.zeros(int(reached.max(initial=0)) + 1, dtype=np.int64)
    best[reached] = order[first]
    return best


def _cycles(upward: Indices) -> Indices:
    """Return the lowest node of the cycle that contains each node, or -1."""
    ahead, lowest = upward, np.minimum(np.arange(len(upward)), upward)
    for _ in range(len(upward).bit_length()):
        lowest = np.minimum(lowest, lowest[ahead])
        ahead = ahead[ahead]
    # After more steps than there are nodes, every walk is on a cycle, and covers all its nodes.
    cycle = np.full(len(upward), -1)
    cycle[ahead] = lowest[ahead]
    cycle[0] = -1
    return cycle
