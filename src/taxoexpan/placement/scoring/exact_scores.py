"""Exact scores of all anchors with a block of queries, in few passes over memory.

The learned fusion is a weighted sum. So the features of pairs are not stored: weights are
multiplied into the vectors of anchors, and most of a score is one product with the query's vectors.
Shared words are written only where there are any. The rest are `cosine_scores`.

`Ranker.feature_blocks` computes the same scores in the obvious way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from taxoexpan.errors import ModelError
from taxoexpan.features.label_words import LabelWords
from taxoexpan.features.word_postings import WordScores
from taxoexpan.network.matching import DoubleExpMatch, LogBilinearMatch
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import Queries
from taxoexpan.placement.scoring.cosine_scores import (
    COSINES,
    LEAF_COSINES,
    CosineScorer,
    CosineScores,
    ReusedMemory,
    row_slices,
)
from taxoexpan.placement.scoring.families import Families
from taxoexpan.placement.scoring.pair_features import COSINE_FEATURES, COSINE_SCALE, WORD_FEATURES
from taxoexpan.placement.scoring.score_summary import GROUP_SIZE, ScoreSummary
from taxoexpan.placement.scoring.signal_fusion import SignalFusion

MAX_PAIRS = {"cpu": 1 << 17, "cuda": 1 << 24}
"""Pairs whose scores are completed at a time: few enough for the cache of a CPU."""


@dataclass(frozen=True)
class ScoreWeights:
    """What each term of a score counts; of two numbers, the second is for leaf anchors.

    Args:
        network: the network's score.
        tower: the tower's cosine with the anchor.
        tower_mean: the tower's cosine with the mean child.
        cosines: the cosine features [9], and those of leaf anchors [3]; see `cosine_scores`.
        children: the logarithm of one more than the number of children.
        leaf: a constant for leaf anchors.
        words: the features of the labels' words [6]; None for the network alone.
    """

    network: tuple[float, float]
    tower: tuple[float, float]
    tower_mean: float
    cosines: tuple[tuple[float, ...], tuple[float, ...]]
    children: float
    leaf: float
    words: tuple[float, ...] | None

    @classmethod
    def of_network(cls, leaf_bonus: float) -> ScoreWeights:
        """Return the weights of the network's raw score alone."""
        none = (0.0,) * COSINES, (0.0,) * len(LEAF_COSINES)
        return cls((1.0, 1.0), (0.0, 0.0), 0.0, none, 0.0, leaf_bonus, None)

    @classmethod
    def of_fusion(cls, fusion: SignalFusion) -> ScoreWeights:
        """Return the weights of a learned fusion, in which those of leaf anchors are added up."""
        w, scale = fusion.as_mapping(), COSINE_SCALE
        by_cosine = tuple(scale * w[name] for name in COSINE_FEATURES)
        nearest_by_tower = scale * w["tower_nearest_child"]
        name_of_leaf = scale * (w["name"] + w["leaf_name"])
        return cls(
            network=(w["network"], w["network"] + w["leaf_network"]),
            tower=(scale * w["tower_anchor"], scale * (w["tower_anchor"] + w["leaf_tower"])),
            tower_mean=scale * w["tower_mean_child"],
            # The number of children and the constant have weights of their own.
            cosines=((*by_cosine, 0.0, 0.0, nearest_by_tower), (name_of_leaf, by_cosine[1], 0.0)),
            children=w["children"],
            leaf=w["leaf"],
            words=tuple(w[name] for name in WORD_FEATURES),
        )


class ExactScorer:
    """Scores all anchors with queries; what depends only on the anchors is computed once.

    Args:
        network: the network.
        families: the A anchors with their children.
        keys: the network's keys of the anchors [A, k].
        weights: what each term of a score counts.
        words: the words of the anchors; only for a learned fusion.
        tower: the tower's vectors of the anchors [A, D], and of all concepts as children [N, D].
        barred: the rows of the anchors that cannot be parents; they score minus infinity.
    """

    def __init__(
        self,
        network: MatchingNetwork,
        families: Families,
        keys: Tensor,
        weights: ScoreWeights,
        words: LabelWords | None = None,
        tower: tuple[Tensor, Tensor] | None = None,
        barred: Tensor | None = None,
    ) -> None:
        self._network, self._keys, self._words = network, keys, words
        self._parents = torch.from_numpy(families.parents).to(keys.device)
        self._of_network = self._by_row(*weights.network)
        self._constants = self._by_row(0.0, weights.leaf)
        self._constants[self._parents] = weights.children * families.log_counts[:, None]
        if barred is not None:
            self._constants[barred] = -torch.inf
        self._word_scores = None
        if words is not None and weights.words is not None:
            self._word_scores = WordScores(words, weights.words, keys.device)
        match = network.match
        is_bilinear, is_fused = isinstance(match, LogBilinearMatch), weights.words is not None
        # The network alone is ranked by raw scores, and log f of the bilinear match is its score.
        self._takes_log = is_fused and (not is_bilinear or isinstance(match, DoubleExpMatch))
        self._is_folded = is_bilinear and not self._takes_log
        self._has_tower = tower is not None
        self._folded = self._fold(weights, families, tower)
        self._cosines = self._cosine_scorer(weights, families, tower)

    @torch.no_grad()
    def score(
        self,
        queries: Queries,
        excluded: tuple[Tensor, Tensor] | None = None,
        summary: ScoreSummary | None = None,
        memory: ReusedMemory | None = None,
    ) -> tuple[Tensor, CosineScores | None]:
        """Return the scores of all pairs [A, Q], and the cosines that they were computed from.

        The `excluded` pairs, as rows and columns, score minus infinity. The `summary` gets every
        slice of the scores. The results are in `memory`, if it is given.
        """
        memory = ReusedMemory() if memory is None else memory
        side, scores = self._query_side(queries), self._sparse_part(queries, excluded, memory)
        projected = self._network.match.project_queries(queries.vectors[0])
        mentions = None
        if self._takes_log and self._network.mentions is not None:
            mentions = self._add_mentions(torch.zeros_like(scores), queries)
        cosines = None if self._cosines is None else self._cosines.of_queries(queries, memory)
        for rows in row_slices(len(scores), len(queries), MAX_PAIRS, scores.device, GROUP_SIZE):
            block = scores[rows]
            if side is not None and self._folded is not None:
                block.addmm_(self._folded[rows], side)
            results = [block]
            if not self._is_folded:
                raw = self._network.match.score_all(self._keys[rows], projected)
                if self._takes_log:
                    results = [raw if mentions is None else raw.add_(mentions[rows]), block]
                else:
                    block += raw
            if cosines is not None:
                cosines.add_to(results, rows)
            if self._takes_log:
                log_f = self._network.match.log_match(results[0])
                block.addcmul_(self._of_network[rows], log_f)
            if summary is not None:
                summary.add(block)
        return scores, cosines

    def _fold(
        self, weights: ScoreWeights, families: Families, tower: tuple[Tensor, Tensor] | None
    ) -> Tensor | None:
        """Return the weighted vectors of anchors, to be multiplied with `_query_side`: [A, d]."""
        parts = []
        if self._is_folded:
            is_plain = weights.network == (1.0, 1.0)
            parts.append(self._keys if is_plain else self._keys * self._of_network)
        if tower is not None:
            of_anchors, of_concepts = tower
            folded = of_anchors * self._by_row(*weights.tower)
            if weights.tower_mean:
                mean = families.mean_of(of_concepts).mul_(weights.tower_mean)
                folded.index_add_(0, self._parents, mean)
            parts.append(folded)
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)

    def _cosine_scorer(
        self, weights: ScoreWeights, families: Families, tower: tuple[Tensor, Tensor] | None
    ) -> CosineScorer | None:
        head = self._network.fusion
        if head is None and not any(map(any, weights.cosines)):
            return None
        child_vectors = None
        if tower is not None and weights.cosines[0][-1]:
            child_vectors = families.occurring(tower[1])
        of_head = weights.network
        return CosineScorer(
            head, families, weights.cosines, of_head, self._takes_log, child_vectors
        )

    def _query_side(self, queries: Queries) -> Tensor | None:
        """Return the queries' side of the folded product: [d, Q]."""
        parts = [queries.vectors[0]] if self._is_folded else []
        if self._has_tower:
            if queries.tower is None:
                raise ModelError("the queries were not encoded by the fine-tuned encoder")
            parts.append(queries.tower)
        return torch.cat(parts, 1).T if parts else None

    def _sparse_part(
        self, queries: Queries, excluded: tuple[Tensor, Tensor] | None, memory: ReusedMemory
    ) -> Tensor:
        """Return what the anchors add to all pairs, and words and mentions to few: [A, Q]."""
        scores = memory.take("scores", self._constants, len(self._keys), len(queries))
        scores.copy_(self._constants.expand_as(scores))
        if self._words is not None and self._word_scores is not None:
            if len(queries.concepts) != len(queries):
                raise ModelError("the learned fusion needs the labels of the queries")
            self._word_scores.add_to(scores, self._words.of_queries(queries.concepts))
        if not self._takes_log:
            self._add_mentions(scores, queries, self._of_network)
        if excluded is not None:
            scores[excluded] = -torch.inf
        return scores

    def _add_mentions(
        self, scores: Tensor, queries: Queries, weights: Tensor | None = None
    ) -> Tensor:
        """Add the bonus of the anchors that the queries mention, weighted by anchor, if any."""
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

    def _by_row(self, of_parents: float, of_leaves: float) -> Tensor:
        """Return one of two numbers for each anchor: [A, 1]."""
        column = self._keys.new_full((len(self._keys), 1), of_leaves)
        column[self._parents] = of_parents
        return column
