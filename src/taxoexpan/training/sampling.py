"""Training instances from the taxonomy itself (Section 4.3): relations and their negatives.

The parents of a query, its descendants and the query itself are blocked as negatives. A continued
training draws new relations more often than old ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from taxoexpan.config import Config
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.batch import TrainingBatch
from taxoexpan.network.egonets import Egonets, build_egonets, draw_siblings
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices


@dataclass(frozen=True)
class Recipe:
    """The settings for continuing a training from the weights of an earlier one.

    Args:
        epochs: epochs of the network.
        tower_epochs: epochs of the fine-tuning.
        repeats: draws of each new relation per epoch.
        replay: draws of old relations per draw of a new one, to prevent forgetting.
    """

    epochs: int = 10
    tower_epochs: int = 4
    repeats: int = 3
    replay: float = 16.0

    def changed(self, config: Config) -> Config:
        """Return the settings of the continued training."""
        return config.model_copy(
            update={
                "epochs": self.epochs if config.epochs else 0,
                "patience": self.epochs,
                "tower_epochs": self.tower_epochs if config.tower_epochs else 0,
            }
        )


DEFAULT_RECIPE = Recipe()


@dataclass(frozen=True)
class News:
    """The new concepts [N] and the rejected parents (N rows) since the model was trained."""

    is_new: NDArray[np.bool_]
    rejected: Adjacency
    recipe: Recipe

    def count(self, parents: Indices, children: Indices) -> int:
        """Return the number of relations that are drawn per epoch."""
        new = int(self._are_new(parents, children).sum())
        return new * self.recipe.repeats + self._replayed(len(parents) - new, new)

    def draw(self, parents: Indices, children: Indices, rng: np.random.Generator) -> Indices:
        """Draw the rows of the relations of one epoch, in random order."""
        are_new = self._are_new(parents, children)
        new = np.flatnonzero(are_new)
        old = np.flatnonzero(~are_new)
        replayed = rng.permutation(old)[: self._replayed(len(old), len(new))]
        return rng.permutation(np.concatenate([np.repeat(new, self.recipe.repeats), replayed]))

    def _are_new(self, parents: Indices, children: Indices) -> NDArray[np.bool_]:
        are_new: NDArray[np.bool_] = self.is_new[parents] | self.is_new[children]
        return are_new

    def _replayed(self, old: int, new: int) -> int:
        """Return the number of old relations to draw, which is all if nothing is new."""
        if not new:
            return old
        return min(old, round(new * self.recipe.repeats * self.recipe.replay))


CPU = torch.device("cpu")


class TrainingSampler:
    """A sampler of one training instance per relation of a taxonomy and epoch (Section 4.3).

    The setting `negative_sampling` selects the negatives: `sampled` draws them for each query, as
    in the paper; `uniform` draws them for a batch; `shared` adds the parents of all queries of the
    batch. Mentioned concepts are added, so that the network sees wrong mentions, and so are the
    parents rejected in `news`.
    """

    def __init__(
        self,
        taxonomy: Taxonomy,
        config: Config,
        seed: int,
        mentions: Mentions | None = None,
        news: News | None = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.config = config
        self.news = news
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
        if self.news is not None:
            count = self.news.count(self.parents[self.relations], self.children[self.relations])
        return -(-count // self.config.batch_size)

    def epoch(self, device: torch.device = CPU) -> Iterator[TrainingBatch]:
        """Yield batches of all instances, in random order."""
        if self.news is None:
            order = self.rng.permutation(self.relations)
        else:
            pairs = self.parents[self.relations], self.children[self.relations]
            order = self.relations[self.news.draw(*pairs, self.rng)]
        for start in range(0, len(order), self.config.batch_size):
            relations = order[start : start + self.config.batch_size]
            if self.config.negative_sampling == "sampled":
                yield self._batch_per_query(relations, device)
            else:
                yield self._shared_batch(relations, device)

    def _batch_per_query(self, relations: Indices, device: torch.device) -> TrainingBatch:
        """Build a batch with separate negatives for each query."""
        queries = self.children[relations]
        parents = self.parents[relations]
        draws = self._draw_candidates((self.config.num_negatives, len(relations)))
        if self.news is not None:
            columns, wrong = self.news.rejected.of_many(queries)
            rows = np.arange(len(columns)) - np.searchsorted(columns, columns)
            fits = rows < len(draws)
            draws[rows[fits], columns[fits]] = wrong[fits]
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
        if self.news is not None:
            draws = np.concatenate([draws, self.news.rejected.of_many(queries)[1]])
        drawn = self._draw_egonets(np.unique(np.concatenate([parents, draws])), device)
        tried = drawn.anchors
        if self.config.negative_sampling == "uniform":
            tried = np.unique(draws)
        elif len(self.candidates) < len(self.taxonomy):
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

    def _mentioned_anchors(self, queries: Indices, anchors: Indices) -> Indices | None:
        """Return the triples (row of an anchor, column of a query, `MentionKind`) [3, M]."""
        if self.mentions is None:
            return None
        columns, concepts, kinds = self.mentions.of_many(queries)
        rows, is_anchor = find_rows(anchors, concepts)
        return np.stack([rows[is_anchor], columns[is_anchor], kinds[is_anchor]])

    def _draw_egonets(self, anchors: Indices, device: torch.device) -> _DrawnEgonets:
        """Build the egonets of these anchors, with newly drawn siblings."""
        c = self.config
        siblings = draw_siblings(
            self.taxonomy, anchors, c.max_siblings, c.hide_children_rate, self.rng
        )
        egonets = build_egonets(self.taxonomy, anchors, siblings).to(device)
        rows = np.argsort(siblings.relations, kind="stable")
        return _DrawnEgonets(anchors, egonets, siblings.relations[rows], rows)


@dataclass(frozen=True)
class _DrawnEgonets:
    """The egonets of anchors [A], with ascending indices.

    `relations` [S] are the relations (anchor, sibling), ascending, and `rows` [S] their rows among
    the siblings of the egonets.
    """

    anchors: Indices
    egonets: Egonets
    relations: Indices
    rows: Indices

    def find_siblings(self, relations: Indices) -> Indices:
        """Return the row of each relation's child among the siblings, or -1."""
        if not len(self.relations):
            return np.full(len(relations), -1)
        found, is_drawn = find_rows(self.relations, relations)
        return np.where(is_drawn, self.rows[found], -1)


def blocked_among(taxonomy: Taxonomy, queries: Indices, anchors: Indices) -> Indices:
    """Return the blocked pairs (row of an ascending anchor, column of a query) [2, K]."""
    of_parents, parents = taxonomy.parents_of.of_many(queries)
    rows, is_anchor = find_rows(anchors, parents)
    columns, below = taxonomy.descendant_intervals.pairs_among(queries, anchors)
    return np.stack(
        [
            np.concatenate([rows[is_anchor], below]),
            np.concatenate([of_parents[is_anchor], columns]),
        ]
    )


def blocked_draws(taxonomy: Taxonomy, queries: Indices, draws: Indices) -> Indices:
    """Return the pairs (row, column) [2, K] of draws [N, B] that are blocked for their query."""
    of_parents, parents = taxonomy.parents_of.of_many(queries)
    pairs = np.arange(len(queries)) * len(taxonomy) + draws
    is_parent = np.isin(pairs, of_parents * len(taxonomy) + parents)
    is_below = taxonomy.descendant_intervals.contain(queries, draws)
    return np.stack(np.nonzero(is_parent | is_below))


def find_rows(ascending: Indices, wanted: Indices) -> tuple[Indices, NDArray[np.bool_]]:
    """Return the row of each wanted index, and whether the index was found."""
    rows = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return rows, ascending[rows] == wanted
