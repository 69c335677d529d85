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
    """B training instances over the egonets of A anchors.

    A query is matched with all anchors of the batch, or with those at its places in `drawn` [B, N].
    `positives` [B] is the place of its own parent among the anchors; `own_sibling` [B] the query's
    row among the siblings of that egonet, or -1 where it was not drawn, so that it can be left out;
    `blocked` [B, A or N] is true where an anchor is no negative: a parent, a descendant, or the
    query itself.
    """

    queries: torch.Tensor
    egonets: Egonets
    positives: torch.Tensor
    own_sibling: torch.Tensor
    blocked: torch.Tensor
    drawn: torch.Tensor | None = None

    def to(self, device: torch.device) -> TrainingBatch:
        """The same batch on another device."""
        return TrainingBatch(
            self.queries.to(device, non_blocking=True),
            self.egonets.to(device),
            self.positives.to(device, non_blocking=True),
            self.own_sibling.to(device, non_blocking=True),
            self.blocked.to(device, non_blocking=True),
            None if self.drawn is None else self.drawn.to(device, non_blocking=True),
        )


class Supervision:
    """One training instance for every relation of a taxonomy (Section 4.3).

    Its negatives are `sampled`, each query's own as in the paper; `shared`, drawn for a batch and
    matched with every query of it; or `all` concepts.
    """

    def __init__(self, taxonomy: Taxonomy, configuration: Configuration, seed: int) -> None:
        self.taxonomy = taxonomy
        self.batch_size = configuration.batch_size
        self.negatives, self.drawn = configuration.negatives, configuration.drawn
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
        """These relations as instances, with their negatives."""
        queries, parents = self.children[relations], self.parents[relations]
        draws = self._draw(len(relations))
        anchors = np.unique(np.concatenate([parents, draws.ravel()]))
        siblings = draw_siblings(
            self.taxonomy, anchors, self.siblings, self.childless, self.generator
        )
        blocked, drawn = self._blocked(queries, anchors), None
        if self.negatives == "sampled":
            drawn = np.searchsorted(anchors, draws)
            blocked = np.take_along_axis(blocked, drawn, axis=1)
        return TrainingBatch(
            queries=torch.from_numpy(queries),
            egonets=build_egonets(self.taxonomy, anchors, siblings),
            positives=torch.from_numpy(np.searchsorted(anchors, parents)),
            own_sibling=torch.from_numpy(self._find(siblings.places, relations)),
            blocked=torch.from_numpy(blocked),
            drawn=None if drawn is None else torch.from_numpy(drawn),
        )

    def _draw(self, queries: int) -> Indices:
        """The anchors that are tried as negatives: for each query, for all of them, or all."""
        if self.negatives == "all":
            return np.arange(len(self.taxonomy))
        shape = (queries, self.drawn) if self.negatives == "sampled" else (self.drawn,)
        return self.generator.integers(0, len(self.taxonomy), shape)

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
        blocked: NDArray[np.bool_] = np.equal(queries[:, None], anchors[None, :])
        distinct, rows_of = np.unique(queries, return_inverse=True)
        no_negative = np.zeros((len(distinct), len(anchors)), dtype=np.bool_)
        for rows, concepts in (
            self.taxonomy.parents_of.of_many(distinct),
            self.taxonomy.children_of.reach_of_many(distinct),
        ):
            columns = np.minimum(np.searchsorted(anchors, concepts), len(anchors) - 1)
            there = anchors[columns] == concepts
            no_negative[rows[there], columns[there]] = True
        blocked |= no_negative[rows_of]
        return blocked
