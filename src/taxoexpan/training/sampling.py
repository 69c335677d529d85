"""Training instances from the taxonomy itself (Section 4.3): relations and their negatives.

The parents of a query, its descendants and the query itself are blocked as negatives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from taxoexpan.config import Config
from taxoexpan.device import CPU
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.batch import TrainingBatch
from taxoexpan.network.egonets import Egonets, build_egonets, draw_siblings
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.continuation import ChangesSinceTraining


class TrainingSampler:
    """A sampler of training instances from the relations of a taxonomy (Section 4.3).

    An epoch has one instance per relation, or in a continued training those that `changes` draws.
    The setting `negative_sampling` selects the negatives:

    - `sampled` draws them for each query, as in the paper. Rejected parents of the query replace
      some draws; mentioned concepts are not added.
    - `uniform` draws them for a batch, and adds the concepts that its queries mention, so that the
      network sees wrong mentions, and their rejected parents.
    - `shared` is `uniform` with the parents of all queries of the batch.

    With the quirk `no_root_negatives`, a root is never a negative, even if mentioned or rejected.
    """

    def __init__(
        self,
        taxonomy: Taxonomy,
        config: Config,
        seed: int,
        mentions: Mentions | None = None,
        changes: ChangesSinceTraining | None = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.config = config
        self.changes = changes
        self.mentions = mentions if config.uses_mentions else None
        self.rng = np.random.default_rng(seed)
        # In the order of `children_of`, so that relation k is row k of its targets.
        self.parents, self.children = taxonomy.children_of.of_many(np.arange(len(taxonomy)))
        self.relations = np.arange(len(self.parents))
        if config.quirks.first_parents_only:
            self.relations = np.flatnonzero(self.parents == taxonomy.first_parents[self.children])
        self.candidates = np.arange(len(taxonomy))
        if config.quirks.no_root_negatives:
            self.candidates = np.flatnonzero(taxonomy.parents_of.degrees > 0)

    @property
    def batch_count(self) -> int:
        """The number of batches per epoch."""
        count = len(self.relations)
        if self.changes is not None:
            count = self.changes.count(*self._pairs())
        return math.ceil(count / self.config.batch_size)

    def epoch(self, device: torch.device = CPU) -> Iterator[TrainingBatch]:
        """Yield the batches of one epoch, with their instances in random order."""
        if self.changes is None:
            order = self.rng.permutation(self.relations)
        else:
            order = self.relations[self.changes.draw(*self._pairs(), self.rng)]
        for start in range(0, len(order), self.config.batch_size):
            relations = order[start : start + self.config.batch_size]
            if self.config.negative_sampling == "sampled":
                yield self._batch_per_query(relations, device)
            else:
                yield self._shared_batch(relations, device)

    def _pairs(self) -> tuple[Indices, Indices]:
        """Return the parent and the child of each relation that instances are drawn from."""
        return self.parents[self.relations], self.children[self.relations]

    def _batch_per_query(self, relations: Indices, device: torch.device) -> TrainingBatch:
        """Build a batch with separate negatives for each query."""
        queries = self.children[relations]
        parents = self.parents[relations]
        draws = self._draw_candidates((self.config.num_negatives, len(relations)))
        if self.changes is not None:
            columns, rejected = self._rejected_parents(self.changes, queries)
            # The columns ascend, so this counts the rejected parents of each query from 0.
            rows = np.arange(len(columns)) - np.searchsorted(columns, columns)
            fits = rows < len(draws)
            draws[rows[fits], columns[fits]] = rejected[fits]
        drawn = self._draw_egonets(np.unique(np.concatenate([parents, draws.ravel()])), device)
        blocked = blocked_draws(self.taxonomy, queries, draws)
        negatives = np.searchsorted(drawn.anchors, draws)
        return self._batch(relations, drawn, negatives, blocked, device)

    def _shared_batch(self, relations: Indices, device: torch.device) -> TrainingBatch:
        """Build a batch whose queries share their negatives."""
        queries = self.children[relations]
        parents = self.parents[relations]
        draws = self._draw_candidates((self.config.num_negatives,))
        if self.mentions is not None:
            draws = np.concatenate([draws, self.mentions.of_many(queries)[1]])
        if self.changes is not None:
            draws = np.concatenate([draws, self._rejected_parents(self.changes, queries)[1]])
        drawn = self._draw_egonets(np.unique(np.concatenate([parents, draws])), device)
        tried = np.unique(draws) if self.config.negative_sampling == "uniform" else drawn.anchors
        if self.config.quirks.no_root_negatives:
            tried = np.intersect1d(tried, self.candidates, assume_unique=True)
        blocked = blocked_among(self.taxonomy, queries, tried)
        negatives = None
        if len(tried) < len(drawn.anchors):
            negatives = np.searchsorted(drawn.anchors, tried)
        return self._batch(relations, drawn, negatives, blocked, device)

    def _batch(
        self,
        relations: Indices,
        drawn: _DrawnEgonets,
        negatives: Indices | None,
        blocked: Indices,
        device: torch.device,
    ) -> TrainingBatch:
        """Build a batch on the device from its index arrays."""
        queries = self.children[relations]
        parents = self.parents[relations]

        def to_device(indices: Indices) -> torch.Tensor:
            # A blocking transfer would wait until the device has finished all earlier work.
            return torch.from_numpy(indices).to(device, non_blocking=True)

        mentions = self._mentioned_anchors(queries, drawn.anchors)
        return TrainingBatch(
            queries=to_device(queries),
            egonets=drawn.egonets,
            positives=to_device(np.searchsorted(drawn.anchors, parents)),
            own_sibling=to_device(drawn.find_siblings(relations)),
            blocked=to_device(blocked),
            negatives=None if negatives is None else to_device(negatives),
            mentions=None if mentions is None else to_device(mentions),
        )

    def _draw_candidates(self, shape: tuple[int, ...]) -> Indices:
        """Draw candidates for negatives, with replacement."""
        return self.candidates[self.rng.integers(0, len(self.candidates), shape)]

    def _rejected_parents(
        self, changes: ChangesSinceTraining, queries: Indices
    ) -> tuple[Indices, Indices]:
        """Return the pairs of a query, as its row, and a rejected parent, with ascending rows."""
        columns, rejected = changes.rejected.of_many(queries)
        if self.config.quirks.no_root_negatives:
            is_candidate = np.isin(rejected, self.candidates)
            return columns[is_candidate], rejected[is_candidate]
        return columns, rejected

    def _mentioned_anchors(self, queries: Indices, anchors: Indices) -> Indices | None:
        """Return the triples (row of an anchor, column of a query, `MentionKind`) [3, M]."""
        if self.mentions is None:
            return None
        columns, concepts, kinds = self.mentions.of_many(queries)
        rows, is_anchor = find_rows(anchors, concepts)
        return np.stack([rows[is_anchor], columns[is_anchor], kinds[is_anchor]])

    def _draw_egonets(self, anchors: Indices, device: torch.device) -> _DrawnEgonets:
        """Build the egonets of these anchors, with newly drawn siblings."""
        siblings = draw_siblings(
            self.taxonomy,
            anchors,
            self.config.max_siblings,
            self.config.hide_children_rate,
            self.rng,
        )
        egonets = build_egonets(self.taxonomy, anchors, siblings).to(device)
        rows = np.argsort(siblings.relations, kind="stable")
        return _DrawnEgonets(anchors, egonets, siblings.relations[rows], rows)


@dataclass(frozen=True)
class _DrawnEgonets:
    """The egonets of anchors [A], with ascending indices.

    Attributes:
        relations: the relations (anchor, sibling) in the egonets, ascending: [S].
        rows: the row of each of these relations among the siblings of the egonets: [S].
    """

    anchors: Indices
    egonets: Egonets
    relations: Indices
    rows: Indices

    def find_siblings(self, relations: Indices) -> Indices:
        """Return the row of each relation's child among the siblings, or -1."""
        if not len(self.relations):
            return np.full(len(relations), -1)
        places, is_drawn = find_rows(self.relations, relations)
        return np.where(is_drawn, self.rows[places], -1)


def blocked_among(taxonomy: Taxonomy, queries: Indices, anchors: Indices) -> Indices:
    """Return the blocked pairs (row of an ascending anchor, column of a query) [2, K]."""
    parent_columns, parents = taxonomy.parents_of.of_many(queries)
    parent_rows, is_anchor = find_rows(anchors, parents)
    columns, rows = taxonomy.descendant_intervals.pairs_among(queries, anchors)
    return np.stack(
        [
            np.concatenate([parent_rows[is_anchor], rows]),
            np.concatenate([parent_columns[is_anchor], columns]),
        ]
    )


def blocked_draws(taxonomy: Taxonomy, queries: Indices, draws: Indices) -> Indices:
    """Return the pairs (row, column) [2, K] of draws [N, B] that are blocked for their query."""
    parent_columns, parents = taxonomy.parents_of.of_many(queries)
    pairs = np.arange(len(queries)) * len(taxonomy) + draws
    is_parent = np.isin(pairs, parent_columns * len(taxonomy) + parents)
    is_descendant = taxonomy.descendant_intervals.contain(queries, draws)
    return np.stack(np.nonzero(is_parent | is_descendant))


def find_rows(ascending: Indices, wanted: Indices) -> tuple[Indices, NDArray[np.bool_]]:
    """Return the row of each wanted index in a non-empty array, and whether the index is there.

    The row of an index that is not there is the row of another one.
    """
    rows = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return rows, ascending[rows] == wanted
