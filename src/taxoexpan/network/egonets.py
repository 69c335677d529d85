"""Batches of ego networks as flat index arrays.

The egonet of an anchor is a star: its parents (which would be the query's grandparents), the anchor
itself, and its children (the query's siblings). Messages go from parent to child only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
import torch

from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import ranges
from taxoexpan.taxonomy.arrays import Indices


class Position(IntEnum):
    """The position of a node in an egonet, relative to the query."""

    GRANDPARENT = 0
    ANCHOR = 1
    SIBLING = 2


@dataclass(frozen=True)
class Egonets:
    """A batch of A egonets over C distinct concepts.

    The batch has G distinct grandparents in E entries, A anchors and S siblings. A grandparent
    receives only its own message, whatever the egonet, so each distinct one is a single node. The
    nodes are ordered by position (grandparents, anchors, siblings), so each position is a slice.

    Args:
        concepts: the index of each concept in the taxonomy [C].
        nodes: the row of each node in `concepts` [G + A + S].
        grandparent: the node of each entry of a grandparent [E].
        grandparent_of: the egonet of each entry [E], ascending.
        sibling_of: the egonet of each sibling [S], ascending.
        counts: the number of nodes of each egonet by position [A, 3], stored so that no device
            needs to count.
        near: the number of concepts that are anchors or siblings; they come first in `concepts`.
    """

    concepts: torch.Tensor
    nodes: torch.Tensor
    grandparent: torch.Tensor
    grandparent_of: torch.Tensor
    sibling_of: torch.Tensor
    counts: torch.Tensor
    near: int

    @property
    def size(self) -> int:
        """The number of egonets, A."""
        return len(self.counts)

    @property
    def sizes(self) -> list[int]:
        """The number of nodes at each position: G, A, S."""
        siblings = len(self.sibling_of)
        return [len(self.nodes) - self.size - siblings, self.size, siblings]

    def to(self, device: torch.device) -> Egonets:
        """Return the same batch on another device."""
        arrays = {n: v for n, v in vars(self).items() if isinstance(v, torch.Tensor)}
        moved: dict[str, Any] = {n: v.to(device, non_blocking=True) for n, v in arrays.items()}
        return replace(self, **moved)


@dataclass(frozen=True)
class LeftOutSiblings:
    """B egonets that are also needed without one of their siblings.

    Args:
        egonets: the index of each egonet in its batch [B].
        rows: the row of the sibling to leave out [B], or -1 for none.
    """

    egonets: torch.Tensor
    rows: torch.Tensor

    def counts(self, counts: torch.Tensor) -> torch.Tensor:
        """Return the number of remaining nodes by position, given all counts: [A, 3] → [B, 3]."""
        remaining = counts.index_select(0, self.egonets)
        remaining[:, Position.SIBLING] -= (self.rows >= 0).to(counts.dtype)
        return remaining


@dataclass(frozen=True)
class Siblings:
    """The children that stand in a batch of egonets.

    Args:
        relations: the index of each relation (anchor, child) in the taxonomy's `children_of` [S].
        sibling_of: the egonet of each child [S].
    """

    relations: Indices
    sibling_of: Indices


def spread_siblings(taxonomy: Taxonomy, anchors: Indices, max_siblings: int) -> Siblings:
    """Choose all children of each anchor, or `max_siblings` of them at equal distances.

    The choice is always the same.
    """
    starts, degrees = _children(taxonomy, anchors)
    counts = np.minimum(degrees, max_siblings)
    sibling_of = np.repeat(np.arange(len(anchors)), counts)
    steps = ranges(np.zeros_like(counts), counts)
    offsets = steps * degrees[sibling_of] // np.maximum(counts[sibling_of], 1)
    return Siblings(starts[sibling_of] + offsets, sibling_of)


def draw_siblings(
    taxonomy: Taxonomy,
    anchors: Indices,
    max_siblings: int,
    hide_rate: float,
    rng: np.random.Generator,
) -> Siblings:
    """Draw up to `max_siblings` children of each anchor, and none for a fraction of the anchors.

    The children are a window of the list of children that starts anywhere and may wrap around: no
    child occurs twice, and nothing is sorted. A hub costs no more than `max_siblings`.
    """
    starts, degrees = _children(taxonomy, anchors)
    counts = np.minimum(degrees, max_siblings)
    counts[rng.random(len(anchors)) < hide_rate] = 0
    sibling_of = np.repeat(np.arange(len(anchors)), counts)
    shifts = rng.integers(0, np.maximum(degrees, 1))
    steps = ranges(np.zeros_like(counts), counts)
    offsets = (steps + shifts[sibling_of]) % np.maximum(degrees, 1)[sibling_of]
    return Siblings(starts[sibling_of] + offsets, sibling_of)


def _children(taxonomy: Taxonomy, anchors: Indices) -> tuple[Indices, Indices]:
    """Return the first relation of each anchor in `children_of`, and its number of children."""
    offsets = taxonomy.children_of.offsets
    return offsets[anchors], offsets[anchors + 1] - offsets[anchors]


def build_egonets(
    taxonomy: Taxonomy, anchors: Indices, siblings: Siblings, without: Indices | None = None
) -> Egonets:
    """Build the egonets of these anchors, without a loop over them.

    `without` [A] has one grandparent to leave out of each egonet.
    """
    grandparent_of, parents = taxonomy.parents_of.of_many(anchors)
    if without is not None:
        kept = parents != without[grandparent_of]
        grandparent_of, parents = grandparent_of[kept], parents[kept]
    grandparents, grandparent = np.unique(parents, return_inverse=True)
    children = taxonomy.children_of.targets[siblings.relations]
    near, near_rows = np.unique(np.concatenate([anchors, children]), return_inverse=True)
    concepts, grandparent_rows = _append_missing(near, grandparents)
    counts = np.ones((len(anchors), len(Position)), dtype=np.float32)
    counts[:, Position.GRANDPARENT] = np.bincount(grandparent_of, minlength=len(anchors))
    counts[:, Position.SIBLING] = np.bincount(siblings.sibling_of, minlength=len(anchors))
    return Egonets(
        torch.from_numpy(concepts),
        torch.from_numpy(np.concatenate([grandparent_rows, near_rows])),
        torch.from_numpy(grandparent),
        torch.from_numpy(grandparent_of),
        torch.from_numpy(siblings.sibling_of),
        torch.from_numpy(counts),
        len(near),
    )


def _append_missing(known: Indices, wanted: Indices) -> tuple[Indices, Indices]:
    """Append the wanted indices that are not known, and return the row of each wanted one.

    Both inputs are ascending.
    """
    if not len(known):
        return wanted, np.arange(len(wanted))
    rows = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    missing = known[rows] != wanted
    rows[missing] = len(known) + np.arange(np.count_nonzero(missing))
    return np.concatenate([known, wanted[missing]]), rows
