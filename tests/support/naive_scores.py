"""Features and scores of a single pair, computed in the most obvious way."""

from __future__ import annotations

import math

import numpy as np
from torch import Tensor

from taxoexpan.network.concept_vectors import Queries
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.pair_features import COSINE_SCALE
from taxoexpan.placement.scoring.ranking import Ranker


class NaivePair:
    """The anchor in one row of a ranker and the query in one column."""

    def __init__(self, ranker: Ranker, queries: Queries, row: int, column: int) -> None:
        self.ranker, self.queries, self.row, self.column = ranker, queries, row, column
        self.taxonomy = ranker.anchors.taxonomy
        self.anchor = int(ranker.anchors.chosen[row])
        below = self.taxonomy.children(self.taxonomy.ids[self.anchor])
        self.children = [self.taxonomy.index(child) for child in below]

    @property
    def leaf(self) -> float:
        return float(not self.children)

    def cosines(self, query: Tensor, anchors: Tensor, children: Tensor) -> list[float]:
        """The cosines with the anchor, its nearest child and its mean child."""
        below = [float(children[child] @ query) for child in self.children]
        nearest, mean = max(below, default=0.0), sum(below) / max(len(below), 1)
        return [float(anchors[self.anchor] @ query), nearest, mean]

    def name_cosines(self) -> list[float]:
        """The six cosines of names and head words, in the order of `Input`."""
        vectors = self.ranker.anchors.vectors
        heads = vectors.heads[vectors.head_of]
        by_name = self.cosines(self.queries.vectors[0, self.column], vectors.names, vectors.names)
        by_head = self.cosines(self.queries.vectors[1, self.column], heads, heads)
        return [cosine for both in zip(by_name, by_head, strict=True) for cosine in both]

    def tower_cosines(self) -> list[float]:
        """The tower's cosines with the anchor, its nearest child and its mean child."""
        texts = self.ranker.anchors.texts
        if self.queries.tower is None or texts is None or texts.tower is None:
            return [0.0, 0.0, 0.0]
        return self.cosines(self.queries.tower[self.column], *texts.tower)

    def raw(self) -> float:
        """The network's raw score: the match and the mentions."""
        network, anchors = self.ranker.network, self.ranker.anchors
        alone = np.array([self.anchor])
        key = Anchors(self.taxonomy, anchors.vectors, anchors.siblings, alone).encode(network)
        query = network.project_queries(self.queries.vectors[0, [self.column]], key)
        score = float(network.match.score_pairs(key, query))
        if network.mentions is not None and self.queries.mentions is not None:
            _, mentioned, kinds = self.queries.mentions.of_many(np.array([self.column]))
            bonuses = network.mentions.reach * network.mentions.weight
            score += sum(
                float(bonuses[kind])
                for row, kind in zip(mentioned.tolist(), kinds.tolist(), strict=True)
                if row == self.row
            )
        return score

    def features(self) -> list[float]:
        """The features in the order of `FEATURES`."""
        match, texts = self.ranker.network.match, self.ranker.anchors.texts
        assert texts is not None
        log_f = float(match.log_match(self.queries.vectors.new_tensor(self.raw())))
        tower, names = self.tower_cosines(), self.name_cosines()
        asked = texts.words.of_queries([self.queries.concepts[self.column]])
        words = texts.words.compare(asked, self.anchor, self.anchor + 1)[:, 0, 0].tolist()
        return [
            log_f,
            *(COSINE_SCALE * value for value in (*tower, *names)),
            math.log1p(len(self.children)),
            self.leaf,
            *words,
            log_f * self.leaf,
            COSINE_SCALE * tower[0] * self.leaf,
            COSINE_SCALE * names[0] * self.leaf,
        ]

    def score(self) -> float:
        """The score that ranks the anchor."""
        if self.anchor in self.taxonomy.deprecated:
            return -math.inf
        if self.ranker.fusion is None:
            return self.raw()
        pairs = zip(self.ranker.fusion.weights, self.features(), strict=True)
        return sum(weight * feature for weight, feature in pairs)


def naive_features(ranker: Ranker, queries: Queries) -> Tensor:
    """Return the features of all pairs: [F, A, Q]."""
    pairs = [[pair.features() for pair in row] for row in _all_pairs(ranker, queries)]
    return ranker.keys.new_tensor(pairs).permute(2, 0, 1)


def naive_scores(ranker: Ranker, queries: Queries) -> Tensor:
    """Return the scores of all pairs: [A, Q]."""
    pairs = [[pair.score() for pair in row] for row in _all_pairs(ranker, queries)]
    return ranker.keys.new_tensor(pairs)


def _all_pairs(ranker: Ranker, queries: Queries) -> list[list[NaivePair]]:
    anchors, columns = range(len(ranker.keys)), range(len(queries))
    return [[NaivePair(ranker, queries, row, column) for column in columns] for row in anchors]
