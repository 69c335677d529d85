"""Batches of ego networks as flat index arrays.

The egonet of an anchor is a star: its parents (the query's grandparents), the anchor, and its
children (the query's siblings). Messages go from parent to child only.
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
    """A batch of A egonets over C concepts, with G distinct grandparents, A anchors and S siblings.

    A grandparent receives only its own message, so each distinct grandparent is one node, and E
    entries assign these nodes to egonets. The nodes are ordered by position (grandparents, anchors,
    siblings).

    Args:
        concepts: the index of each concept in the taxonomy [C].
        nodes: the row of each node in `concepts` [G + A + S].
        grandparent: the node of each entry [E].
        grandparent_of: the egonet of each entry [E], ascending.
        sibling_of: the egonet of each sibling [S], ascending.
        counts: the number of nodes of each egonet by position [A, 3].
    """

    concepts: torch.Tensor
    nodes: torch.Tensor
    grandparent: torch.Tensor
    grandparent_of: torch.Tensor
    sibling_of: torch.Tensor
    counts: torch.Tensor

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
    """B egonets, each without one sibling.

    Args:
        egonets: the index of each egonet in its batch [B].
        rows: the row of the sibling to leave out [B], or -1 for none.
    """

    egonets: torch.Tensor
    rows: torch.Tensor

    def counts(self, counts: torch.Tensor) -> torch.Tensor:
        """Return the remaining number of nodes by position, given all counts: [A, 3] → [B, 3]."""
        remaining = counts.index_select(0, self.egonets)
        remaining[:, Position.SIBLING] -= (self.rows >= 0).to(counts.dtype)
        return remaining


@dataclass(frozen=True)
class Siblings:
    """The siblings in a batch: their relations in `children_of` [S], and their egonets [S]."""

    relations: Indices
    sibling_of: Indices


def spread_siblings(taxonomy: Taxonomy, anchors: Indices, max_siblings: int) -> Siblings:
    """Return all children of each anchor, or `max_siblings` of them at equal distances."""
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
    """Draw a random window of `max_siblings` children per anchor, or none with `hide_rate`."""
    starts, degrees = _children(taxonomy, anchors)
    counts = np.minimum(degrees, max_siblings)
    counts[rng.random(len(anchors)) < hide_rate] = 0
    sibling_of = np.repeat(np.arange(len(anchors)), counts)
    shifts = rng.integers(0, np.maximum(degrees, 1))
    steps = ranges(np.zeros_like(counts), counts)
    offsets = (steps + shifts[sibling_of]) % np.maximum(degrees, 1)[sibling_of]
    return Siblings(starts[sibling_of] + offsets, sibling_of)


def _children(taxonomy: Taxonomy, anchors: Indices) -> tuple[Indices, Indices]:
    """Return the first relation in `children_of` and the number of children of each anchor."""
    offsets = taxonomy.children_of.offsets
    return offsets[anchors], offsets[anchors + 1] - offsets[anchors]


def build_egonets(taxonomy: Taxonomy, anchors: Indices, siblings: Siblings) -> Egonets:
    """Build the egonets of these anchors."""
    grandparent_of, parents = taxonomy.parents_of.of_many(anchors)
    grandparents, grandparent = np.unique(parents, return_inverse=True)
    children = taxonomy.children_of.targets[siblings.relations]
    concepts, nodes = np.unique(
        np.concatenate([grandparents, anchors, children]), return_inverse=True
    )
    counts = np.ones((len(anchors), len(Position)), dtype=np.float32)
    counts[:, Position.GRANDPARENT] = np.bincount(grandparent_of, minlength=len(anchors))
    counts[:, Position.SIBLING] = np.bincount(siblings.sibling_of, minlength=len(anchors))
    return Egonets(
        torch.from_numpy(concepts),
        torch.from_numpy(nodes),
        torch.from_numpy(grandparent),
        torch.from_numpy(grandparent_of),
        torch.from_numpy(siblings.sibling_of),
        torch.from_numpy(counts),
    )
