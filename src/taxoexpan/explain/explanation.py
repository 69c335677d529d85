"""Collects the evidence for the suggestions of many queries at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch import Tensor

from taxoexpan.explain.attention import egonet_weights
from taxoexpan.explain.counterfactuals import PairScores, Removals, score_removals
from taxoexpan.explain.evidence import (
    Evidence,
    Mention,
    RemovedRelation,
    RunnerUpComparison,
    ScoreParts,
)
from taxoexpan.explain.neighbourhood import QueryAnchorPairs, find_neighbourhood
from taxoexpan.explain.similarity import ConceptLookup, pair_mentions, suggestion_evidence
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.ranking import Anchors, Ranking
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices

MAX_QUERIES, MAX_NEIGHBOURS = 128, 250_000
"""Limits of a block of queries: their number, and roughly the neighbors of all their anchors."""


def explain(
    network: MatchingNetwork,
    anchors: Anchors,
    concepts: Sequence[Concept],
    queries: Tensor,
    ranking: Ranking,
    mentions: Mentions | None = None,
    leaf_bonus: float = 0.0,
) -> list[Evidence]:
    """Return why each query was given its anchors in the ranking; queries are vectors [2, Q, D].

    There is no comparison if the ranking has one anchor per query. `mentions` are those of the
    queries, for a network that uses them.
    """
    lookup = ConceptLookup(anchors.taxonomy)
    evidence: list[Evidence] = []
    for start, stop in _blocks(anchors.taxonomy, ranking.anchors):
        evidence += _explain_block(
            network,
            anchors,
            lookup,
            concepts[start:stop],
            queries[:, start:stop],
            ranking.between(start, stop),
            None if mentions is None else mentions.between(start, stop),
            leaf_bonus,
        )
    return evidence


def _blocks(taxonomy: Taxonomy, anchors: Indices) -> Iterator[tuple[int, int]]:
    """Yield the start and stop of each block of queries."""
    degrees = taxonomy.children_of.degrees + taxonomy.parents_of.degrees
    start, room = 0, MAX_NEIGHBOURS
    for query, needed in enumerate(degrees[anchors].sum(1).tolist()):
        if query > start and (needed > room or query - start == MAX_QUERIES):
            yield start, query
            start, room = query, MAX_NEIGHBOURS
        room -= needed
    if start < len(anchors):
        yield start, len(anchors)


def _explain_block(
    network: MatchingNetwork,
    anchors: Anchors,
    lookup: ConceptLookup,
    concepts: Sequence[Concept],
    queries: Tensor,
    ranking: Ranking,
    mentions: Mentions | None,
    leaf_bonus: float,
) -> list[Evidence]:
    """Return the evidence for one block of queries."""
    count, top_k = ranking.anchors.shape
    # All first suggestions, followed by all second suggestions, and so on.
    pairs = QueryAnchorPairs(np.tile(np.arange(count), top_k), ranking.anchors.T.ravel())
    around = find_neighbourhood(anchors, pairs, queries)
    mentioned = pair_mentions(pairs, mentions, network.mentions)
    suggestions = suggestion_evidence(lookup, concepts, around, ranking.scores.T.ravel(), mentioned)
    first_two = around.first_pairs(count * min(top_k, 2))
    scores, removals = score_removals(network, anchors, first_two, queries, leaf_bonus)
    child_counts = anchors.child_counts[first_two.pairs.anchor]
    parts = _score_parts(scores, mentioned, np.where(child_counts == 0, leaf_bonus, 0.0))
    distinct, rows = np.unique(ranking.anchors[:, 0], return_inverse=True)
    weights = egonet_weights(network, anchors, distinct)
    comparisons: Sequence[RunnerUpComparison | None] = [None] * count
    if top_k > 1:
        comparisons = _comparisons(lookup, ranking.anchors, parts, removals)
    has_vector = queries[0].any(1).tolist()
    return [
        Evidence(
            query=concept,
            has_vector=has_vector[query],
            suggestions=tuple(suggestions[query::count]),
            score_parts=parts[query],
            egonet_weights=weights[rows[query]],
            comparison=comparisons[query],
        )
        for query, concept in enumerate(concepts)
    ]


def _score_parts(
    scores: PairScores, mentions: Sequence[tuple[Mention, ...]], leaf_bonuses: Floats
) -> list[ScoreParts]:
    """Return the summands of each pair's score."""
    bonuses = [sum(mention.bonus for mention in of_pair) for of_pair in mentions]
    columns = (scores.match.tolist(), scores.fusion.tolist(), bonuses, leaf_bonuses.tolist())
    return [ScoreParts(*parts) for parts in zip(*columns, strict=False)]


def _comparisons(
    lookup: ConceptLookup, anchors: Indices, parts: Sequence[ScoreParts], removals: Removals
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
            ends = [lookup.concept(int(end[row])) for end in (removals.anchor, removals.neighbour)]
            parent, child = ends if removals.is_child[row] else reversed(ends)
            decisive = RemovedRelation(parent, child, margin - float(removals.change[row]))
        position = lookup.position(second, relative_to=first)
        comparisons.append(
            RunnerUpComparison(lookup.concept(second), runner_up, margin, position, decisive)
        )
    return comparisons
