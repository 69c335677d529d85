"""Scores of all anchors with a block of queries, in few passes over memory.

Inputs and features (`pair_features`) are not stored: the weights are multiplied into the anchors'
vectors, and most of a score is one product with the query's vectors. The rest are the `cosines`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from taxoexpan.errors import ModelError
from taxoexpan.features.label_words import QueryWords
from taxoexpan.network.concept_vectors import Queries
from taxoexpan.network.matching import DoubleExpMatch, LogBilinearMatch
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.best_scores import GROUP_SIZE, ScoreSummary
from taxoexpan.placement.scoring.pair_features import (
    MAX_PAIRS_BY_DEVICE,
    OF_COSINES,
    OF_FAMILY,
    OF_WORDS,
    PAIR_FEATURES,
    CosineScores,
    Input,
    QueryCosines,
    ReusedMemory,
    SignalFusion,
    pair_features,
    row_slices,
)
from taxoexpan.placement.scoring.word_scores import WordScores
from taxoexpan.taxonomy.arrays import Floats

FEATURE_PAIRS = {"cpu": 1 << 18}
"""Pairs whose inputs are computed at a time, which need 19 MB in single precision."""


class Scorer:
    """A scorer of queries with A anchors, given the anchors' keys [A, k].

    Without a fusion, a score is the network's raw score, not its logarithm. With one, `score` is
    the weighted sum of `features`; tests/placement/scoring/test_scorer.py compares both with slow,
    obvious versions.
    """

    def __init__(
        self,
        network: MatchingNetwork,
        anchors: Anchors,
        keys: Tensor,
        fusion: SignalFusion | None,
        barred: Tensor,
    ) -> None:
        self._network = network
        self._anchors = anchors
        self._keys = keys
        plain = SignalFusion.from_mapping({"network": 1.0})
        weights = (plain if fusion is None else fusion).input_weights()
        families = anchors.families
        self._parents = families.rows_of_parents
        self._of_network = self._by_row(weights, Input.NETWORK)
        self._constants = self._by_row(weights, Input.ONE)
        of_children = float(weights[0, Input.CHILDREN]) * families.log_counts
        self._constants[self._parents] += of_children[:, None]
        self._constants[barred] = -torch.inf
        self._word_scores = None
        self._tower = None
        if fusion is not None:
            self._word_scores = WordScores(anchors.words, weights[0], keys.device)
            self._tower = anchors.tower
        is_bilinear = isinstance(network.match, LogBilinearMatch)
        is_log = is_bilinear and not isinstance(network.match, DoubleExpMatch)
        # The network alone is ranked by raw scores, and log f of the bilinear match is its score.
        self._takes_log = fusion is not None and not is_log
        self._is_folded = is_bilinear and not self._takes_log
        self._folded = self._fold(weights)
        self._children = None
        if self._tower is not None:
            self._children = families.occurring(self._tower[1])
        self._cosine_weights = weights[:, OF_COSINES]

    @torch.no_grad()
    def score(
        self,
        queries: Queries,
        excluded: tuple[Tensor, Tensor] | None = None,
        summary: ScoreSummary | None = None,
        memory: ReusedMemory | None = None,
    ) -> tuple[Tensor, QueryCosines]:
        """Return the scores [A, Q], minus infinity for `excluded` (row, column) pairs."""
        memory = ReusedMemory() if memory is None else memory
        cosines = QueryCosines(self._anchors.families, queries, memory, self._children)
        scores = self._sparse_part(queries, excluded, memory)
        projected = self._network.project_queries(queries.vectors[0], self._keys)
        product = self._product(projected, queries)
        mentions = None
        if self._takes_log and self._network.mentions is not None:
            mentions = self._add_mentions(torch.zeros_like(scores), queries)
        by_cosine = None
        if self._cosine_weights.any():
            by_cosine = CosineScores(self._cosine_weights, cosines)
        for rows in row_slices(
            len(scores), len(queries), MAX_PAIRS_BY_DEVICE, scores.device, GROUP_SIZE
        ):
            block = scores[rows]
            if product is not None:
                block.addmm_(product[0][rows], product[1])
            if by_cosine is not None:
                by_cosine.add_to(block, rows)
            if not self._is_folded:
                raw = self._network.match.score_all(self._keys[rows], projected)
                if self._takes_log:
                    raw = raw if mentions is None else raw.add_(mentions[rows])
                    block.addcmul_(self._of_network[rows], self._network.match.log_match(raw))
                else:
                    block += raw
            if summary is not None:
                summary.add(block)
        return scores, cosines

    @torch.no_grad()
    def features(self, queries: Queries) -> Tensor:
        """Return the features of all pairs, which the fusion is fitted to: [F, A, Q]."""
        network = self._network
        anchors = self._anchors
        families = self._anchors.families
        query_words = self._words_of(queries)
        projected = network.project_queries(queries.vectors[0], self._keys)
        raw = self._add_mentions(network.match.score_all(self._keys, projected), queries)
        cosines = QueryCosines(families, queries, ReusedMemory())
        of_parents = raw.new_zeros(len(Input), len(families.parents), len(queries))
        if anchors.tower is not None:
            tower = self._tower_of(queries).T
            by_anchor = anchors.tower[0] @ tower
            of_parents[Input.TOWER_MEAN_CHILD] = families.mean_of(anchors.tower[1]) @ tower
            cosines.children = families.occurring(anchors.tower[1])
        for row, values in enumerate(cosines.of_parents(), Input.NAME):
            of_parents[row] = values
        of_parents[Input.CHILDREN] = families.log_counts[:, None]
        is_leaf = raw.new_ones(len(raw), 1)
        is_leaf[self._parents] = 0
        features = raw.new_empty(len(PAIR_FEATURES), *raw.shape)
        for rows in row_slices(len(raw), len(queries), FEATURE_PAIRS, raw.device):
            inputs = raw.new_zeros(len(Input), rows.stop - rows.start, len(queries))
            families.write(of_parents[OF_FAMILY], rows, inputs[OF_FAMILY])
            inputs[Input.NAME], inputs[Input.HEAD] = cosines.of_anchors(rows)
            inputs[Input.ONE] = 1.0
            if anchors.tower is not None:
                inputs[Input.TOWER_ANCHOR] = by_anchor[rows]
            inputs[Input.NETWORK] = network.match.log_match(raw[rows])
            words = anchors.words.compare(query_words, rows.start, rows.stop)
            inputs[OF_WORDS] = torch.from_numpy(words).to(raw.device)
            pair_features(inputs, is_leaf[rows], features[:, rows])
        return features

    def _fold(self, weights: Floats) -> Tensor | None:
        """Return the weighted vectors of anchors, the first factor of `_product`: [A, d]."""
        parts = []
        if self._is_folded:
            is_plain = (weights[:, Input.NETWORK] == 1.0).all()
            parts.append(self._keys if is_plain else self._keys * self._of_network)
        if self._tower is not None:
            of_anchors, of_concepts = self._tower
            folded = of_anchors * self._by_row(weights, Input.TOWER_ANCHOR)
            if of_mean := float(weights[0, Input.TOWER_MEAN_CHILD]):
                mean = self._anchors.families.mean_of(of_concepts).mul_(of_mean)
                folded.index_add_(0, self._parents, mean)
            parts.append(folded)
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)

    def _product(self, projected: Tensor, queries: Queries) -> tuple[Tensor, Tensor] | None:
        """Return the factors of the folded product: of anchors [A, d] and of queries [d, Q]."""
        if self._folded is None:
            return None
        parts = [projected] if self._is_folded else []
        if self._tower is not None:
            parts.append(self._tower_of(queries))
        return self._folded, torch.cat(parts, 1).T

    def _tower_of(self, queries: Queries) -> Tensor:
        """Return the tower's vectors of queries: [Q, D]."""
        if queries.tower is None:
            raise ModelError("the queries were not encoded by the text encoder")
        return queries.tower

    def _words_of(self, queries: Queries) -> QueryWords:
        """Return the words of the queries' labels."""
        if len(queries.concepts) != len(queries):
            raise ModelError("the learned fusion needs the labels of the queries")
        return self._anchors.words.of_queries(queries.concepts)

    def _sparse_part(
        self, queries: Queries, excluded: tuple[Tensor, Tensor] | None, memory: ReusedMemory
    ) -> Tensor:
        """Return constants of anchors for all pairs, plus words and mentions: [A, Q]."""
        scores = memory.take("scores", self._constants, len(self._keys), len(queries))
        scores.copy_(self._constants.expand_as(scores))
        if self._word_scores is not None:
            self._word_scores.add_to(scores, self._words_of(queries))
        if not self._takes_log:
            self._add_mentions(scores, queries, self._of_network)
        if excluded is not None:
            scores[excluded] = -torch.inf
        return scores

    def _add_mentions(
        self, scores: Tensor, queries: Queries, weights: Tensor | None = None
    ) -> Tensor:
        """Add the weighted bonus of the anchors that the queries mention, if any."""
        mentions = self._network.mentions
        if mentions is None or queries.mentions is None:
            return scores
        numbers, anchors, kinds = queries.mentions.of_many(np.arange(len(queries)))
        triples = torch.from_numpy(np.stack([anchors, numbers, kinds])).to(scores.device)
        rows, columns, kind = triples
        bonus = mentions.reach * mentions.weight.index_select(0, kind)
        if weights is not None:
            bonus *= weights.index_select(0, rows)[:, 0]
        scores.view(-1).index_add_(0, rows * scores.shape[1] + columns, bonus)
        return scores

    def _by_row(self, weights: Floats, input: Input) -> Tensor:
        """Return the weight of an input for each anchor: [A, 1]."""
        of_parents, of_leaves = weights[:, input].tolist()
        column = self._keys.new_full((len(self._keys), 1), of_leaves)
        column[self._parents] = of_parents
        return column
