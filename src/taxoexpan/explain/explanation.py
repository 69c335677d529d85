"""Collection of the evidence for the suggestions of many queries at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from taxoexpan.explain.evidence import (
    AttentionWeight,
    EgonetWeights,
    Evidence,
    RemovedRelation,
    RunnerUpComparison,
    ScoreParts,
)
from taxoexpan.explain.removals import Removals, score_removals
from taxoexpan.explain.sentences import describe
from taxoexpan.explain.similarity import (
    ConceptLookup,
    QueryAnchorPairs,
    find_neighborhood,
    pair_mentions,
    suggestion_evidence,
)
from taxoexpan.network.matching_network import MatchingNetwork, NoNetwork
from taxoexpan.network.propagation import AttentionLayer
from taxoexpan.network.queries import Queries
from taxoexpan.placement.scoring.anchors import Anchors, anchor_egonets
from taxoexpan.placement.scoring.ranking import Ranker, Ranking
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Indices

QUERY_BLOCK = 1024
"""The number of new concepts in a block."""


@dataclass(frozen=True)
class SuggestedBlock:
    """The suggestions for a block of new concepts, and the requested evidence."""

    suggestions: list[Suggestion]
    evidence: list[Evidence]


def query_blocks(concepts: Sequence[Concept]) -> Iterator[Sequence[Concept]]:
    """Split new concepts into blocks; the same blocks give bitwise the same scores."""
    for start in range(0, len(concepts), QUERY_BLOCK):
        yield concepts[start : start + QUERY_BLOCK]


def with_reasons(
    suggestions: Sequence[Suggestion], evidence: Sequence[Evidence]
) -> list[Suggestion]:
    """Return the suggestions with reasons for each first parent; merges have no reasons."""
    why = {(each.query.id, each.first.parent.id): describe(each) for each in evidence}
    return [
        s if s.is_merge else replace(s, why=why.get((s.query.id, s.parent.id), ""))
        for s in suggestions
    ]


@torch.no_grad()
def egonet_weights(
    network: MatchingNetwork, anchors: Anchors, selected: Indices
) -> list[EgonetWeights]:
    """Return the readout weights and the attention weights of the selected anchors."""
    if isinstance(network, NoNetwork):
        return [EgonetWeights(0.0, 0.0, 0.0, ())] * len(selected)
    egonets = anchor_egonets(anchors.taxonomy, selected, anchors.siblings)
    egonets = egonets.to(anchors.vectors.device)
    counts = egonets.counts.to(anchors.vectors.names.dtype)
    weights = counts * network.readout.weights() / network.readout.divisor(counts)
    # A readout by concatenation has one mean per position, so the weights do not sum to 1.
    fractions = (weights / weights.sum(1, keepdim=True)).tolist()
    attention = _attention_weights(network, anchors, selected)
    return [
        EgonetWeights(grandparents, anchor, siblings, attention_weights)
        for (grandparents, anchor, siblings), attention_weights in zip(
            fractions, attention, strict=True
        )
    ]


def _attention_weights(
    network: MatchingNetwork, anchors: Anchors, selected: Indices
) -> list[tuple[AttentionWeight, ...]]:
    """Return each anchor's attention to its parents and itself, averaged over heads, if any."""
    if not isinstance(network.output, AttentionLayer):
        return [()] * len(selected)
    taxonomy = anchors.taxonomy
    # Siblings send no messages to the anchor, so the egonets need none.
    egonets = anchor_egonets(taxonomy, selected, 0).to(anchors.vectors.device)
    names = anchors.vectors.names.index_select(0, egonets.concepts)
    messages = network.message_weights(names, egonets)
    to_parents = messages.parent_to_anchor.mean(1).tolist()
    to_self = messages.anchor_to_self.mean(1).tolist()
    rows, parents = taxonomy.parents_of.of_many(selected)
    weights = [[(index, weight)] for index, weight in zip(selected.tolist(), to_self, strict=True)]
    for row, parent, weight in zip(rows.tolist(), parents.tolist(), to_parents, strict=True):
        weights[row].append((parent, weight))
    return [
        tuple(
            AttentionWeight(taxonomy.concept_at(index), weight)
            for index, weight in sorted(pairs, key=lambda pair: -pair[1])
        )
        for pairs in weights
    ]


MAX_QUERIES, MAX_NEIGHBORS = 128, 250_000
"""Limits of a block of queries: their number, and roughly the neighbors of all their anchors."""


def explain(ranker: Ranker, queries: Queries, ranking: Ranking) -> list[Evidence]:
    """Return the evidence for each query's ranked anchors, with a comparison of the first two."""
    taxonomy, was_training = ranker.anchors.taxonomy, ranker.network.training
    ranker.network.eval()
    lookup = ConceptLookup(taxonomy)
    evidence: list[Evidence] = []
    for start, stop in _blocks(taxonomy, ranking.anchors):
        evidence += _explain_block(ranker, lookup, queries[start:stop], ranking[start:stop])
    ranker.network.train(was_training)
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
    parts, removals = score_removals(ranker, first_two, queries, np.array(bonuses))
    distinct, rows = np.unique(ranking.anchors[:, 0], return_inverse=True)
    weights = egonet_weights(network, anchors, distinct)
    comparisons: Sequence[RunnerUpComparison | None] = [None] * count
    if top_k > 1:
        comparisons = _comparisons(lookup, ranking.anchors, parts, removals)
    # A text encoder splits words that it does not know, and so has a vector of every text.
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
    parts: Sequence[ScoreParts],
    removals: Removals,
) -> list[RunnerUpComparison]:
    """Compare the first suggestion of each query with the second."""
    decisive_rows = removals.decisive()
    comparisons = []
    for query, (first, second) in enumerate(anchors[:, :2].tolist()):
        runner_up = parts[query + len(anchors)]
        margin = sum(parts[query].values()) - sum(runner_up.values())
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
