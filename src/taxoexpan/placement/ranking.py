"""Ranking every possible parent of a query (Section 4.3, inference)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.features.mentions import Mentions
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.cosine_features import Cosines, cosine_features
from taxoexpan.network.egonets import Egonets, build_egonets, spread_siblings
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.metrics import rank_true_parents

ENCODED = 8192
"""Anchors encoded at a time."""
FUSED = 2048
"""Anchors that the fusion head scores at a time; each pair needs room for its hidden units."""
CELLS = 16_000_000
"""Scores held at a time, which decides how many queries are scored together."""
GROUP = 64
"""Anchors that are looked at as one when the best are sought."""


class Anchors:
    """Every concept of a taxonomy as an anchor, or those `chosen`, with the vectors of all of them.

    Its egonets are built once, with at most so many siblings, and always the same ones.
    """

    def __init__(
        self,
        taxonomy: Taxonomy,
        vectors: ConceptVectors,
        siblings: int,
        chosen: Indices | None = None,
    ) -> None:
        self.taxonomy, self.vectors, self.siblings = taxonomy, vectors, siblings
        self.chosen = np.arange(len(taxonomy)) if chosen is None else chosen

    @cached_property
    def child_counts(self) -> Indices:
        """How many children each concept of the taxonomy has that are not deprecated: [N]."""
        parents, children = self.taxonomy.relation_indices
        deprecated = np.zeros(len(self.taxonomy), dtype=bool)
        deprecated[list(self.taxonomy.deprecated)] = True
        return np.bincount(parents[~deprecated[children]], minlength=len(self.taxonomy))

    @torch.no_grad()
    def encode(self, network: MatchingNetwork) -> Tensor:
        """The key [N, k] of every anchor, computed once for all queries."""
        was_training = network.training
        network.eval()
        names = self.vectors.names
        keys = [network.encode(names.index_select(0, e.concepts), e) for e in self._egonets]
        network.train(was_training)
        return torch.cat(keys)

    @cached_property
    def families(self) -> list[Egonets]:
        """The egonets with all children, as the fusion head sees them."""
        return self._blocks(FUSED, len(self.taxonomy))

    @cached_property
    def _egonets(self) -> list[Egonets]:
        return self._blocks(ENCODED, self.siblings)

    def _blocks(self, size: int, siblings: int) -> list[Egonets]:
        return [
            anchor_egonets(self.taxonomy, anchors, siblings).to(self.vectors.device)
            for anchors in np.split(self.chosen, range(size, len(self.chosen), size))
        ]


def anchor_egonets(taxonomy: Taxonomy, anchors: Indices, siblings: int) -> Egonets:
    """The egonets of some anchors as they are used outside training: always the same."""
    return build_egonets(taxonomy, anchors, spread_siblings(taxonomy, anchors, siblings))


@dataclass(frozen=True)
class Ranking:
    """The best anchors of each query: their indices and scores, both [Q, k], best first.

    `tempered` are the scores at the temperature that was asked for.
    """

    anchors: Indices
    scores: NDArray[np.float32]
    tempered: NDArray[np.float32]

    def between(self, start: int, stop: int) -> Ranking:
        """Those of the queries from one place to before another."""
        rows = slice(start, stop)
        return Ranking(self.anchors[rows], self.scores[rows], self.tempered[rows])


class Ranker:
    """All anchors of a taxonomy, ready to score queries by their keys [N, k].

    Deprecated concepts are no parents: they score minus infinity.
    """

    def __init__(self, network: MatchingNetwork, anchors: Anchors, keys: Tensor) -> None:
        self.anchors, self.keys = anchors, keys
        self.match, self.fusion, self.mentions = network.match, network.fusion, network.mentions
        deprecated = np.array(sorted(anchors.taxonomy.deprecated), dtype=np.int64)
        closed = np.flatnonzero(np.isin(anchors.chosen, deprecated))
        self.closed = torch.from_numpy(closed).to(keys.device)

    @cached_property
    def leaf_rows(self) -> Tensor:
        """The rows of the anchors that have no child in force."""
        counts = self.anchors.child_counts[self.anchors.chosen]
        return torch.from_numpy(np.flatnonzero(counts == 0)).to(self.keys.device)

    @torch.no_grad()
    def scores(
        self, queries: Tensor, mentions: Mentions | None = None, leaf_bonus: float = 0.0
    ) -> Tensor:
        """What orders every anchor for every query, higher is better: [2, Q, D1] → [N, Q].

        `mentions` are those of the queries, for a network that heeds them; `leaf_bonus` is what
        anchors without children gain.
        """
        scores = self.match.score_all(self.keys, self.match.project_queries(queries[0]))
        if self.fusion is not None:
            vectors, first = self.anchors.vectors, 0
            names, heads = vectors.names @ queries[0].T, vectors.heads @ queries[1].T
            for family in self.anchors.families:
                rows = family.concepts.index_select(0, family.nodes[family.sizes[0] :])
                by_head = Cosines(heads, vectors.head_of.index_select(0, rows))
                compared = cosine_features(Cosines(names, rows), by_head, family)
                scores[first : first + family.size] += self.fusion(compared)
                first += family.size
        if self.mentions is not None and mentions is not None:
            of, anchors, kinds = mentions.of_many(np.arange(len(mentions)))
            pairs = torch.from_numpy(np.stack([anchors, of, kinds])).to(scores.device)
            scores += self.mentions(pairs, *scores.shape)
        if leaf_bonus:
            scores[self.leaf_rows] += leaf_bonus
        return scores.index_fill_(0, self.closed, -torch.inf)

    def blocks(
        self, queries: Tensor, mentions: Mentions | None = None, leaf_bonus: float = 0.0
    ) -> Iterator[tuple[int, Tensor]]:
        """The scores of a few queries at a time, each beside the first one's place."""
        size = min(256, max(1, CELLS // len(self.keys)))
        for start in range(0, queries.shape[1], size):
            stop = min(start + size, queries.shape[1])
            own = None if mentions is None else mentions.between(start, stop)
            yield start, self.scores(queries[:, start:stop], own, leaf_bonus)

    def rank(
        self,
        queries: Tensor,
        top_k: int,
        mentions: Mentions | None = None,
        temperature: float = 1.0,
        leaf_bonus: float = 0.0,
    ) -> Ranking:
        """The best anchors; a score is the anchor's share of the softmax over all anchors.

        What anchors without children gain, `leaf_bonus`, counts in all of it.
        """
        top_k = min(top_k, len(self.keys) - len(self.closed))
        anchors, scores, tempered = [], [], []
        for _, block in self.blocks(queries, mentions, leaf_bonus):
            best, places = best_of(block, top_k)
            anchors.append(places.T)
            best, belief = self.match.log_match(best), self.match.log_match(block)
            belief = belief.index_fill_(0, self.closed, -torch.inf).sub_(best[0])
            best = best - best[0]
            if temperature != 1:
                heated = (best / temperature).exp() / (belief / temperature).exp_().sum(0)
                tempered.append(heated.T)
            scores.append((best.exp() / belief.exp_().sum(0)).T)
        shares = torch.cat(scores).cpu().numpy()
        heated_shares = torch.cat(tempered).cpu().numpy() if tempered else shares
        return Ranking(torch.cat(anchors).cpu().numpy(), shares, heated_shares)

    def true_ranks(
        self,
        queries: Tensor,
        parents: Sequence[Indices],
        ties: float = 0.0,
        mentions: Mentions | None = None,
        leaf_bonus: float = 0.0,
    ) -> list[NDArray[np.floating]]:
        """The rank of each true parent of each query, its other true parents left out.

        The fraction `ties` of the anchors with the same score counts as higher;
        with a half, a network that scores all alike ranks in the middle, and not first.
        """
        ranks: list[NDArray[np.floating]] = []
        for start, block in self.blocks(queries, mentions, leaf_bonus):
            ranks += rank_true_parents(block, parents[start : start + block.shape[1]], ties)
        return ranks


def best_of(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k highest scores of each column and their rows, [N, Q] → two of [k, Q], best first.

    The k best stand in the k groups of rows with the highest peaks, so that all scores are passed
    over once, and only those of k groups are sorted.
    """
    groups = len(scores) // GROUP
    if k >= groups:
        best, rows = scores.topk(k, dim=0)
        return best, rows
    whole, rest = scores.split([groups * GROUP, len(scores) - groups * GROUP])
    peaks = whole.view(groups, GROUP, -1).amax(1)
    inside = torch.arange(GROUP, device=scores.device)[None, :, None]
    rows = (peaks.topk(k, dim=0).indices[:, None] * GROUP + inside).flatten(0, 1)
    tail = torch.arange(groups * GROUP, len(scores), device=scores.device)
    rows = torch.cat([rows, tail[:, None].expand(-1, scores.shape[1])])
    best, places = torch.cat([scores.gather(0, rows[: k * GROUP]), rest]).topk(k, dim=0)
    return best, rows.gather(0, places)
