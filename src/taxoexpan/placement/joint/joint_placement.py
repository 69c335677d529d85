"""A batch of new concepts placed together, where a new one may be the parent of another.

The paper places each new concept by itself and leaves it to future work that some of a batch belong
below others of it. Here every new concept is an anchor too. Its egonet is what is known of it so
far: the parent that it was given, itself, and what was put below it. All relations of a batch are
chosen at once, as the tree that is believed most, so that they cannot run in circles; then the
egonets are made anew from what was found, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.features.lexicon import Lexicon
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.joint.arborescence import ROOT, best_arborescence
from taxoexpan.placement.joint.new_parent_prior import Look, NewParentPrior, pair_features
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.ids import with_ids
from taxoexpan.taxonomy.names import normalize_name

CANDIDATES = 10
"""New concepts that may be the parent of another; no more than these are thought of."""
ROUNDS = 3
"""How often the egonets are made anew, at most."""
VIEWS = 64
"""Egonets without a query that are scored at a time; each may hold all children of a hub."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NewConcepts:
    """Q new concepts with their vectors [2, Q, D] and, for a network that heeds them, mentions.

    In `mentions` existing concepts have their indices, and N + j is the j-th new one.
    """

    concepts: Sequence[Concept]
    vectors: Tensor
    mentions: Mentions | None = None

    def __len__(self) -> int:
        return len(self.concepts)


@dataclass(frozen=True)
class JointPlacement:
    """One parent for each of Q new concepts: an existing one's index, or N + j for the j-th new.

    `scores` [Q] are shares of the belief over all existing anchors and the other new ones.
    `settled` says that the last round changed nothing.
    """

    parents: Indices
    scores: Floats
    rounds: int
    settled: bool

    def additions(self, taxonomy: Taxonomy, concepts: Sequence[Concept]) -> Additions:
        """The relations to add; every concept needs an id (see `naming.with_ids`)."""
        ids = [*taxonomy.ids, *(concept.id for concept in concepts)]
        parents = [ids[parent] for parent in self.parents.tolist()]
        pairs = zip(parents, (concept.id for concept in concepts), strict=True)
        return Additions(tuple(concepts), tuple(pairs))


def place_jointly(
    network: MatchingNetwork,
    ranker: Ranker,
    new: NewConcepts,
    prior: Sequence[NewParentPrior] = (),
    rounds: int = ROUNDS,
) -> JointPlacement:
    """Place a batch among the anchors of a placement and among itself.

    `prior` says what a new parent gains in each round, the last in all that follow
    (`learn_new_parent_prior`). The order of the batch does not matter: it is put into one of its
    own first, by names, then ids.
    """
    order = _own_order(new.concepts)
    if not len(new):
        return JointPlacement(order, np.zeros(0), rounds=0, settled=True)
    known, ranks = len(ranker.keys), np.argsort(order)
    batch = Batch(network, ranker, _reordered(new, known, order, ranks))
    parents, scores = batch.first()
    settled, done = len(new) < 2, 0
    while not settled and done < rounds:
        found, scores = batch.choose(batch.look(parents), prior[: done + 1])
        settled, done, parents = bool((found == parents).all()), done + 1, found
    whose = np.concatenate([np.arange(known), known + order])
    return JointPlacement(whose[parents][ranks], scores[ranks], done, settled)


def mentions_among(taxonomy: Taxonomy, concepts: Sequence[Concept]) -> Mentions:
    """What new concepts mention of a taxonomy and of each other, as `NewConcepts` has it."""
    everyone = taxonomy.expanded(Additions(with_ids(taxonomy, concepts), ()))
    return Lexicon.from_taxonomy(everyone).mentions(concepts)


class Batch:
    """New concepts beside all anchors of a placement, with what all rounds have in common."""

    def __init__(self, network: MatchingNetwork, ranker: Ranker, new: NewConcepts) -> None:
        self.network, self.ranker, self.new = network, ranker, new
        self.taxonomy, self.siblings = ranker.anchors.taxonomy, ranker.anchors.siblings
        self.known = len(self.taxonomy)
        self.own = self.known + np.arange(len(new))
        self.vectors = _with(ranker.anchors.vectors, new.vectors)
        self.features = pair_features(new.concepts)

    def first(self) -> tuple[Indices, Floats]:
        """Each new concept's best existing anchor by itself, and its score."""
        ranking = self.ranker.rank(self.new.vectors, 1, self._mentions(np.arange(self.known)))
        return ranking.anchors[:, 0], ranking.scores[:, 0].astype(np.float64)

    def look(self, parents: Indices) -> Look:
        """What the network makes of the batch, given the parents [Q] that it has so far.

        Only egonets that the batch has changed are encoded; no query sees itself in any.
        """
        grown = self._grown(parents)
        changed = np.concatenate([np.unique(parents[parents < self.known]), self.own])
        others = self._placed(Anchors(grown, self.vectors, self.siblings, changed))
        heard, rows = self._mentions(changed), torch.from_numpy(changed).to(self.vectors.device)
        unseen = self._unseen(grown, parents)
        parts = []
        everyone = self._mentions(np.arange(self.known))
        for start, old in self.ranker.blocks(self.new.vectors, everyone):
            stop = start + old.shape[1]
            own = None if heard is None else heard.between(start, stop)
            scores = torch.cat([old, old.new_empty(len(self.new), old.shape[1])])
            scores[rows] = others.scores(self.new.vectors[:, start:stop], own)
            unseen.write(scores, start, stop)
            log_f = self.network.match.log_match(scores)
            log_f[self.ranker.closed] = -torch.inf
            known, among = log_f.double().split([self.known, len(self.new)])
            best = known.max(0)
            parts.append((best.indices, best.values, known.logsumexp(0), among.T))
        anchors, best_f, total, among_f = (
            torch.cat(part).cpu().numpy() for part in zip(*parts, strict=True)
        )
        np.fill_diagonal(among_f, -np.inf)
        return Look(anchors, best_f, total, among_f)

    def choose(self, look: Look, prior: Sequence[NewParentPrior]) -> tuple[Indices, Floats]:
        """The most believed tree by the last `newness`, if any, and the share of each parent."""
        among = prior[-1].applied(look, self.features) if prior else look.among
        return _best_parents(look, among, self.known)

    def _grown(self, parents: Indices) -> Taxonomy:
        """The taxonomy with the batch below these parents."""
        above, below = self.taxonomy.relation_indices
        above, below = np.concatenate([above, parents]), np.concatenate([below, self.own])
        return _unnamed(self.known + len(self.new), above, below)

    def _unseen(self, grown: Taxonomy, parents: Indices) -> Unseen:
        """The scores of the pairs whose anchor's egonet holds the query, as if it were not there.

        Such pairs are a query below its parent, and a query below its own child. Each has a view: a
        copy of the anchor with relations of its own. Where the query is not, what is below it hangs
        on its parent.
        """
        under = np.flatnonzero(parents >= self.known)
        anchors = np.concatenate([parents, self.own[under]])
        queries = np.concatenate([np.arange(len(self.own)), parents[under] - self.known])
        views = len(grown) + np.arange(len(anchors))
        of_above, above = grown.parents_of.of_many(anchors)
        gone = above == self.own[queries[of_above]]
        above = np.where(gone, parents[queries[of_above]], above)
        of_below, below = grown.children_of.of_many(anchors)
        left = below != self.own[queries[of_below]]
        # The first Q views are the queries' parents.
        of_query, further = grown.children_of.of_many(self.own)
        seen = _unnamed(
            len(grown) + len(views),
            np.concatenate([above, views[of_below[left]], views[of_query]]),
            np.concatenate([views[of_above], below[left], further]),
        )
        scores = self._view_scores(seen, views, anchors, queries)
        return Unseen(torch.from_numpy(anchors), torch.from_numpy(queries), scores.cpu())

    def _view_scores(
        self, seen: Taxonomy, views: Indices, anchors: Indices, queries: Indices
    ) -> Tensor:
        """The score of each query below its view: [G]."""
        device = self.vectors.device
        copied = np.concatenate([np.arange(len(seen) - len(views)), anchors])
        vectors = self.vectors.select(torch.from_numpy(copied).to(device))
        scores = []
        for some in np.split(np.arange(len(views)), range(VIEWS, len(views), VIEWS)):
            part = self._placed(Anchors(seen, vectors, self.siblings, views[some]))
            asked = torch.from_numpy(queries[some]).to(device)
            scores.append(part.scores(self.new.vectors.index_select(1, asked)).diagonal())
        return torch.cat(scores) + self._bonus(anchors, queries)

    @torch.no_grad()
    def _bonus(self, anchors: Indices, queries: Indices) -> Tensor | float:
        """What each pair gains because the query mentions the anchor: [G]."""
        bonus, mentions = self.network.mentions, self.new.mentions
        if bonus is None or mentions is None:
            return 0.0
        pairs, concepts, kinds = mentions.of_many(queries)
        there = concepts == anchors[pairs]
        found = np.stack([pairs[there], np.zeros_like(pairs[there]), kinds[there]])
        gained: Tensor = bonus(torch.from_numpy(found).to(self.vectors.device), len(anchors), 1)
        return gained[:, 0]

    def _placed(self, anchors: Anchors) -> Ranker:
        return Ranker(self.network, anchors, anchors.encode(self.network))

    def _mentions(self, anchors: Indices) -> Mentions | None:
        """What the batch mentions of some anchors, by their places among these."""
        if self.new.mentions is None:
            return None
        places = np.full(self.known + len(self.new), -1)
        places[anchors] = np.arange(len(anchors))
        return self.new.mentions.reindex(places, np.arange(len(self.new)))


@dataclass(frozen=True)
class Unseen:
    """The scores of G pairs of an anchor and a query whose egonet would hold the query."""

    anchors: Tensor
    queries: Tensor
    scores: Tensor

    def write(self, into: Tensor, start: int, stop: int) -> None:
        """Put them into the scores of all anchors for some of the queries."""
        here = (self.queries >= start) & (self.queries < stop)
        places = self.anchors[here].to(into.device), (self.queries[here] - start).to(into.device)
        into.index_put_(places, self.scores[here].to(into.device))


def _best_parents(look: Look, among: Floats, known: int) -> tuple[Indices, Floats]:
    """The most believed tree, and the share of each parent, given log f among the new ones."""
    count = min(CANDIDATES, len(among))
    nearest = np.argsort(-among, axis=1, kind="stable")[:, :count]
    weights = np.take_along_axis(among, nearest, axis=1)
    # A new parent that is believed less than an existing one is in no best tree.
    children, places = np.nonzero(weights > look.best[:, None])
    candidates, weights = nearest[children, places], weights[children, places]
    found = best_arborescence(look.best, candidates, children, weights)
    most = np.maximum(look.total, among.max(1))
    total = most + np.log(np.exp(look.total - most) + np.exp(among - most[:, None]).sum(1))
    chosen = np.where(found == ROOT, look.best, among[np.arange(len(found)), found])
    return np.where(found == ROOT, look.anchors, known + found), np.exp(chosen - total)


def _own_order(concepts: Sequence[Concept]) -> Indices:
    """The places of concepts in an order that is theirs, however they are given."""
    keys = [(normalize_name(c.label), c.id, c.label, c.definition, c.synonyms) for c in concepts]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def _reordered(new: NewConcepts, known: int, order: Indices, ranks: Indices) -> NewConcepts:
    """The same new concepts in another order."""
    mentions = new.mentions
    if mentions is not None:
        mentions = mentions.reindex(np.concatenate([np.arange(known), known + ranks]), order)
    rows = torch.from_numpy(order).to(new.vectors.device)
    concepts = [new.concepts[i] for i in order.tolist()]
    return NewConcepts(concepts, new.vectors.index_select(1, rows), mentions)


def _with(vectors: ConceptVectors, both: Tensor) -> ConceptVectors:
    """The vectors of more concepts, [2, Q, D], after those there are."""
    heads = len(vectors.heads) + torch.arange(both.shape[1], device=both.device)
    return ConceptVectors(
        torch.cat([vectors.names, both[0]]),
        torch.cat([vectors.heads, both[1]]),
        torch.cat([vectors.head_of, heads]),
    )


def _unnamed(size: int, parents: Indices, children: Indices) -> Taxonomy:
    """A taxonomy whose concepts are known by their indices alone."""
    names = [str(i) for i in range(size)]
    return Taxonomy.from_columns(names, names, parents, children)
