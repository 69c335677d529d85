"""Training instances from the taxonomy itself (Section 4.3): relations with their negatives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from taxoexpan.config import Config
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.batch import TrainingBatch
from taxoexpan.network.egonets import Egonets, build_egonets, draw_siblings
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices

CPU = torch.device("cpu")


@dataclass(frozen=True)
class _Shown:
    """The egonets that a batch sees: of which anchors, ascending, and with which children.

    `places` are those of the siblings in ascending order, `rows` their rows in the egonets.
    """

    anchors: Indices
    egonets: Egonets
    places: Indices
    rows: Indices

    def find(self, wanted: Indices) -> Indices:
        """The row of each wanted place among the siblings, or -1."""
        if not len(self.places):
            return np.full(len(wanted), -1)
        found = np.minimum(np.searchsorted(self.places, wanted), len(self.places) - 1)
        return np.where(self.places[found] == wanted, self.rows[found], -1)


class TrainingSampler:
    """One training instance for every relation of a taxonomy (Section 4.3).

    Its negatives are `sampled`, each query's own as in the paper; `uniform`, drawn for a batch and
    matched with every query of it; `shared`, the same and the parents of the batch's queries
    besides; or `all` concepts, whose egonets are drawn once an epoch. Where it counts what
    concepts mention, `mentions` has that for each, and what the batch's queries mention is tried
    with all of them too: else it would hardly ever be seen to be wrong.
    """

    def __init__(
        self,
        taxonomy: Taxonomy,
        config: Config,
        seed: int,
        mentions: Mentions | None = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.mentions = mentions if config.use_mentions else None
        self.batch_size = config.batch_size
        self.negatives, self.drawn = config.negative_sampling, config.num_negatives
        self.siblings = config.max_siblings
        self.childless = config.hide_children_rate
        self.generator = np.random.default_rng(seed)
        # In the order of `children_of`, so that relation k is place k among all children.
        self.parents, self.children = taxonomy.children_of.of_many(np.arange(len(taxonomy)))
        self.instances = np.arange(len(self.parents))
        if config.quirks.first_parents_only:
            self.instances = np.flatnonzero(self.parents == self._first_parents()[self.children])
        self.candidates = np.arange(len(taxonomy))
        if config.quirks.no_root_negatives:
            self.candidates = np.flatnonzero(taxonomy.parents_of.degrees > 0)

    @property
    def batch_count(self) -> int:
        """How many batches one epoch has."""
        return -(-len(self.instances) // self.batch_size)

    def epoch(self, device: torch.device = CPU) -> Iterator[TrainingBatch]:
        """All instances once, shuffled."""
        order = self.generator.permutation(self.instances)
        everyone = None
        if self.negatives == "all":
            everyone = self._show(np.arange(len(self.taxonomy)), device)
        for start in range(0, len(order), self.batch_size):
            yield self._batch(order[start : start + self.batch_size], everyone, device)

    def _batch(
        self, relations: Indices, shown: _Shown | None, device: torch.device
    ) -> TrainingBatch:
        """These relations as instances, with their negatives."""
        queries, parents = self.children[relations], self.parents[relations]
        draws = None
        if shown is None:
            each = (self.drawn, len(relations)) if self.negatives == "sampled" else (self.drawn,)
            draws = self.candidates[self.generator.integers(0, len(self.candidates), each)]
            if self.mentions is not None and self.negatives != "sampled":
                draws = np.concatenate([draws, self.mentions.of_many(queries)[1]])
            shown = self._show(np.unique(np.concatenate([parents, draws.ravel()])), device)
        drawn = None
        if self.negatives == "sampled" and draws is not None:
            drawn = np.searchsorted(shown.anchors, draws)
            blocked = self._blocked_draws(queries, draws)
        else:
            tried = self._tried(shown.anchors, draws)
            if len(tried) < len(shown.anchors):
                drawn = np.searchsorted(shown.anchors, tried)
            blocked = self._blocked(queries, tried)

        def there(indices: Indices) -> torch.Tensor:
            return torch.from_numpy(indices).to(device, non_blocking=True)

        return TrainingBatch(
            queries=there(queries),
            egonets=shown.egonets,
            positives=there(np.searchsorted(shown.anchors, parents)),
            own_sibling=there(shown.find(relations)),
            blocked=there(blocked),
            drawn=None if drawn is None else there(drawn),
            mentions=self._mentioned(queries, shown.anchors, device),
        )

    def _mentioned(
        self, queries: Indices, anchors: Indices, device: torch.device
    ) -> torch.Tensor | None:
        """The pairs (place of an anchor, query) of what queries mention, and how [3, M]."""
        if self.mentions is None:
            return None
        columns, concepts, kinds = self.mentions.of_many(queries)
        rows = np.minimum(np.searchsorted(anchors, concepts), len(anchors) - 1)
        there = anchors[rows] == concepts
        found = np.stack([rows[there], columns[there], kinds[there]])
        return torch.from_numpy(found).to(device, non_blocking=True)

    def _tried(self, anchors: Indices, draws: Indices | None) -> Indices:
        """The anchors that are matched with every query of a batch, ascending."""
        if self.negatives == "uniform" and draws is not None:
            return np.unique(draws)
        if len(self.candidates) == len(self.taxonomy):
            return anchors
        return np.intersect1d(anchors, self.candidates, assume_unique=True)

    def _first_parents(self) -> Indices:
        """The first parent of every concept, or -1."""
        first = np.full(len(self.taxonomy), -1)
        inner = self.taxonomy.parents_of.degrees > 0
        offsets = self.taxonomy.parents_of.offsets[:-1]
        first[inner] = self.taxonomy.parents_of.targets[offsets[inner]]
        return first

    def _show(self, anchors: Indices, device: torch.device) -> _Shown:
        """The egonets of these anchors, with children drawn for this once."""
        siblings = draw_siblings(
            self.taxonomy, anchors, self.siblings, self.childless, self.generator
        )
        egonets = build_egonets(self.taxonomy, anchors, siblings).to(device)
        rows = np.argsort(siblings.places, kind="stable")
        return _Shown(anchors, egonets, siblings.places[rows], rows)

    def _blocked(self, queries: Indices, anchors: Indices) -> Indices:
        """The pairs (place of an anchor, query) that are no negatives [2, K]."""
        columns, concepts = self._no_negatives(queries)
        rows = np.minimum(np.searchsorted(anchors, concepts), len(anchors) - 1)
        there = anchors[rows] == concepts
        return np.stack([rows[there], columns[there]])

    def _blocked_draws(self, queries: Indices, draws: Indices) -> Indices:
        """The draws [N, B] that are no negatives of their query, as (row, query) [2, K]."""
        columns, concepts = self._no_negatives(queries)
        refused = np.sort(columns * len(self.taxonomy) + concepts)
        pairs = np.arange(len(queries)) * len(self.taxonomy) + draws
        found = refused[np.minimum(np.searchsorted(refused, pairs), len(refused) - 1)]
        return np.stack(np.nonzero(found == pairs))

    def _no_negatives(self, queries: Indices) -> tuple[Indices, Indices]:
        """Each query's parents, its descendants and itself, beside the query's place."""
        of_parents, parents = self.taxonomy.parents_of.of_many(queries)
        of_descendants, descendants = self.taxonomy.children_of.reach_of_many(queries)
        places = np.concatenate([of_parents, of_descendants, np.arange(len(queries))])
        return places, np.concatenate([parents, descendants, queries])
