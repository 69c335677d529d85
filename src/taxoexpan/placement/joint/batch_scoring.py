"""Scoring a batch of new concepts against existing anchors and against each other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from taxoexpan.features.label_words import LabelWords, first_parents
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.queries import Queries
from taxoexpan.placement.joint.arborescence import ROOT, best_arborescence
from taxoexpan.placement.learned.new_parent_prior import BatchScores, NewParentPrior, label_features
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Floats, Indices

MAX_CANDIDATES = 10
"""New concepts that are considered as the parent of another."""
VIEW_BLOCK = 64
"""Egonets without a query that are scored at a time; each may hold all children of a hub."""


class BatchScorer:
    """Scores a batch of new concepts with all anchors; keeps what does not change between rounds.

    The leaf bonus is not used: the new-parent prior takes its place.
    """

    def __init__(self, ranker: Ranker, queries: Queries) -> None:
        self.ranker, self.queries = ranker.with_leaf_bonus(0.0), queries
        self.network, self.siblings = ranker.network, ranker.anchors.siblings
        self.taxonomy = ranker.anchors.taxonomy
        self.known = len(self.taxonomy)
        self.own = self.known + np.arange(len(queries))
        self.vectors = _appended(ranker.anchors.vectors, queries.vectors)
        self.texts = _with_new_texts(ranker.anchors, queries)
        self.features = label_features(queries.concepts)

    def independent_parents(self) -> tuple[Indices, Floats]:
        """Return the best existing anchor of each new concept by itself, and its score."""
        ranking = self.ranker.rank(self._queries_for(np.arange(self.known)), 1)
        return ranking.anchors[:, 0], ranking.scores[:, 0].astype(np.float64)

    def scores(self, parents: Indices) -> BatchScores:
        """Score the batch, given the parents [Q] that it has so far.

        Only egonets that the batch has changed are encoded; no query is part of the egonet that it
        is scored against.
        """
        expanded = self._expanded(parents)
        changed = np.concatenate([np.unique(parents[parents < self.known]), self.own])
        others = self._ranker(Anchors(expanded, self.vectors, self.siblings, changed, self.texts))
        for_changed = self._queries_for(changed)
        rows = torch.from_numpy(changed).to(self.vectors.device)
        hidden = self._hidden_pairs(expanded, parents)
        parts = []
        for start, some in self._queries_for(np.arange(self.known)).blocks(self.known):
            old = self.ranker.scores(some)
            stop = start + len(some)
            scores = torch.cat([old, old.new_empty(len(self.queries), old.shape[1])])
            scores[rows] = others.scores(for_changed[start:stop])
            hidden.write(scores, start, stop)
            log_f = self.ranker.log_match(scores)
            log_f[self.ranker.deprecated_rows] = -torch.inf
            known, among = log_f.double().split([self.known, len(self.queries)])
            best = known.max(0)
            parts.append((best.indices, best.values, known.logsumexp(0), among.T))
        anchors, best_f, total, among_f = (
            torch.cat(part).cpu().numpy() for part in zip(*parts, strict=True)
        )
        np.fill_diagonal(among_f, -np.inf)
        return BatchScores(anchors, best_f, total, among_f)

    def choose_parents(
        self, scores: BatchScores, prior: NewParentPrior | None
    ) -> tuple[Indices, Floats]:
        """Return the parents of the most probable tree, and the probability of each."""
        among = scores.among if prior is None else prior.adjust(scores, self.features)
        return _best_parents(scores, among, self.known)

    def _expanded(self, parents: Indices) -> Taxonomy:
        """Return the taxonomy with the batch below these parents."""
        above, below = self.taxonomy.relation_indices
        above, below = np.concatenate([above, parents]), np.concatenate([below, self.own])
        return _unnamed(self.known + len(self.queries), above, below)

    def _hidden_pairs(self, expanded: Taxonomy, parents: Indices) -> HiddenPairs:
        """Score the pairs whose anchor's egonet contains the query, as if the query were absent.

        Such pairs are a query below its parent, and a query below its own child. Each has a view: a
        copy of the anchor with relations of its own. In a view without the query, the query's
        children are attached to its parent.
        """
        under = np.flatnonzero(parents >= self.known)
        anchors = np.concatenate([parents, self.own[under]])
        queries = np.concatenate([np.arange(len(self.own)), parents[under] - self.known])
        views = len(expanded) + np.arange(len(anchors))
        of_above, above = expanded.parents_of.of_many(anchors)
        is_query = above == self.own[queries[of_above]]
        above = np.where(is_query, parents[queries[of_above]], above)
        of_below, below = expanded.children_of.of_many(anchors)
        kept = below != self.own[queries[of_below]]
        # The first Q views are the queries' parents.
        of_query, grandchildren = expanded.children_of.of_many(self.own)
        with_views = _unnamed(
            len(expanded) + len(views),
            np.concatenate([above, views[of_below[kept]], views[of_query]]),
            np.concatenate([views[of_above], below[kept], grandchildren]),
        )
        scores = self._view_scores(with_views, views, anchors, queries)
        return HiddenPairs(torch.from_numpy(anchors), torch.from_numpy(queries), scores.cpu())

    def _view_scores(
        self, with_views: Taxonomy, views: Indices, anchors: Indices, queries: Indices
    ) -> Tensor:
        """Return the score of each query below its view: [G]."""
        device = self.vectors.device
        copied = np.concatenate([np.arange(len(with_views) - len(views)), anchors])
        vectors = self.vectors.select(torch.from_numpy(copied).to(device))
        texts = None if self.texts is None else self.texts.select(copied)
        scores = []
        for some in np.split(np.arange(len(views)), range(VIEW_BLOCK, len(views), VIEW_BLOCK)):
            chosen = Anchors(with_views, vectors, self.siblings, views[some], texts)
            block = self._view_queries(anchors[some], queries[some])
            scores.append(self._ranker(chosen).scores(block).diagonal())
        return torch.cat(scores)

    def _view_queries(self, anchors: Indices, queries: Indices) -> Queries:
        """Return the queries of some views, with the mentions of each one's own anchor."""
        block, mentions = self.queries.select(queries), self.queries.mentions
        if mentions is not None:
            pairs, concepts, kinds = mentions.of_many(queries)
            hits = concepts == anchors[pairs]
            of_row = Adjacency.from_pairs(pairs[hits], pairs[hits], len(queries))
            block = replace(block, mentions=Mentions(of_row, kinds[hits]))
        return block

    def _ranker(self, anchors: Anchors) -> Ranker:
        return Ranker(self.network, anchors, fusion=self.ranker.fusion)

    def _queries_for(self, anchors: Indices) -> Queries:
        """Return the batch with its mentions of some anchors, by their indices among these."""
        mentions: Mentions | None = self.queries.mentions
        if mentions is not None:
            rows = np.full(self.known + len(self.queries), -1)
            rows[anchors] = np.arange(len(anchors))
            mentions = mentions.reindex(rows, np.arange(len(self.queries)))
        return replace(self.queries, mentions=mentions)


@dataclass(frozen=True)
class HiddenPairs:
    """The scores of G pairs of an anchor and a query, where the query is left out of the egonet."""

    anchors: Tensor
    queries: Tensor
    scores: Tensor

    def write(self, into: Tensor, start: int, stop: int) -> None:
        """Write them into the scores of all anchors for the queries of one block."""
        inside = (self.queries >= start) & (self.queries < stop)
        rows, columns = self.anchors[inside], self.queries[inside] - start
        cells = rows.to(into.device), columns.to(into.device)
        into.index_put_(cells, self.scores[inside].to(into.device))


def _best_parents(scores: BatchScores, among: Floats, known: int) -> tuple[Indices, Floats]:
    """Return the parents of the most probable tree, and their probabilities.

    `among` [Q, Q] holds log f of new concepts as parents of each other.
    """
    count = min(MAX_CANDIDATES, len(among))
    nearest = np.argsort(-among, axis=1, kind="stable")[:, :count]
    weights = np.take_along_axis(among, nearest, axis=1)
    # A new parent that scores lower than an existing one is in no best tree.
    children, columns = np.nonzero(weights > scores.best[:, None])
    candidates, weights = nearest[children, columns], weights[children, columns]
    found = best_arborescence(scores.best, candidates, children, weights)
    highest = np.maximum(scores.total, among.max(1))
    summed = np.exp(scores.total - highest) + np.exp(among - highest[:, None]).sum(1)
    total = highest + np.log(summed)
    chosen = np.where(found == ROOT, scores.best, among[np.arange(len(found)), found])
    return np.where(found == ROOT, scores.anchors, known + found), np.exp(chosen - total)


def _appended(vectors: ConceptVectors, both: Tensor) -> ConceptVectors:
    """Append the vectors of more concepts, [2, Q, D]."""
    heads = len(vectors.heads) + torch.arange(both.shape[1], device=both.device)
    return ConceptVectors(
        torch.cat([vectors.names, both[0]]),
        torch.cat([vectors.heads, both[1]]),
        torch.cat([vectors.head_of, heads]),
    )


def _with_new_texts(anchors: Anchors, queries: Queries) -> AnchorTexts | None:
    """Append the texts of the new concepts; as anchors they are described without a parent.

    Words keep their weights, so that an existing anchor scores the same with and without the batch.
    """
    texts, taxonomy = anchors.texts, anchors.taxonomy
    if texts is None:
        return None
    parents = np.append(first_parents(taxonomy), np.full(len(queries), -1))
    everyone = [*taxonomy.concepts, *queries.concepts]
    words = LabelWords.from_concepts(everyone, parents, taxonomy.active_indices)
    if texts.as_anchors is None or texts.as_queries is None or queries.tower is None:
        return AnchorTexts(words)
    as_anchors, as_queries = (
        torch.cat([known, queries.tower]) for known in (texts.as_anchors, texts.as_queries)
    )
    return AnchorTexts(words, as_anchors, as_queries)


def _unnamed(size: int, parents: Indices, children: Indices) -> Taxonomy:
    """Build a taxonomy whose concepts have only indices."""
    names = [str(i) for i in range(size)]
    return Taxonomy.from_columns(names, names, parents, children)
