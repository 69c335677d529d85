"""Joint placement of a batch of new concepts, some of which may be parents of others.

Unlike in the paper, every new concept is an anchor too. Its egonet has its current parent, itself,
and the new concepts below it. All relations are chosen at once as the most probable tree, a maximum
arborescence (Chu and Liu; Edmonds). Then the egonets are rebuilt until nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.features.label_words import LabelWords, first_parents
from taxoexpan.features.mentions import Lexicon, Mentions
from taxoexpan.network.concept_vectors import ConceptVectors, Queries
from taxoexpan.placement.learned.new_parent_prior import BatchScores, NewParentPrior, label_features
from taxoexpan.placement.proposals import refuse_nonfinite_scores
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts, Embedder
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.taxonomy.id_assignment import with_ids
from taxoexpan.taxonomy.names import normalize_name

MAX_ROUNDS = 3
"""How often the egonets are built again, at most."""
MAX_CANDIDATES = 10
"""New concepts that are considered as the parent of another."""
VIEW_BLOCK = 64
"""Egonets without a query that are scored at a time; each may hold all children of a hub."""
ROOT = -1
"""The parent of a node that is attached to the root."""


@dataclass(frozen=True)
class JointPlacement:
    """The parents (N + j is the j-th new concept) and probabilities of Q new concepts."""

    parents: Indices
    scores: Floats
    rounds: int
    converged: bool

    def additions(self, taxonomy: Taxonomy, concepts: Sequence[Concept]) -> Additions:
        """Return the relations to add; every concept needs an id (see `with_ids`)."""
        ids = [*taxonomy.ids, *(concept.id for concept in concepts)]
        parents = [ids[parent] for parent in self.parents.tolist()]
        pairs = zip(parents, (concept.id for concept in concepts), strict=True)
        return Additions(tuple(concepts), tuple(pairs))


def place_jointly(
    ranker: Ranker,
    queries: Queries,
    priors: Sequence[NewParentPrior] = (),
    max_rounds: int = MAX_ROUNDS,
) -> JointPlacement:
    """Place a batch, in any order, below the anchors of a ranker and below each other.

    Round r uses the new-parent prior `priors[r]`, or the last one if there are fewer. Mentions
    refer to existing concepts by index, and to the j-th new concept by N + j.
    """
    new = queries.concepts
    keys = [(normalize_name(c.label), c.id, c.label, c.definition, c.synonyms) for c in new]
    # In this order, the given order of the concepts does not matter.
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
    if not len(queries):
        return JointPlacement(order, np.zeros(0), rounds=0, converged=True)
    known = len(ranker.keys)
    ranks = np.argsort(order)
    batch = BatchScorer(ranker, _reordered(queries, known, order, ranks))
    parents, scores = batch.independent_parents()
    converged = len(queries) < 2
    rounds = 0
    while not converged and rounds < max_rounds:
        prior = priors[min(rounds, len(priors) - 1)] if priors else None
        found, scores = batch.choose_parents(batch.scores(parents), prior)
        converged = bool((found == parents).all())
        rounds = rounds + 1
        parents = found
    original = np.concatenate([np.arange(known), known + order])
    return JointPlacement(original[parents][ranks], scores[ranks], rounds, converged)


def mentions_among(taxonomy: Taxonomy, concepts: Sequence[Concept]) -> Mentions:
    """Find the existing concepts (by index) and the new ones (N + j) that new concepts mention."""
    everyone = taxonomy.expanded(Additions(with_ids(taxonomy, concepts), ()))
    return Lexicon.from_taxonomy(everyone).mentions(concepts)


def _reordered(queries: Queries, known: int, order: Indices, ranks: Indices) -> Queries:
    """Return the same new concepts in another order."""
    mentions = queries.mentions
    if mentions is not None:
        mentions = mentions.reindex(np.concatenate([np.arange(known), known + ranks]), order)
    return replace(replace(queries, mentions=None).select(order), mentions=mentions)


def suggest_jointly(
    taxonomy: Taxonomy,
    ranker: Ranker,
    embedder: Embedder,
    concepts: Sequence[Concept],
    priors: Sequence[NewParentPrior],
) -> list[Suggestion]:
    """Suggest one parent for each concept; every concept needs an id (see `with_ids`)."""
    mentions = mentions_among(taxonomy, concepts) if embedder.config.uses_mentions else None
    queries = replace(embedder.queries(concepts, None), mentions=mentions)
    placed = place_jointly(ranker, queries, priors)
    expanded = taxonomy.expanded(placed.additions(taxonomy, concepts))
    known = len(taxonomy)
    suggestions = [
        Suggestion.at(taxonomy if parent < known else expanded, concept, parent, 1, score=score)
        for concept, parent, score in zip(
            concepts, placed.parents.tolist(), placed.scores.tolist(), strict=True
        )
    ]
    refuse_nonfinite_scores(suggestions)
    return suggestions


class BatchScorer:
    """A scorer of a batch with all anchors."""

    def __init__(self, ranker: Ranker, queries: Queries) -> None:
        self.ranker = ranker
        self.queries = queries
        self.network = ranker.network
        self.siblings = ranker.anchors.siblings
        self.taxonomy = ranker.anchors.taxonomy
        self.known = len(self.taxonomy)
        self.own = self.known + np.arange(len(queries))
        self.vectors = _appended(ranker.anchors.vectors, queries.vectors)
        self.texts = _with_new_texts(ranker.anchors, queries)
        self.features = label_features(queries.concepts)

    def independent_parents(self) -> tuple[Indices, Floats]:
        """Return the best existing anchor of each new concept, and its score."""
        ranking = self.ranker.rank(self._queries_for(np.arange(self.known)), 1)
        return ranking.anchors[:, 0], ranking.scores[:, 0].astype(np.float64)

    def scores(self, parents: Indices) -> BatchScores:
        """Score the batch, given its parents [Q]; hide each query from the anchors' egonets."""
        above, below = self.taxonomy.relation_indices
        above = np.concatenate([above, parents])
        below = np.concatenate([below, self.own])
        expanded = _unnamed(self.known + len(self.queries), above, below)
        changed = np.concatenate([np.unique(parents[parents < self.known]), self.own])
        others = self._ranker(Anchors(expanded, self.vectors, self.siblings, changed, self.texts))
        for_changed = self._queries_for(changed)
        rows = torch.from_numpy(changed).to(self.vectors.device)
        anchors, queries, hidden = self._hidden_pairs(expanded, parents)
        parts = []
        for start, some in self._queries_for(np.arange(self.known)).blocks(self.known):
            old = self.ranker.scores(some)
            stop = start + len(some)
            scores = torch.cat([old, old.new_empty(len(self.queries), old.shape[1])])
            scores[rows] = others.scores(for_changed[start:stop])
            inside = (queries >= start) & (queries < stop)
            scores[anchors[inside], queries[inside] - start] = hidden[inside]
            log_f = self.ranker.log_match(scores)
            log_f[self.ranker.deprecated_rows] = -torch.inf
            known, among = log_f.double().split([self.known, len(self.queries)])
            best = known.max(0)
            parts.append((best.indices, best.values, known.logsumexp(0), among.T))
        best_anchors, best_f, total, among_f = (
            torch.cat(part).cpu().numpy() for part in zip(*parts, strict=True)
        )
        np.fill_diagonal(among_f, -np.inf)
        return BatchScores(best_anchors, best_f, total, among_f)

    def choose_parents(
        self, scores: BatchScores, prior: NewParentPrior | None
    ) -> tuple[Indices, Floats]:
        """Return the parents of the most probable tree, and their probabilities."""
        among = scores.among if prior is None else prior.adjust(scores, self.features)
        return _best_parents(scores, among, self.known)

    def _hidden_pairs(self, expanded: Taxonomy, parents: Indices) -> tuple[Tensor, Tensor, Tensor]:
        """Score the pairs whose anchor's egonet contains the query, as if the query were absent.

        Return the anchors, queries and scores of these pairs. Each pair has a view: a copy of the
        anchor with its own relations, in which the query's children are attached to its parent.
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
        return (*torch.from_numpy(np.stack([anchors, queries])).to(scores.device), scores)

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
        """Return the queries of some views, each with the mentions of its own anchor."""
        block = self.queries.select(queries)
        mentions = self.queries.mentions
        if mentions is not None:
            pairs, concepts, kinds = mentions.of_many(queries)
            hits = concepts == anchors[pairs]
            of_row = Adjacency.from_pairs(pairs[hits], pairs[hits], len(queries))
            block = replace(block, mentions=Mentions(of_row, kinds[hits]))
        return block

    def _ranker(self, anchors: Anchors) -> Ranker:
        return Ranker(self.network, anchors, fusion=self.ranker.fusion)

    def _queries_for(self, anchors: Indices) -> Queries:
        """Return the batch with its mentions of some anchors, by their new indices."""
        mentions: Mentions | None = self.queries.mentions
        if mentions is not None:
            rows = np.full(self.known + len(self.queries), -1)
            rows[anchors] = np.arange(len(anchors))
            mentions = mentions.reindex(rows, np.arange(len(self.queries)))
        return replace(self.queries, mentions=mentions)


def _best_parents(scores: BatchScores, among: Floats, known: int) -> tuple[Indices, Floats]:
    """Return the most probable parents and their probabilities; `among` [Q, Q] holds log f."""
    count = min(MAX_CANDIDATES, len(among))
    nearest = np.argsort(-among, axis=1, kind="stable")[:, :count]
    weights = np.take_along_axis(among, nearest, axis=1)
    # A new parent that scores lower than an existing one is in no best tree.
    children, columns = np.nonzero(weights > scores.best[:, None])
    candidates = nearest[children, columns]
    weights = weights[children, columns]
    found = best_arborescence(scores.best, candidates, children, weights)
    total = np.logaddexp(scores.total, np.logaddexp.reduce(among, 1))
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
    """Append the new concepts' texts; keep word weights, so that other scores do not change."""
    texts = anchors.texts
    taxonomy = anchors.taxonomy
    if texts is None:
        return None
    parents = np.append(first_parents(taxonomy), np.full(len(queries), -1))
    everyone = [*taxonomy.concepts, *queries.concepts]
    words = LabelWords.from_concepts(everyone, parents, taxonomy.active_indices)
    if texts.tower is None or queries.tower is None:
        return AnchorTexts(words)
    as_anchors, as_queries = (torch.cat([known, queries.tower]) for known in texts.tower)
    return AnchorTexts(words, (as_anchors, as_queries))


def _unnamed(size: int, parents: Indices, children: Indices) -> Taxonomy:
    """Build a taxonomy whose concepts have only indices."""
    names = [str(i) for i in range(size)]
    return Taxonomy.from_columns(names, names, parents, children)


def best_arborescence(
    root: Floats, parents: Indices, children: Indices, weights: Floats
) -> Indices:
    """Return the parent of each of Q nodes that maximizes the sum of the edge weights: [Q].

    Edges lead from the root with the weights `root` [Q], and from `parents[e]` to `children[e]`
    with `weights[e]`. Among equal weights the root comes first, then the edges in the given order.

    >>> best_arborescence(np.zeros(2), np.array([0, 1]), np.array([1, 0]), np.array([3.0, 2.0]))
    array([-1,  0])
    """
    count = len(root)
    # Internally the root is node 0, and its edges come first.
    above = np.concatenate([np.zeros(count, dtype=np.int64), parents + 1])
    below = np.concatenate([np.arange(count), children]) + 1
    remaining = np.concatenate([root, weights]).astype(np.float64)
    levels: list[tuple[Indices, Indices]] = []  # each edge's lower end, each node's best edge
    heads = below
    tails = above
    while True:
        best = _best_edges(tails, heads, remaining)
        upward = np.concatenate([[0], tails[best[1:]]])
        cycle = _cycles(upward)
        if not (cycle >= 0).any():
            break
        levels.append((heads, best))
        # Contract each cycle to one node. Entering it at a node replaces the node's own best edge.
        remaining = np.where(cycle[heads] >= 0, remaining - remaining[best[heads]], remaining)
        members = np.where(cycle >= 0, cycle, np.arange(len(cycle)))
        merged = np.unique(members, return_inverse=True)[1]
        heads = merged[heads]
        tails = merged[tails]
    for heads, inside in reversed(levels):
        # Expand: an edge that enters a cycle replaces the edge inside it that led to the same node.
        entering = best[1:]
        best = inside.copy()
        best[heads[entering]] = entering
    return above[best[1:]] - 1


def _best_edges(tails: Indices, heads: Indices, weights: Floats) -> Indices:
    """Return the heaviest edge to each node, the first of equal ones; 0 for the root."""
    between = np.flatnonzero(tails != heads)
    order = between[np.lexsort((-weights[between], heads[between]))]
    reached, first = np.unique(heads[order], return_index=True)
    best = np.zeros(int(reached.max(initial=0)) + 1, dtype=np.int64)
    best[reached] = order[first]
    return best


def _cycles(upward: Indices) -> Indices:
    """Return the lowest node of the cycle that contains each node, or -1."""
    ahead = upward
    lowest = np.minimum(np.arange(len(upward)), upward)
    for _ in range(len(upward).bit_length()):
        lowest = np.minimum(lowest, lowest[ahead])
        ahead = ahead[ahead]
    # After more steps than there are nodes, every walk is on a cycle, and covers all its nodes.
    cycle = np.full(len(upward), -1)
    cycle[ahead] = lowest[ahead]
    cycle[0] = -1
    return cycle
