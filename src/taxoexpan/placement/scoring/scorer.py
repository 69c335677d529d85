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
from taxoexpan.features.word_postings import WordScores
from taxoexpan.network.concept_vectors import Queries
from taxoexpan.network.matching import DoubleExpMatch, LogBilinearMatch
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.scoring.anchors import Anchors
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
from taxoexpan.taxonomy.arrays import Floats

GROUP_SIZE = 64
"""Anchors in one group when the best anchors are searched."""


class ScoreSummary:
    """Maxima and totals of scores [N, Q]; every slice but the last has whole groups of rows."""

    def __init__(self, temperature: float = 1.0) -> None:
        self._temperature = temperature
        self._maxima: list[Tensor] = []
        self._highest: list[Tensor] = []
        self._sums: list[Tensor] = []
        self._heated_sums: list[Tensor] = []

    def add(self, scores: Tensor) -> None:
        """Add the next slice [n, Q]."""
        whole = len(scores) // GROUP_SIZE
        maxima = scores[: whole * GROUP_SIZE].unflatten(0, (whole, GROUP_SIZE)).amax(1)
        self._maxima.append(maxima)
        parts = [part.amax(0) for part in (maxima, scores[whole * GROUP_SIZE :]) if len(part)]
        highest = parts[0] if len(parts) == 1 else torch.maximum(*parts)
        # If all scores are minus infinity, so would be the highest, and the difference undefined.
        highest = highest.clamp_(min=torch.finfo(scores.dtype).min)
        self._highest.append(highest)
        shifted = scores - highest
        if self._temperature != 1:
            self._heated_sums.append((shifted / self._temperature).exp_().sum(0))
        self._sums.append(shifted.exp_().sum(0))

    def best_of(self, scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return the k highest of all added scores, and their rows: two of [k, Q]."""
        return best_of(scores, k, torch.cat(self._maxima))

    def log_totals(self) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the summed exponentials, plain and at the temperature: [Q]."""
        highest = torch.stack(self._highest)
        plain = (torch.stack(self._sums).log_() + highest).logsumexp(0)
        if self._temperature == 1:
            return plain, plain
        heated = torch.stack(self._heated_sums).log_() + highest / self._temperature
        return plain, heated.logsumexp(0)


def best_of(scores: Tensor, k: int, maxima: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the k highest scores of each column and their rows: [N, Q] → two of [k, Q].

    They lie in the k groups of rows with the highest `maxima`, so only these groups are sorted.
    """
    groups = len(scores) // GROUP_SIZE
    if k >= groups:
        best, rows = scores.topk(k, dim=0)
        return best, rows
    size = groups * GROUP_SIZE
    whole, rest = scores.split([size, len(scores) - size])
    if maxima is None:
        maxima = whole.view(groups, GROUP_SIZE, -1).amax(1)
    inside = torch.arange(GROUP_SIZE, device=scores.device)[None, :, None]
    rows = (maxima.topk(k, dim=0).indices[:, None] * GROUP_SIZE + inside).flatten(0, 1)
    tail = torch.arange(size, len(scores), device=scores.device)
    rows = torch.cat([rows, tail[:, None].expand(-1, scores.shape[1])])
    best, indices = torch.cat([scores.gather(0, rows[: k * GROUP_SIZE]), rest]).topk(k, dim=0)
    return best, rows.gather(0, indices)


FEATURE_PAIRS = {"cpu": 1 << 18}
"""Pairs whose features are computed at a time."""


class Scorer:
    """A scorer of queries with A anchors, given the anchors' keys [A, k].

    Without a fusion, a score is the network's raw score, not its logarithm.
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
        self._constants[self._parents] = of_children[:, None]
        self._constants[barred] = -torch.inf
        self._word_scores = None
        self._tower = None
        if fusion is not None:
            self._word_scores = WordScores(
                anchors.words, weights[0, OF_WORDS].tolist(), keys.device
            )
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
        side = self._query_side(projected, queries)
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
            if side is not None and self._folded is not None:
                block.addmm_(self._folded[rows], side)
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
        below = raw.new_zeros(len(Input), len(families.parents), len(queries))
        if anchors.tower is not None:
            tower = self._tower_of(queries).T
            by_anchor = anchors.tower[0] @ tower
            below[Input.TOWER_MEAN_CHILD] = families.mean_of(anchors.tower[1]) @ tower
            cosines.children = families.occurring(anchors.tower[1])
        for which, values in enumerate(cosines.of_parents(), Input.NAME):
            below[which] = values
        below[Input.CHILDREN] = families.log_counts[:, None]
        is_leaf = raw.new_ones(len(raw), 1)
        is_leaf[self._parents] = 0
        features = raw.new_empty(len(PAIR_FEATURES), *raw.shape)
        for rows in row_slices(len(raw), len(queries), FEATURE_PAIRS, raw.device):
            inputs = raw.new_zeros(len(Input), rows.stop - rows.start, len(queries))
            families.write(below[OF_FAMILY], rows, inputs[OF_FAMILY])
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
        """Return the weighted vectors of anchors, to be multiplied by `_query_side`: [A, d]."""
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

    def _query_side(self, projected: Tensor, queries: Queries) -> Tensor | None:
        """Return the queries' side of the folded product: [d, Q]."""
        parts = [projected] if self._is_folded else []
        if self._tower is not None:
            parts.append(self._tower_of(queries))
        return torch.cat(parts, 1).T if parts else None

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
        of, anchors, kinds = queries.mentions.of_many(np.arange(len(queries)))
        rows, columns, kind = torch.from_numpy(np.stack([anchors, of, kinds])).to(scores.device)
        bonus = mentions.reach * mentions.weight.index_select(0, kind)
        if weights is not None:
            bonus *= weights.index_select(0, rows)[:, 0]
        scores.view(-1).index_add_(0, rows * scores.shape[1] + columns, bonus)
        return scores

    def _by_row(self, weights: Floats, which: Input) -> Tensor:
        """Return the weight of an input for each anchor: [A, 1]."""
        of_parents, of_leaves = weights[:, which].tolist()
        column = self._keys.new_full((len(self._keys), 1), of_leaves)
        column[self._parents] = of_parents
        return column
