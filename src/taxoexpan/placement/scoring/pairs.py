"""The scores of given pairs of a query and an anchor, from the same features as all scores."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from taxoexpan.errors import ModelError
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.cosine_features import LOG_COUNT
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import Queries
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.features import OF_HEAD, OF_WORDS, Input, pair_features
from taxoexpan.taxonomy.arrays import Indices

DENSE_FACTOR = 32
"""So many products of a matrix product cost as much as one that is computed on its own."""


@dataclass(frozen=True)
class QueryAnchorPairs:
    """P pairs: pair p is the query `query[p]` with the anchor `anchor[p]`, both [P]."""

    query: Indices
    anchor: Indices

    def __len__(self) -> int:
        return len(self.query)


@dataclass(frozen=True)
class PairInputs:
    """The numbers that the scores of P pairs are computed from.

    Args:
        match: the raw scores of the network's match [P].
        mentions: the bonuses of mentions [P].
        cosines: the cosine features of the fusion head [8, P].
        words: the features of the labels' words [6, P]; only for a learned fusion.
        tower: the tower's cosines with the anchor, its nearest and its mean child [3, P], if any.
    """

    match: Tensor
    mentions: Tensor
    cosines: Tensor
    words: Tensor | None = None
    tower: Tensor | None = None

    @property
    def is_leaf(self) -> Tensor:
        """1 where the anchor has no children, or else 0 [P]."""
        return (self.cosines[LOG_COUNT] == 0).to(self.match.dtype)

    @torch.no_grad()
    def head_scores(self, network: MatchingNetwork) -> Tensor:
        """Return the scores of the network's fusion head, or 0 without one [P]."""
        if network.fusion is None:
            return torch.zeros_like(self.match)
        scores: Tensor = network.fusion(self.cosines[..., None])
        return scores[:, 0]

    @torch.no_grad()
    def features(self, network: MatchingNetwork) -> Tensor:
        """Return the features that the learned fusion weighs: [F, P]."""
        if self.words is None:
            raise ModelError("the learned fusion needs the words of the pairs")
        inputs = self.match.new_zeros(len(Input), len(self.match))
        raw = self.match + self.mentions + self.head_scores(network)
        inputs[Input.NETWORK] = network.match.log_match(raw)
        inputs[OF_HEAD], inputs[OF_WORDS] = self.cosines, self.words
        if self.tower is not None:
            of_tower = Input.TOWER_ANCHOR, Input.TOWER_NEAREST_CHILD, Input.TOWER_MEAN_CHILD
            inputs[list(of_tower)] = self.tower
        return pair_features(inputs, self.is_leaf)


def concept_cosines(
    vectors: ConceptVectors, concepts: Indices, queries: Tensor, query: Indices
) -> Tensor:
    """Return the cosines of concept e with the query `query[e]`, by names and head words: [2, E].

    The queries' vectors are [2, Q, D].
    """
    head_of = vectors.head_of.cpu().numpy()[concepts]
    by_name = dot_products(vectors.names, concepts, queries[0], query)
    return torch.stack([by_name, dot_products(vectors.heads, head_of, queries[1], query)])


def dot_products(vectors: Tensor, rows: Indices, queries: Tensor, query: Indices) -> Tensor:
    """Return the dot products [E] of the vector `rows[e]` with the query `query[e]`.

    If many queries need the same vectors, such as the children of a hub, it is cheaper to multiply
    each distinct vector with all queries than to multiply pair by pair.
    """
    is_used = np.zeros(len(vectors), dtype=bool)
    is_used[rows] = True
    distinct, device = np.flatnonzero(is_used), vectors.device
    if len(distinct) * len(queries) <= DENSE_FACTOR * len(rows):
        position = np.cumsum(is_used)[rows] - 1
        products = vectors.index_select(0, _tensor(distinct, device)) @ queries.T
        return products[_tensor(position, device), _tensor(query, device)]
    order = np.argsort(query, kind="stable")
    ordered = _tensor(rows[order], device)
    ends = np.searchsorted(query[order], np.arange(len(queries) + 1)).tolist()
    parts = [
        vectors.index_select(0, ordered[start:stop]) @ queries[column]
        for column, (start, stop) in enumerate(pairwise(ends))
    ]
    result = vectors.new_empty(len(rows))
    result[_tensor(order, device)] = torch.cat(parts)
    return result


def word_features_of_pairs(anchors: Anchors, pairs: QueryAnchorPairs, queries: Queries) -> Tensor:
    """Return the features of the labels' words of each pair, as `LabelWords.compare`: [6, P]."""
    distinct, rows = np.unique(pairs.anchor, return_inverse=True)
    words = anchors.words.select(distinct)
    compared = words.compare(words.of_queries(queries.concepts), 0, len(distinct))
    return torch.from_numpy(compared[:, rows, pairs.query]).to(anchors.vectors.names)


def _tensor(indices: Indices, device: torch.device) -> Tensor:
    return torch.from_numpy(indices).to(device)
