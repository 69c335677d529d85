"""The numbers that the exact scores of single pairs of a query and an anchor are computed from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from taxoexpan.errors import ModelError
from taxoexpan.features.label_words import Numbers
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.cosine_features import child_cosines_of_pairs, cosine_features_of_pairs
from taxoexpan.network.matching import LogBilinearMatch
from taxoexpan.network.queries import Queries
from taxoexpan.placement.scoring.ranking import Anchors, Ranker
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
        is_leaf: whether the anchor has no children that are not deprecated [P].
        words: the features of the labels' words [6, P]; only for a learned fusion.
        tower: the tower's cosines with the anchor, its nearest and its mean child [3, P], if any.
    """

    match: Tensor
    mentions: Tensor
    cosines: Tensor
    is_leaf: Tensor
    words: Tensor | None
    tower: Tensor | None


@torch.no_grad()
def pair_inputs(ranker: Ranker, queries: Queries, pairs: QueryAnchorPairs) -> PairInputs:
    """Return the inputs of pairs, for a ranker of all concepts of its taxonomy.

    The cost grows with the number of pairs and of the children of their anchors.
    """
    anchors, device = ranker.anchors, ranker.keys.device
    of, children = anchors.taxonomy.children_of.of_many(pairs.anchor)
    sibling_of, nothing = _tensor(of, device), _tensor(np.zeros(0, np.int64), device)
    child_query = pairs.query[of]
    own = concept_cosines(anchors.vectors, pairs.anchor, queries.vectors, pairs.query)
    below = concept_cosines(anchors.vectors, children, queries.vectors, child_query)
    cosines, _ = cosine_features_of_pairs(own, below, sibling_of, nothing)
    words = tower = None
    if ranker.fusion is not None:
        words = word_features_of_pairs(anchors, pairs, queries)
        texts = anchors.texts
        if texts is not None and texts.as_anchors is not None and texts.as_queries is not None:
            if queries.tower is None:
                raise ModelError("the queries were not encoded by the fine-tuned encoder")
            by_anchor = dot_products(texts.as_anchors, pairs.anchor, queries.tower, pairs.query)
            by_child = dot_products(texts.as_queries, children, queries.tower, child_query)
            both, _ = child_cosines_of_pairs(by_child, sibling_of, nothing, len(pairs))
            tower = torch.cat([by_anchor[None], both])
    is_leaf = torch.from_numpy(anchors.child_counts[pairs.anchor] == 0).to(device)
    match, mentions = (
        _match_scores(ranker, queries, pairs),
        _mention_bonuses(ranker, queries, pairs),
    )
    return PairInputs(match, mentions, cosines, is_leaf, words, tower)


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
    words, count = anchors.words, len(queries)
    query_words = words.of_queries(queries.concepts)

    def shared(of_anchors: csr_array, number: Indices, of: Indices, values: Numbers) -> Numbers:
        of_queries = csr_array((values, (of, number)), shape=(count, of_anchors.shape[1]))
        products = of_anchors[pairs.anchor].multiply(of_queries[pairs.query])
        return np.asarray(products.sum(axis=1), dtype=np.float32).ravel()

    ones = np.ones(len(query_words.words), np.float32)
    is_ending = query_words.is_ending.astype(np.float32)
    features = [
        shared(words.named, query_words.names, query_words.name_of, is_ending).clip(max=1),
        shared(words.named, query_words.names, query_words.name_of, 1 - is_ending).clip(max=1),
        words.heads[pairs.anchor] == query_words.heads[pairs.query],
        shared(words.labels, query_words.words, query_words.word_of, query_words.weighted),
        shared(words.weighted, query_words.words, query_words.word_of, ones),
        shared(words.paths, query_words.words, query_words.word_of, query_words.weighted),
    ]
    return torch.from_numpy(np.stack(features).astype(np.float32)).to(anchors.vectors.names)


def _match_scores(ranker: Ranker, queries: Queries, pairs: QueryAnchorPairs) -> Tensor:
    """Return the raw scores of the network's match [P]."""
    match = ranker.network.match
    projected = match.project_queries(queries.vectors[0])
    if isinstance(match, LogBilinearMatch):
        return dot_products(ranker.keys, pairs.anchor, projected, pairs.query)
    keys, own = (
        vectors.index_select(0, _tensor(rows, vectors.device))
        for vectors, rows in ((ranker.keys, pairs.anchor), (projected, pairs.query))
    )
    return match.score_pairs(keys, own)


def _mention_bonuses(ranker: Ranker, queries: Queries, pairs: QueryAnchorPairs) -> Tensor:
    """Return the bonus of each pair whose query mentions its anchor, and 0 for the others [P]."""
    bonus, device = ranker.network.mentions, ranker.keys.device
    if bonus is None or queries.mentions is None or not len(queries.mentions.kinds):
        return ranker.keys.new_zeros(len(pairs))
    of, mentioned, kinds = queries.mentions.of_many(np.arange(len(queries)))
    size = len(ranker.keys)
    # A query may mention an anchor in several ways.
    keys, row = np.unique(of * size + mentioned, return_inverse=True)
    values = bonus.reach * bonus.weight.index_select(0, _tensor(kinds, device))
    totals = ranker.keys.new_zeros(len(keys)).index_add_(0, _tensor(row, device), values)
    wanted = pairs.query * size + pairs.anchor
    position = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    is_mentioned = torch.from_numpy(keys[position] == wanted).to(device)
    return totals.index_select(0, _tensor(position, device)) * is_mentioned


def _tensor(indices: Indices, device: torch.device) -> Tensor:
    return torch.from_numpy(indices).to(device)
