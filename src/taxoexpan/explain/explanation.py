"""Collects the evidence for the suggestions of many queries at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from taxoexpan.explain.counterfactuals import Removals, score_removals
from taxoexpan.explain.egonet_weights import egonet_weights
from taxoexpan.explain.evidence import (
    Evidence,
    RemovedRelation,
    RunnerUpComparison,
    ScoreParts,
    SignalParts,
)
from taxoexpan.explain.neighborhood import find_neighborhood
from taxoexpan.explain.similarity import ConceptLookup, pair_mentions, suggestion_evidence
from taxoexpan.network.queries import Queries
from taxoexpan.placement.scoring.pairs import QueryAnchorPairs
from taxoexpan.placement.scoring.ranking import Ranker, Ranking
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices

MAX_QUERIES, MAX_NEIGHBORS = 128, 250_000
"""Limits of a block of queries: their number, and roughly the neighbors of all their anchors."""


def explain(ranker: Ranker, queries: Queries, ranking: Ranking) -> list[Evidence]:
    """Return why each query was given its anchors in the ranking.

    There is no comparison if the ranking has one anchor per query.
    """
    taxonomy = ranker.anchors.taxonomy
    lookup = ConceptLookup(taxonomy)
    evidence: list[Evidence] = []
    for start, stop in _blocks(taxonomy, ranking.anchors):
        evidence += _explain_block(ranker, lookup, queries[start:stop], ranking[start:stop])
    return evidence


def _blocks(taxonomy: Taxonomy, anchors: Indices) -> Iterator[tuple[int, int]]:
    """Yield the start and stop of each block of queries."""
    degrees = taxonomy.children_of.degrees + taxonomy.parents_of.degrees
    start, room = 0, MAX_NEIGHBORS
    for query, needed in enumerate(degrees[anchors].sum(1).tolist()):
        if query > start and (needed > room or query - start == MAX_QUERIES):
            yield start, query
            start, room = query, MAX_NEIGHBORS
        room -= needed
    if start < len(anchors):
        yield start, len(anchors)


def _explain_block(
    ranker: Ranker, lookup: ConceptLookup, queries: Queries, ranking: Ranking
) -> list[Evidence]:
    """Return the evidence for one block of queries."""
    network, anchors = ranker.network, ranker.anchors
    count, top_k = ranking.anchors.shape
    # All first suggestions, followed by all second suggestions, and so on.
    pairs = QueryAnchorPairs(np.tile(np.arange(count), top_k), ranking.anchors.T.ravel())
    around = find_neighborhood(anchors, pairs, queries.vectors)
    mentioned = pair_mentions(pairs, queries.mentions, network.mentions)
    suggestions = suggestion_evidence(
        lookup, queries.concepts, around, ranking.scores.T.ravel(), mentioned
    )
    first_two = around.first_pairs(count * min(top_k, 2))
    bonuses = [sum(mention.bonus for mention in each) for each in mentioned[: len(first_two.pairs)]]
    scores, removals = score_removals(ranker, first_two, queries, np.array(bonuses))
    parts = scores.parts()
    distinct, rows = np.unique(ranking.anchors[:, 0], return_inverse=True)
    weights = egonet_weights(network, anchors, distinct)
    comparisons: Sequence[RunnerUpComparison | None] = [None] * count
    if top_k > 1:
        comparisons = _comparisons(lookup, ranking.anchors, parts, removals)
    # A fine-tuned encoder splits words that it does not know, and so has a vector of every text.
    has_vector = [queries.tower is not None or each for each in queries.vectors[0].any(1).tolist()]
    return [
        Evidence(
            query=concept,
            has_vector=has_vector[query],
            suggestions=tuple(suggestions[query::count]),
            score_parts=parts[query],
            egonet_weights=weights[rows[query]],
            comparison=comparisons[query],
        )
        for query, concept in enumerate(queries.concepts)
    ]


def _comparisons(
    lookup: ConceptLookup,
    anchors: Indices,
    parts: Sequence[ScoreParts | SignalParts],
    removals: Removals,
) -> list[RunnerUpComparison]:
    """Compare the first suggestion of each query with the second."""
    decisive_rows = removals.decisive()
    comparisons = []
    for query, (first, second) in enumerate(anchors[:, :2].tolist()):
        runner_up = parts[query + len(anchors)]
        margin = parts[query].total - runner_up.total
        row = decisive_rows.get(query)
        decisive = None
        if row is not None and removals.change[row] > 0:
            ends = [lookup.concept(int(end[row])) for end in (removals.anchor, removals.neighbor)]
            parent, child = ends if removals.is_child[row] else reversed(ends)
            decisive = RemovedRelation(parent, child, margin - float(removals.change[row]))
        position = lookup.position(second, relative_to=first)
        comparisons.append(
            RunnerUpComparison(lookup.concept(second), runner_up, margin, position, decisive)
        )
    return comparisons
