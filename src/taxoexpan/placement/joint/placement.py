"""Joint placement: a batch of new concepts in which some may be the parents of others.

The paper places each new concept by itself and leaves batches to future work. Here every new
concept is an anchor too. Its egonet holds what is known of it so far: the parent that it was given,
itself, and the new concepts below it. All relations of a batch are chosen at once, as the most
probable tree, so they cannot form a cycle. Then the egonets are built again from the result, until
nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from taxoexpan.features.mentions import Lexicon, Mentions
from taxoexpan.network.queries import Queries
from taxoexpan.placement.joint.batch_scoring import BatchScorer
from taxoexpan.placement.learned.new_parent_prior import NewParentPrior
from taxoexpan.placement.scoring.embedder import Embedder
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.placement.suggesting.query_assessment import refuse_nonfinite_scores
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.taxonomy.id_assignment import with_ids
from taxoexpan.taxonomy.names import normalize_name

MAX_ROUNDS = 3
"""How often the egonets are built again, at most."""


@dataclass(frozen=True)
class JointPlacement:
    """One parent for each of Q new concepts: an existing one's index, or N + j for the j-th new.

    `scores` [Q] are probabilities over all existing anchors and the other new concepts.
    `converged` says that the last round changed nothing.
    """

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
    """Place a batch among the anchors of a ranker and among itself.

    `priors` has one new-parent prior per round; the last one is used in all later rounds. In the
    mentions of the queries, existing concepts have their indices, and N + j is the j-th new one.
    The order of the batch does not matter: it is sorted first, by label, then id.
    """
    order = _sorting_order(queries.concepts)
    if not len(queries):
        return JointPlacement(order, np.zeros(0), rounds=0, converged=True)
    known, ranks = len(ranker.keys), np.argsort(order)
    batch = BatchScorer(ranker, _reordered(queries, known, order, ranks))
    parents, scores = batch.independent_parents()
    converged, rounds = len(queries) < 2, 0
    while not converged and rounds < max_rounds:
        prior = priors[min(rounds, len(priors) - 1)] if priors else None
        found, scores = batch.choose_parents(batch.scores(parents), prior)
        converged, rounds, parents = bool((found == parents).all()), rounds + 1, found
    original = np.concatenate([np.arange(known), known + order])
    return JointPlacement(original[parents][ranks], scores[ranks], rounds, converged)


def mentions_among(taxonomy: Taxonomy, concepts: Sequence[Concept]) -> Mentions:
    """Find the existing concepts (by index) and the new ones (N + j) that new concepts mention."""
    everyone = taxonomy.expanded(Additions(with_ids(taxonomy, concepts), ()))
    return Lexicon.from_taxonomy(everyone).mentions(concepts)


def _sorting_order(concepts: Sequence[Concept]) -> Indices:
    """Return the indices that sort concepts, whatever order they are given in."""
    keys = [(normalize_name(c.label), c.id, c.label, c.definition, c.synonyms) for c in concepts]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


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
    suggestions = [
        Suggestion(
            query=concept,
            rank=1,
            parent=expanded.concept_at(parent),
            path=expanded.short_path(expanded.ids[parent]),
            score=score,
        )
        for concept, parent, score in zip(
            concepts, placed.parents.tolist(), placed.scores.tolist(), strict=True
        )
    ]
    refuse_nonfinite_scores(suggestions)
    return suggestions
