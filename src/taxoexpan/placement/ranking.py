"""Ranking every possible parent of a query (Section 4.3, inference)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.errors import ModelError
from taxoexpan.features.label_words import LabelWords
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.cosine_features import Cosines, cosine_features
from taxoexpan.network.egonets import Egonets, build_egonets, spread_siblings
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import LabeledQueries, Queries
from taxoexpan.placement.pair_features import AnchorTexts, pair_features
from taxoexpan.placement.signal_fusion import SignalFusion
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.metrics import rank_true_parents

ENCODER_BLOCK = 8192
"""Anchors that are encoded at a time."""
FUSION_BLOCK = 2048
"""Anchors that the fusion head scores at a time; each pair needs memory for its hidden units."""
GROUP_SIZE = 64
"""Anchors in one group when the best anchors are searched."""


class Anchors:
    """Every concept of a taxonomy as an anchor, or those `chosen`, with the vectors of all of them.

    The egonets are built once, with at most `siblings` siblings, and always the same ones. As in
    training, deprecated concepts are in none but their own, so `taxonomy` is kept without their
    relations. `texts` are those of all concepts; only the learned fusion needs them.
    """

    def __init__(
        self,
        taxonomy: Taxonomy,
        vectors: ConceptVectors,
        siblings: int,
        chosen: Indices | None = None,
        texts: AnchorTexts | None = None,
    ) -> None:
        self.taxonomy = taxonomy.without_deprecated_relations
        self.vectors, self.siblings = vectors, siblings
        self.chosen = np.arange(len(taxonomy)) if chosen is None else chosen
        self.texts = texts

    @cached_property
    def words(self) -> LabelWords:
        """The words of the chosen anchors; only for anchors with texts."""
        if self.texts is None:
            raise ModelError("the learned fusion needs the texts of the anchors")
        words = self.texts.words
        everyone = np.array_equal(self.chosen, np.arange(len(words)))
        return words if everyone else words.select(self.chosen)

    @property
    def child_counts(self) -> Indices:
        """The number of children of each concept of the taxonomy, without deprecated ones: [N]."""
        return self.taxonomy.children_of.degrees

    @torch.no_grad()
    def encode(self, network: MatchingNetwork) -> Tensor:
        """Compute the key of every anchor, once for all queries: [N, k]."""
        was_training = network.training
        network.eval()
        vectors, keys = self.vectors, list[Tensor]()
        for stored in self._egonets:
            egonets = stored.to(vectors.device)
            names = vectors.select_names(stored.concepts)
            keys.append(network.encode(names, egonets).to(vectors.storage))
        network.train(was_training)
        return torch.cat(keys)

    def stored(self) -> Anchors:
        """Return the same anchors for computing where the vectors are stored."""
        vectors = self.vectors.stored()
        texts = None if self.texts is None else self.texts.to(vectors.device)
        return Anchors(self.taxonomy, vectors, self.siblings, self.chosen, texts)

    @cached_property
    def families(self) -> list[Egonets]:
        """The egonets with all children, as the fusion head sees them."""
        return self._blocks(FUSION_BLOCK, len(self.taxonomy))

    @cached_property
    def _egonets(self) -> list[Egonets]:
        return self._blocks(ENCODER_BLOCK, self.siblings)

    def _blocks(self, size: int, siblings: int) -> list[Egonets]:
        return [
            anchor_egonets(self.taxonomy, anchors, siblings).to(self.vectors.storage)
            for anchors in np.split(self.chosen, range(size, len(self.chosen), size))
        ]


def anchor_egonets(taxonomy: Taxonomy, anchors: Indices, siblings: int) -> Egonets:
    """Build the egonets of some anchors as they are used outside training: always the same."""
    return build_egonets(taxonomy, anchors, spread_siblings(taxonomy, anchors, siblings))


@dataclass(frozen=True)
class Ranking:
    """The best anchors of each query: their indices and scores, both [Q, k], best first.

    `tempered` are the scores at the temperature of the ranking.
    """

    anchors: Indices
    scores: NDArray[np.float32]
    tempered: NDArray[np.float32]

    @classmethod
    def empty(cls) -> Ranking:
        """Return the ranking of no queries."""
        scores = np.zeros((0, 0), np.float32)
        return cls(np.zeros((0, 0), np.int64), scores, scores)

    def __getitem__(self, rows: slice) -> Ranking:
        """Return the ranking of some consecutive queries."""
        return Ranking(self.anchors[rows], self.scores[rows], self.tempered[rows])


class Ranker:
    """Scores queries against all anchors of a taxonomy by the anchors' keys [N, k].

    Anchors whose vectors are streamed to a GPU are ranked on the host, where keys and vectors are.
    Deprecated concepts cannot be parents: they score minus infinity. Without a learned `fusion`,
    `leaf_bonus` is added to the raw score of every anchor that has no children.
    """

    def __init__(
        self,
        network: MatchingNetwork,
        anchors: Anchors,
        keys: Tensor | None = None,
        leaf_bonus: float = 0.0,
        fusion: SignalFusion | None = None,
    ) -> None:
        self.keys = anchors.encode(network) if keys is None else keys.to(anchors.vectors.storage)
        if anchors.vectors.streamed_to is not None:
            network, anchors = copy.deepcopy(network).to(self.keys.device), anchors.stored()
        self.network, self.anchors, self.leaf_bonus = network, anchors, leaf_bonus
        self.fusion = fusion
        deprecated = np.array(sorted(anchors.taxonomy.deprecated), dtype=np.int64)
        rows = np.flatnonzero(np.isin(anchors.chosen, deprecated))
        self.deprecated_rows = torch.from_numpy(rows).to(self.keys.device)

    def with_leaf_bonus(self, leaf_bonus: float) -> Ranker:
        """Return the same ranker with another leaf bonus."""
        other = copy.copy(self)
        other.leaf_bonus = leaf_bonus
        return other

    def with_fusion(self, fusion: SignalFusion | None) -> Ranker:
        """Return the same ranker with another learned fusion, or without one."""
        other = copy.copy(self)
        other.fusion = fusion
        return other

    @cached_property
    def leaf_rows(self) -> Tensor:
        """The rows of the leaf anchors; deprecated children do not count."""
        counts = self.anchors.child_counts[self.anchors.chosen]
        return torch.from_numpy(np.flatnonzero(counts == 0)).to(self.keys.device)

    def log_match(self, scores: Tensor) -> Tensor:
        """Return log f of scores: the logarithm of what is normalized over all anchors."""
        return self.network.match.log_match(scores) if self.fusion is None else scores

    @torch.no_grad()
    def scores(self, queries: Queries) -> Tensor:
        """Compute the score of every pair, higher is better: [N, Q]."""
        if self.fusion is None:
            scores = self._match_scores(queries)
            if self.network.fusion is not None:
                for rows, family, cosines in self._cosine_blocks(queries):
                    del family
                    scores[rows] += self.network.fusion(cosines)
            if self.leaf_bonus:
                scores[self.leaf_rows] += self.leaf_bonus
        else:
            scores = self.keys.new_empty(len(self.keys), len(queries))
            for rows, features in self.feature_blocks(queries):
                scores[rows] = self.fusion.score(features)
        return scores.index_fill_(0, self.deprecated_rows, -torch.inf)

    @torch.no_grad()
    def feature_blocks(self, queries: Queries) -> Iterator[tuple[slice, Tensor]]:
        """Yield the features of some anchors with all queries, after their rows: [F, A, Q]."""
        scores, network = self._match_scores(queries), self.network
        texts, words = self.anchors.texts, self.anchors.words
        if len(queries.concepts) != len(queries):
            raise ModelError("the learned fusion needs the labels of the queries")
        query_words = words.of_queries(queries.concepts)
        tower = None
        if texts is not None and texts.as_anchors is not None and texts.as_queries is not None:
            if queries.tower is None:
                raise ModelError("the queries were not encoded by the fine-tuned encoder")
            tower = texts.as_anchors, texts.as_queries @ queries.tower.T
        for rows, family, cosines in self._cosine_blocks(queries):
            raw = scores[rows]
            if network.fusion is not None:
                raw = raw + network.fusion(cosines)
            shared = torch.from_numpy(words.compare(query_words, rows.start, rows.stop))
            compared = None
            if tower is not None and queries.tower is not None:
                as_anchors, child_cosines = tower
                anchors, children = _concepts_of(family).split(family.sizes[1:])
                own = as_anchors.index_select(0, anchors) @ queries.tower.T
                compared = own, child_cosines.index_select(0, children)
            log_f = network.match.log_match(raw)
            yield rows, pair_features(log_f, cosines, shared.to(raw.device), compared, family)

    def _match_scores(self, queries: Queries) -> Tensor:
        """Compute the raw scores of the network's match, with the bonus of mentions: [N, Q]."""
        match = self.network.match
        scores = match.score_all(self.keys, match.project_queries(queries.vectors[0]))
        if self.network.mentions is not None and queries.mentions is not None:
            of, anchors, kinds = queries.mentions.of_many(np.arange(len(queries)))
            pairs = torch.from_numpy(np.stack([anchors, of, kinds])).to(scores.device)
            scores += self.network.mentions(pairs, *scores.shape)
        return scores

    def _cosine_blocks(self, queries: Queries) -> Iterator[tuple[slice, Egonets, Tensor]]:
        """Yield the rows of some anchors, their families, and the cosine features [8, A, Q]."""
        vectors, own, first = self.anchors.vectors, queries.vectors, 0
        names, heads = vectors.names @ own[0].T, vectors.heads @ own[1].T
        for family in self.anchors.families:
            concepts = _concepts_of(family)
            by_head = Cosines(heads, vectors.head_of.index_select(0, concepts))
            rows = slice(first, first + family.size)
            yield rows, family, cosine_features(Cosines(names, concepts), by_head, family)
            first = rows.stop

    def rank(
        self,
        queries: Queries,
        top_k: int,
        temperature: float = 1.0,
        excluded: Sequence[Indices] | None = None,
        on_scores: Callable[[Queries, Tensor], None] | None = None,
    ) -> Ranking:
        """Return the best anchors; a score is the anchor's softmax probability over all anchors.

        `excluded` are the anchors that cannot be the parent of each query. `on_scores` gets each
        block of queries with its scores of all anchors, before the exclusion.
        """
        fewest = (
            len(self.keys) - len(self.deprecated_rows) - max(map(len, excluded or ()), default=0)
        )
        top_k = min(top_k, max(fewest, 1))
        log_match = self.log_match
        anchors, scores, tempered = [], [], []
        for start, some in queries.blocks(len(self.keys)):
            block, no_parents = self.scores(some), None
            if on_scores is not None:
                on_scores(some, block)
            if excluded:
                no_parents = _pairs(excluded[start : start + len(some)], block.device)
                block[no_parents] = -torch.inf
            best, rows = best_of(block, top_k)
            anchors.append(rows.T)
            best, log_f = log_match(best), log_match(block)
            log_f = log_f.index_fill(0, self.deprecated_rows, -torch.inf).sub_(best[0])
            if no_parents is not None:
                log_f[no_parents] = -torch.inf
            best = best - best[0]
            if temperature != 1:
                heated = (best / temperature).exp() / (log_f / temperature).exp_().sum(0)
                tempered.append(heated.T)
            scores.append((best.exp() / log_f.exp_().sum(0)).T)
        probabilities = torch.cat(scores).cpu().numpy()
        heated_probabilities = torch.cat(tempered).cpu().numpy() if tempered else probabilities
        return Ranking(torch.cat(anchors).cpu().numpy(), probabilities, heated_probabilities)

    def true_ranks(self, queries: LabeledQueries, ties: float = 0.0) -> list[NDArray[np.floating]]:
        """Return the rank of each true parent of each query, without its other true parents.

        Of the anchors with an equal score, the fraction `ties` counts as higher;
        with 0.5, a network that gives all anchors the same score ranks in the middle, not first.
        """
        ranks: list[NDArray[np.floating]] = []
        for _, some in queries.blocks(len(self.keys)):
            ranks += rank_true_parents(self.scores(some), some.parents, ties)
        return ranks


def _pairs(anchors: Sequence[Indices], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the row and the column of each anchor of each query."""
    columns = np.repeat(np.arange(len(anchors)), [len(own) for own in anchors])
    rows = np.concatenate(anchors)
    return torch.from_numpy(rows).to(device), torch.from_numpy(columns).to(device)


def _concepts_of(family: Egonets) -> Tensor:
    """Return the concepts of all anchors, then of all siblings: [A + S]."""
    return family.concepts.index_select(0, family.nodes[family.sizes[0] :])


def best_of(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k highest scores of each column and their rows: [N, Q] → two of [k, Q].

    The k best scores lie in the k groups of rows with the highest maxima. So all scores are read
    once, and only those of k groups are sorted.
    """
    groups = len(scores) // GROUP_SIZE
    if k >= groups:
        best, rows = scores.topk(k, dim=0)
        return best, rows
    size = groups * GROUP_SIZE
    whole, rest = scores.split([size, len(scores) - size])
    maxima = whole.view(groups, GROUP_SIZE, -1).amax(1)
    inside = torch.arange(GROUP_SIZE, device=scores.device)[None, :, None]
    rows = (maxima.topk(k, dim=0).indices[:, None] * GROUP_SIZE + inside).flatten(0, 1)
    tail = torch.arange(size, len(scores), device=scores.device)
    rows = torch.cat([rows, tail[:, None].expand(-1, scores.shape[1])])
    best, indices = torch.cat([scores.gather(0, rows[: k * GROUP_SIZE]), rest]).topk(k, dim=0)
    return best, rows.gather(0, indices)
