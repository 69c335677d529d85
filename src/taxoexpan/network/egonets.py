"""Ego networks, many at a time, as flat index arrays.

An anchor's egonet is a star: its parents (the query's grandparents to be), the anchor itself, and
its children (the query's siblings to be). Messages run downwards only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import torch

from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import ranges
from taxoexpan.taxonomy.arrays import Indices


class Position(IntEnum):
    """Where a node stands in an egonet, seen from the query."""

    GRANDPARENT = 0
    ANCHOR = 1
    SIBLING = 2


@dataclass(frozen=True)
class Egonets:
    """A batch of A egonets over C distinct concepts, with E grandparents and S siblings in all.

    What a grandparent hears does not depend on the egonet, so each of the G distinct ones is one
    node, however many egonets it stands in: entry e is row `grandparent[e]` in egonet
    `grandparent_of[e]`, both [E]. `sibling_of` [S] says in which egonet a sibling stands, in
    ascending order as `grandparent_of`. The nodes of a batch are ordered by position:
    grandparents, then anchors, then siblings, so that each position is a slice. `nodes`
    [G + A + S] points into `concepts` [C], which holds the concepts' indices in the taxonomy.
    The first `near` of them are anchors or siblings, the others grandparents alone. `counts`
    [A, 3] are the nodes of each egonet by position, kept so that no device need count.
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
        """How many egonets there are: A."""
        return len(self.counts)

    @property
    def sizes(self) -> list[int]:
        """How many nodes stand at each position: G, A, S."""
        siblings = len(self.sibling_of)
        return [len(self.nodes) - self.size - siblings, self.size, siblings]

    def to(self, device: torch.device) -> Egonets:
        """The same batch on another device."""
        return Egonets(
            self.concepts.to(device, non_blocking=True),
            self.nodes.to(device, non_blocking=True),
            self.grandparent.to(device, non_blocking=True),
            self.grandparent_of.to(device, non_blocking=True),
            self.sibling_of.to(device, non_blocking=True),
            self.counts.to(device, non_blocking=True),
            self.near,
        )


@dataclass(frozen=True)
class Siblings:
    """Which children stand in the egonets: `places` [S] in the taxonomy's `children_of.targets`."""

    places: Indices
    sibling_of: Indices


def spread_siblings(taxonomy: Taxonomy, anchors: Indices, most: int) -> Siblings:
    """All children of each anchor, or `most` of them spread evenly: always the same ones."""
    starts, degrees = _children(taxonomy, anchors)
    counts = np.minimum(degrees, most)
    sibling_of = np.repeat(np.arange(len(anchors)), counts)
    steps = ranges(np.zeros_like(counts), counts)
    places = steps * degrees[sibling_of] // np.maximum(counts[sibling_of], 1)
    return Siblings(starts[sibling_of] + places, sibling_of)


def draw_siblings(
    taxonomy: Taxonomy,
    anchors: Indices,
    most: int,
    childless: float,
    generator: np.random.Generator,
) -> Siblings:
    """All children of each anchor, or `most` of them, so that a hub costs no more than `most`.

    They are a window of the list of children that begins anywhere and may run over its end: no
    child twice, and no sorting. A share of the anchors, `childless`, is shown without children.
    """
    starts, degrees = _children(taxonomy, anchors)
    counts = np.minimum(degrees, most)
    counts[generator.random(len(anchors)) < childless] = 0
    sibling_of = np.repeat(np.arange(len(anchors)), counts)
    shifts = generator.integers(0, np.maximum(degrees, 1))
    steps = ranges(np.zeros_like(counts), counts)
    places = (steps + shifts[sibling_of]) % np.maximum(degrees, 1)[sibling_of]
    return Siblings(starts[sibling_of] + places, sibling_of)


def _children(taxonomy: Taxonomy, anchors: Indices) -> tuple[Indices, Indices]:
    """Where each anchor's children begin in `children_of.targets`, and how many they are."""
    offsets = taxonomy.children_of.offsets
    return offsets[anchors], offsets[anchors + 1] - offsets[anchors]


def build_egonets(
    taxonomy: Taxonomy, anchors: Indices, siblings: Siblings, without: Indices | None = None
) -> Egonets:
    """The egonets of these anchors, without a loop over them.

    `without` [A] has a grandparent to leave out of each of them.
    """
    grandparent_of, occurrences = taxonomy.parents_of.of_many(anchors)
    if without is not None:
        kept = occurrences != without[grandparent_of]
        grandparent_of, occurrences = grandparent_of[kept], occurrences[kept]
    grandparents, grandparent = np.unique(occurrences, return_inverse=True)
    children = taxonomy.children_of.targets[siblings.places]
    near, around = np.unique(np.concatenate([anchors, children]), return_inverse=True)
    concepts, above = _with_those_missing(near, grandparents)
    counts = np.ones((len(anchors), len(Position)), dtype=np.float32)
    counts[:, Position.GRANDPARENT] = np.bincount(grandparent_of, minlength=len(anchors))
    counts[:, Position.SIBLING] = np.bincount(siblings.sibling_of, minlength=len(anchors))
    return Egonets(
        torch.from_numpy(concepts),
        torch.from_numpy(np.concatenate([above, around])),
        torch.from_numpy(grandparent),
        torch.from_numpy(grandparent_of),
        torch.from_numpy(siblings.sibling_of),
        torch.from_numpy(counts),
        len(near),
    )


def _with_those_missing(known: Indices, wanted: Indices) -> tuple[Indices, Indices]:
    """All known, then those wanted that are not, and where each wanted one is; both ascending."""
    if not len(known):
        return wanted, np.arange(len(wanted))
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    missing = known[places] != wanted
    places[missing] = len(known) + np.arange(np.count_nonzero(missing))
    return np.concatenate([known, wanted[missing]]), places
