"""Ranking the candidates of a query instead of all anchors.

The candidates come from a graph of vectors, and are scored exactly. The anchors with many children
are few, and every query is compared with all of them. A random sample of the others stands for the
anchors that are no candidates: scores are probabilities over all anchors, and these have a part in
the total.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.network.queries import Queries
from taxoexpan.placement.candidates.search_record import SearchRecord, StoredSearch
from taxoexpan.placement.candidates.search_vectors import LinearParts
from taxoexpan.placement.candidates.vector_graph import VectorGraph
from taxoexpan.placement.scoring.pair_inputs import QueryAnchorPairs
from taxoexpan.placement.scoring.pair_rescoring import score_pairs
from taxoexpan.placement.scoring.ranking import Anchors, Ranker
from taxoexpan.taxonomy.arrays import Indices

HUB_CHILDREN = 64
"""An anchor with more children is compared with every query."""
NUM_SAMPLED = 4096
"""Other anchors that are compared with every query; they stand for those that are no candidates."""
NUM_NEAREST = 10
"""The nearest concepts of each query that are found."""
NEAREST_EFFORT = 128
MAX_TOP_K = 25
"""More parents per query are ranked exactly."""
BLOCK_SIZE = 128
"""Queries that are ranked together."""


@dataclass(frozen=True)
class FoundAnchors:
    """The best anchors of Q queries.

    Args:
        anchors: the anchors, best first [k, Q].
        log_f: log f of these [k, Q].
        log_totals: the logarithm of the sum of f over all anchors, at each temperature [T, Q].
    """

    anchors: Tensor
    log_f: Tensor
    log_totals: Tensor


@dataclass(frozen=True)
class ScoredAnchors:
    """Anchors of Q queries with exact scores, padded with scores of minus infinity.

    Args:
        anchors: the anchors [n, Q].
        scores: their scores [n, Q].
        log_counts: the logarithm of how many anchors each of them stands for [n, Q].
    """

    anchors: Tensor
    scores: Tensor
    log_counts: Tensor

    def without(self, excluded: Sequence[Indices]) -> ScoredAnchors:
        """Return the same anchors, except those that each query excludes."""
        scores = self.scores.clone()
        for query, rows in enumerate(excluded):
            if len(rows):
                barred = torch.from_numpy(rows).to(scores.device)
                scores[torch.isin(self.anchors[:, query], barred), query] = -torch.inf
        return replace(self, scores=scores)

    def best(self, ranker: Ranker, count: int, temperatures: Sequence[float]) -> FoundAnchors:
        """Return the best anchors, and the totals of all."""
        log_f = ranker.log_match(self.scores).masked_fill(self.scores == -torch.inf, -torch.inf)
        rows = self.scores.topk(min(count, len(log_f)), dim=0).indices
        # One of the best was missed by the search: it stands for no others like it.
        log_counts = self.log_counts.scatter(0, rows, 0.0)
        totals = [(log_f / t + log_counts).logsumexp(0) for t in temperatures]
        return FoundAnchors(
            self.anchors.gather(0, rows), log_f.gather(0, rows), torch.stack(totals)
        )


class CandidateRanker:
    """Ranks the candidates of queries, with the exact scores of a ranker of all anchors.

    `parts` are those of the ranker. The graphs are built unless they are stored.
    """

    def __init__(
        self,
        ranker: Ranker,
        record: SearchRecord,
        parts: LinearParts | None = None,
        stored: StoredSearch | None = None,
    ) -> None:
        self.ranker, self.record = ranker, record
        self._parts = LinearParts(ranker) if parts is None else parts
        counts, size = ranker.anchors.child_counts, len(ranker.keys)
        is_parent = np.ones(size, dtype=bool)
        is_parent[ranker.deprecated_rows.cpu().numpy()] = False
        self._is_parent = is_parent
        is_hub = is_parent & (counts > HUB_CHILDREN)
        self._rows: Indices = np.flatnonzero(is_parent & ~is_hub)
        sampled = self._sample()
        self._always = np.concatenate([np.flatnonzero(is_hub), sampled])
        self._always_row = np.full(size, -1)
        self._always_row[self._always] = np.arange(len(self._always))
        each = np.log(max(len(self._rows), 1) / max(len(sampled), 1))
        self._log_counts = np.repeat([0.0, each], [int(is_hub.sum()), len(sampled)])
        vectors = self._parts.combine(np.array(record.weights))[self._rows]
        names = ranker.anchors.vectors.names.cpu().numpy()
        self._graph = VectorGraph(vectors, None if stored is None else stored.anchor_graph)
        self._names = VectorGraph(names, None if stored is None else stored.name_graph)

    @property
    def size(self) -> int:
        """The number of anchors that can be parents."""
        return int(self._is_parent.sum())

    def stored(self) -> StoredSearch:
        """Return the search as a model stores it."""
        return StoredSearch(self.record, self._graph.stored(), self._names.stored())

    def with_leaf_bonus(self, leaf_bonus: float) -> CandidateRanker:
        """Return the same search with another leaf bonus."""
        other = copy.copy(self)
        other.ranker = self.ranker.with_leaf_bonus(leaf_bonus)
        other.__dict__.pop("_always_ranker", None)
        return other

    def with_candidates(self, count: int, effort: int) -> CandidateRanker:
        """Return the same search with another number of candidates and another effort."""
        other = copy.copy(self)
        other.record = replace(self.record, candidates=count, effort=effort)
        return other

    def blocks(self, queries: Queries) -> Iterator[tuple[slice, Queries, ScoredAnchors]]:
        """Yield blocks of queries with the exact scores of their candidates."""
        for start in range(0, len(queries), BLOCK_SIZE):
            rows = slice(start, min(start + BLOCK_SIZE, len(queries)))
            yield rows, queries[rows], self._score(queries[rows])

    def nearest_concepts(self, queries: Queries) -> tuple[Indices, NDArray[np.float32]]:
        """Return the concepts whose names are nearest to each query, and the cosines: [Q, K]."""
        own, names = queries.vectors[0], self.ranker.anchors.vectors.names
        count = min(NUM_NEAREST, len(names))
        found = self._names.search(own.cpu().numpy(), count, NEAREST_EFFORT)
        rows = torch.from_numpy(found).to(names.device)
        known = names.index_select(0, rows.clamp(min=0).flatten()).unflatten(0, rows.shape)
        cosines = torch.einsum("qkd,qd->qk", known, own).masked_fill_(rows < 0, -1.0)
        order = cosines.argsort(dim=1, descending=True)
        return (
            rows.clamp(min=0).gather(1, order).cpu().numpy(),
            cosines.gather(1, order).cpu().numpy(),
        )

    @torch.no_grad()
    def _score(self, queries: Queries) -> ScoredAnchors:
        """Return the exact scores of the candidates, of hubs and of sampled anchors."""
        query, anchor = self._candidates(queries)
        row = self._always_row[anchor]
        device = self.ranker.keys.device
        scores = self._always_ranker.scores(self._for_always(queries))
        log_counts = scores.new_tensor(self._log_counts)[:, None].repeat(1, len(queries))
        is_known = row >= 0
        log_counts[row[is_known], query[is_known]] = 0.0
        pairs = QueryAnchorPairs(query[~is_known], anchor[~is_known])
        position = np.arange(len(pairs)) - np.searchsorted(pairs.query, pairs.query)
        shape = (int(position.max(initial=-1)) + 1, len(queries))
        found, of = scores.new_full(shape, -torch.inf), torch.zeros(shape, dtype=torch.int64)
        found[position, pairs.query] = score_pairs(self.ranker, queries, pairs)
        of[position, pairs.query] = torch.from_numpy(pairs.anchor)
        always = torch.from_numpy(self._always)[:, None].expand(-1, len(queries))
        return ScoredAnchors(
            torch.cat([always, of]).to(device),
            torch.cat([scores, found]),
            torch.cat([log_counts, torch.zeros_like(found)]),
        )

    def _candidates(self, queries: Queries) -> tuple[Indices, Indices]:
        """Return the query and the anchor of each candidate, sorted by query, without hubs."""
        side, count = self._parts.query_side(queries), self.record.candidates
        found = self._graph.search(side, min(count, len(self._rows)), self.record.effort)
        query = np.repeat(np.arange(len(queries)), found.shape[1])
        rows = found.ravel()
        query, anchor = query[rows >= 0], self._rows[rows[rows >= 0]]
        if queries.mentions is not None and self.ranker.network.mentions is not None:
            of, mentioned, _ = queries.mentions.of_many(np.arange(len(queries)))
            kept = self._is_parent[mentioned]
            query = np.concatenate([query, of[kept]])
            anchor = np.concatenate([anchor, mentioned[kept]])
        size = len(self.ranker.keys)
        pairs = np.unique(query * size + anchor)
        return pairs // size, pairs % size

    @cached_property
    def _always_ranker(self) -> Ranker:
        """The ranker of the hubs and the sampled anchors."""
        ranker, all_anchors = self.ranker, self.ranker.anchors
        anchors = Anchors(
            all_anchors.taxonomy,
            all_anchors.vectors,
            all_anchors.siblings,
            self._always,
            all_anchors.texts,
        )
        keys = ranker.keys.index_select(0, torch.from_numpy(self._always).to(ranker.keys.device))
        return Ranker(ranker.network, anchors, keys, ranker.leaf_bonus, ranker.fusion)

    def _for_always(self, queries: Queries) -> Queries:
        """Return the queries with mentions as rows of the hubs and the sampled anchors."""
        if queries.mentions is None:
            return queries
        mentions = queries.mentions.reindex(self._always_row, np.arange(len(queries)))
        return replace(queries, mentions=mentions)

    def _sample(self) -> Indices:
        """Draw anchors that are no hubs, always the same."""
        count = min(NUM_SAMPLED, len(self._rows))
        return np.sort(np.random.default_rng(0).choice(self._rows, count, replace=False))
