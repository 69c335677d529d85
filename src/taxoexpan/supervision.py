"""Self-supervision (Section 4.3): training instances, and held-out leaves, from the taxonomy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from taxoexpan.adjacency import Indices
from taxoexpan.configuration import Configuration
from taxoexpan.egonets import Egonets, build_egonets, draw_siblings
from taxoexpan.taxonomy import Concept, Taxonomy


@dataclass(frozen=True)
class Holdout:
    """Concepts taken out of a taxonomy, and the indices of their parents in what remains."""

    taxonomy: Taxonomy
    concepts: tuple[Concept, ...]
    parents: tuple[Indices, ...]


def hold_out(taxonomy: Taxonomy, ids: Sequence[str], remaining: Taxonomy | None = None) -> Holdout:
    """Mask these concepts with all their relations; one without a remaining parent is dropped.

    `remaining` is what the queries are placed in, where more is masked than these concepts.
    """
    remaining = remaining or taxonomy.without(ids)
    queries, parents = [], []
    for id in ids:
        known = [parent for parent in taxonomy.parents(id) if parent in remaining]
        if known:
            queries.append(taxonomy.concept(id))
            parents.append(np.array([remaining.index(parent) for parent in known]))
    return Holdout(remaining, tuple(queries), tuple(parents))


def mask_leaves(taxonomy: Taxonomy, share: float, most: int, seed: int) -> Holdout:
    """Hold out a random share of the leaves that have a parent, and never more than `most`."""
    leaves = np.flatnonzero((taxonomy.children_of.degrees == 0) & (taxonomy.parents_of.degrees > 0))
    count = min(int(len(leaves) * share), most)
    chosen = np.random.default_rng(seed).permutation(leaves)[:count]
    return hold_out(taxonomy, [taxonomy.ids[i] for i in np.sort(chosen)])


@dataclass(frozen=True)
class TrainingBatch:
    """B training instances that share their negatives.

    Every query is matched with all A anchors of the batch. `positives` [B] is the place of its
    own parent among them; `own_sibling` [B] the query's row among the siblings of that egonet, or
    -1 where it was not drawn, so that it can be left out; `blocked` [B, A] is true where an
    anchor is no negative: a parent, a descendant, or the query itself.
    """

    queries: torch.Tensor
    egonets: Egonets
    positives: torch.Tensor
    own_sibling: torch.Tensor
    blocked: torch.Tensor

    def to(self, device: torch.device) -> TrainingBatch:
        """The same batch on another device."""
        return TrainingBatch(
            self.queries.to(device, non_blocking=True),
            self.egonets.to(device),
            self.positives.to(device, non_blocking=True),
            self.own_sibling.to(device, non_blocking=True),
            self.blocked.to(device, non_blocking=True),
        )


class Supervision:
    """One training instance for every relation of a taxonomy (Section 4.3)."""

    def __init__(self, taxonomy: Taxonomy, configuration: Configuration, seed: int) -> None:
        self.taxonomy = taxonomy
        self.batch_size = configuration.batch_size
        self.negatives = configuration.negatives
        self.siblings = configuration.siblings
        self.childless = configuration.childless
        self.generator = np.random.default_rng(seed)
        # In the order of `children_of`, so that relation k is place k among all children.
        self.parents, self.children = taxonomy.children_of.of_many(np.arange(len(taxonomy)))

    @property
    def batch_count(self) -> int:
        """How many batches one epoch has."""
        return -(-len(self.parents) // self.batch_size)

    def epoch(self) -> Iterator[TrainingBatch]:
        """All relations once, shuffled."""
        order = self.generator.permutation(len(self.parents))
        for start in range(0, len(order), self.batch_size):
            yield self.batch(order[start : start + self.batch_size])

    def batch(self, relations: Indices) -> TrainingBatch:
        """These relations as instances, with negatives drawn for all of them together."""
        drawn = self.generator.integers(0, len(self.taxonomy), self.negatives)
        anchors = np.unique(np.concatenate([self.parents[relations], drawn]))
        siblings = draw_siblings(
            self.taxonomy, anchors, self.siblings, self.childless, self.generator
        )
        queries = self.children[relations]
        return TrainingBatch(
            queries=torch.from_numpy(queries),
            egonets=build_egonets(self.taxonomy, anchors, siblings),
            positives=torch.from_numpy(np.searchsorted(anchors, self.parents[relations])),
            own_sibling=torch.from_numpy(self._find(siblings.places, relations)),
            blocked=torch.from_numpy(self._blocked(queries, anchors)),
        )

    @staticmethod
    def _find(places: Indices, wanted: Indices) -> Indices:
        """The row of each wanted place among the siblings, or -1."""
        if not len(places):
            return np.full(len(wanted), -1)
        order = np.argsort(places, kind="stable")
        found = np.minimum(np.searchsorted(places, wanted, sorter=order), len(places) - 1)
        rows = order[found]
        return np.where(places[rows] == wanted, rows, -1)

    def _blocked(self, queries: Indices, anchors: Indices) -> NDArray[np.bool_]:
        """Which anchors are a query's parent, its descendant, or itself."""
        taxonomy = self.taxonomy
        blocked: NDArray[np.bool_] = np.equal(queries[:, None], anchors[None, :])
        rows, parents = taxonomy.parents_of.of_many(queries)
        columns = np.minimum(np.searchsorted(anchors, parents), len(anchors) - 1)
        there = anchors[columns] == parents
        blocked[rows[there], columns[there]] = True
        # An anchor is the query's descendant when the query is one of the anchor's ancestors.
        below, above = taxonomy.parents_of.reach_of_many(anchors)
        distinct, rows_of = np.unique(queries, return_inverse=True)
        is_ancestor = np.zeros((len(distinct), len(anchors)), dtype=np.bool_)
        found = np.minimum(np.searchsorted(distinct, above), len(distinct) - 1)
        there = distinct[found] == above
        is_ancestor[found[there], below[there]] = True
        blocked |= is_ancestor[rows_of]
        return blocked
