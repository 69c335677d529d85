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
from taxoexpan.network.cosine_features import NUM_FEATURES, ONE
from taxoexpan.network.egonets import Egonets, build_egonets, spread_siblings
from taxoexpan.network.matching import LogBilinearMatch
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import LabeledQueries, Queries
from taxoexpan.placement.scoring.cosine_scores import CosineScores, ReusedMemory
from taxoexpan.placement.scoring.exact_scores import ExactScorer, ScoreWeights
from taxoexpan.placement.scoring.families import Families
from taxoexpan.placement.scoring.pair_features import AnchorTexts, combine_features
from taxoexpan.placement.scoring.score_summary import ScoreSummary, best_of
from taxoexpan.placement.scoring.signal_fusion import SignalFusion
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.metrics import rank_true_parents

ENCODER_BLOCK = 8192
"""Anchors that are encoded at a time."""
FEATURE_PAIRS = 1 << 18
"""Pairs whose features are computed at a time."""
MIN_BEST = 10
"""The number of best anchors of each query that an assessment gets, at least."""


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
    def families(self) -> Families:
        """The chosen anchors with all of their children, as the features of pairs see them."""
        return Families(self.taxonomy, self.chosen, self.vectors)

    @cached_property
    def tower(self) -> tuple[Tensor, Tensor] | None:
        """The tower's vectors of the chosen anchors, and of all concepts as children, if any."""
        texts = self.texts
        if texts is None or texts.as_anchors is None or texts.as_queries is None:
            return None
        everyone = np.array_equal(self.chosen, np.arange(len(texts.as_anchors)))
        rows = torch.from_numpy(self.chosen).to(self.vectors.device)
        own = texts.as_anchors if everyone else texts.as_anchors.index_select(0, rows)
        return own, texts.as_queries

    @cached_property
    def _egonets(self) -> list[Egonets]:
        blocks = np.split(self.chosen, range(ENCODER_BLOCK, len(self.chosen), ENCODER_BLOCK))
        return [
            anchor_egonets(self.taxonomy, anchors, self.siblings).to(self.vectors.storage)
            for anchors in blocks
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


@dataclass(frozen=True)
class RankedBlock:
    """The ranking of a few queries, on the device of the scores.

    Args:
        queries: the queries, Q.
        best: log f of their best anchors, best first [k, Q].
        rows: these anchors [k, Q].
        log_total: the logarithm of the sum of f over all anchors [Q].
        cosines: the cosines of the queries with all names and head words, if computed.
    """

    queries: Queries
    best: Tensor
    rows: Tensor
    log_total: Tensor
    cosines: CosineScores | None


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
        other.__dict__.pop("_scorer", None)
        return other

    def with_fusion(self, fusion: SignalFusion | None) -> Ranker:
        """Return the same ranker with another learned fusion, or without one."""
        other = copy.copy(self)
        other.fusion = fusion
        other.__dict__.pop("_scorer", None)
        return other

    @cached_property
    def leaf_rows(self) -> Tensor:
        """The rows of the leaf anchors; deprecated children do not count."""
        counts = self.anchors.child_counts[self.anchors.chosen]
        return torch.from_numpy(np.flatnonzero(counts == 0)).to(self.keys.device)

    def log_match(self, scores: Tensor) -> Tensor:
        """Return log f of scores: the logarithm of what is normalized over all anchors."""
        return self.network.match.log_match(scores) if self.fusion is None else scores

    @cached_property
    def _scorer(self) -> ExactScorer:
        anchors, fusion = self.anchors, self.fusion
        if fusion is None:
            weights = ScoreWeights.of_network(self.leaf_bonus)
            words = tower = None
        else:
            weights = ScoreWeights.of_fusion(fusion)
            words, tower = anchors.words, anchors.tower
        return ExactScorer(
            self.network, anchors.families, self.keys, weights, words, tower, self.deprecated_rows
        )

    def scores(self, queries: Queries) -> Tensor:
        """Compute the score of every pair, higher is better: [N, Q]."""
        return self._scorer.score(queries)[0]

    @torch.no_grad()
    def feature_blocks(self, queries: Queries) -> Iterator[tuple[slice, Tensor]]:
        """Yield the features of some anchors with all queries, after their rows: [F, A, Q].

        They are what the learned fusion is fitted to. `scores` does not store them.
        """
        words, match = self.anchors.words, self.network.match
        if len(queries.concepts) != len(queries):
            raise ModelError("the learned fusion needs the labels of the queries")
        query_words = words.of_queries(queries.concepts)
        raw = self._match_scores(queries)
        families, by_tower = self.anchors.families, self._tower_cosines(queries)
        is_leaf = self.keys.new_ones(len(self.keys), 1)
        is_leaf[families.parents] = 0
        for rows, cosines in self._cosine_blocks(queries):
            scores = raw[rows]
            if self.network.fusion is not None:
                scores = scores + self.network.fusion(cosines)
            shared = torch.from_numpy(words.compare(query_words, rows.start, rows.stop))
            compared = None
            if by_tower is not None:
                own, *of_children = by_tower
                compared = [own[rows], *(torch.zeros_like(scores) for _ in of_children)]
                for values, result in zip(of_children, compared[1:], strict=True):
                    families.write(values, rows, result)
            log_f, leaf = match.log_match(scores), is_leaf[rows]
            yield rows, combine_features(log_f, cosines, shared.to(raw.device), compared, leaf)

    def _match_scores(self, queries: Queries) -> Tensor:
        """Compute the raw scores of the network's match, with the bonus of mentions: [N, Q]."""
        match = self.network.match
        scores = match.score_all(self.keys, match.project_queries(queries.vectors[0]))
        if self.network.mentions is not None and queries.mentions is not None:
            of, anchors, kinds = queries.mentions.of_many(np.arange(len(queries)))
            pairs = torch.from_numpy(np.stack([anchors, of, kinds])).to(scores.device)
            scores += self.network.mentions(pairs, *scores.shape)
        return scores

    def _tower_cosines(self, queries: Queries) -> tuple[Tensor, Tensor, Tensor] | None:
        """Return the tower's cosines with the anchors [N, Q], nearest and mean children [I, Q]."""
        if self.anchors.tower is None:
            return None
        if queries.tower is None:
            raise ModelError("the queries were not encoded by the fine-tuned encoder")
        (own, children), families = self.anchors.tower, self.anchors.families
        by_tower = queries.tower.T
        nearest = families.nearest(families.occurring(children) @ by_tower)
        return own @ by_tower, nearest, families.mean_of(children) @ by_tower

    def _cosine_blocks(self, queries: Queries) -> Iterator[tuple[slice, Tensor]]:
        """Yield the rows of some anchors and their cosine features [8, A, Q]."""
        families, (by_name, by_head) = self.anchors.families, (v.T for v in queries.vectors)
        names, heads = families.names @ by_name, families.heads @ by_head
        of_children = (
            families.nearest(names),
            families.nearest_head(heads),
            families.mean_names @ by_name,
            families.mean_heads @ by_head,
            families.log_counts[:, None].expand(-1, len(queries)),
        )
        size = max(1, FEATURE_PAIRS // max(len(queries), 1))
        for start in range(0, len(self.keys), size):
            rows = slice(start, min(start + size, len(self.keys)))
            features = names.new_zeros(NUM_FEATURES, rows.stop - start, len(queries))
            features[0] = names.index_select(0, families.own[rows])
            features[1] = heads.index_select(0, families.own_heads[rows])
            for values, result in zip(of_children, features[2:7], strict=True):
                families.write(values, rows, result)
            features[ONE] = 1.0
            yield rows, features

    def rank(
        self,
        queries: Queries,
        top_k: int,
        temperature: float = 1.0,
        excluded: Sequence[Indices] | None = None,
        on_block: Callable[[RankedBlock], None] | None = None,
    ) -> Ranking:
        """Return the best anchors; a score is the anchor's softmax probability over all anchors.

        `excluded` are the anchors that cannot be the parent of each query. `on_block` gets the
        result of each block of queries, with at least the `MIN_BEST` best anchors, if there are as
        many.
        """
        fewest = (
            len(self.keys) - len(self.deprecated_rows) - max(map(len, excluded or ()), default=0)
        )
        top_k = min(top_k, max(fewest, 1))
        least = top_k if on_block is None else min(max(top_k, MIN_BEST), len(self.keys))
        anchors, scores, tempered = [], [], []
        memory = ReusedMemory()
        for start, some in queries.blocks(len(self.keys)):
            no_parents = None
            if excluded:
                no_parents = _pairs(excluded[start : start + len(some)], self.keys.device)
            block, heated = self._rank_block(some, least, temperature, no_parents, memory)
            if on_block is not None:
                on_block(block)
            anchors.append(block.rows[:top_k].T)
            scores.append((block.best[:top_k] - block.log_total).exp_().T)
            tempered.append((block.best[:top_k] / temperature - heated).exp_().T)
        of_all = (torch.cat(parts).cpu().numpy() for parts in (anchors, scores, tempered))
        return Ranking(*of_all)

    @torch.no_grad()
    def _rank_block(
        self,
        queries: Queries,
        count: int,
        temperature: float,
        excluded: tuple[Tensor, Tensor] | None,
        memory: ReusedMemory,
    ) -> tuple[RankedBlock, Tensor]:
        """Rank the anchors of a few queries, and return the softmax's denominator when tempered."""
        summary = ScoreSummary(temperature)
        if self.fusion is not None or type(self.network.match) is LogBilinearMatch:
            scores, cosines = self._scorer.score(queries, excluded, summary, memory)
            best, rows = summary.best_of(scores, count)
        else:
            scores, cosines = self._scorer.score(queries, excluded)
            best, rows = best_of(scores, count)
            log_f = self.log_match(scores).masked_fill_(scores == -torch.inf, -torch.inf)
            summary.add(log_f)
            best = self.log_match(best)
        log_total, heated = summary.log_totals()
        return RankedBlock(queries, best, rows, log_total, cosines), heated

    def true_ranks(self, queries: LabeledQueries, ties: float = 0.0) -> list[NDArray[np.floating]]:
        """Return the rank of each true parent of each query, without its other true parents.

        Of the anchors with an equal score, the fraction `ties` counts as higher; with 0.5, a
        network that gives all anchors the same score ranks in the middle, not first.
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
