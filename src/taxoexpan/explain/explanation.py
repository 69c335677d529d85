"""Collection of the evidence for the suggestions of many queries at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.explain.evidence import (
    NETWORK_PARTS,
    SIGNAL_PARTS,
    Evidence,
    RunnerUpComparison,
    ScoreParts,
)
from taxoexpan.explain.sentences import describe
from taxoexpan.explain.similarity import (
    ConceptLookup,
    QueryAnchorPairs,
    pair_mentions,
    suggestion_evidence,
)
from taxoexpan.network.concept_vectors import Queries
from taxoexpan.placement.scoring.ranking import Ranker, Ranking
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices

QUERY_BLOCK = 1024
"""The number of new concepts in a block."""
MAX_QUERIES = 128
MAX_NEIGHBORS = 250_000
"""Limits of a block of queries: their number, and roughly the neighbors of all their anchors."""


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


def explain(ranker: Ranker, queries: Queries, ranking: Ranking) -> list[Evidence]:
    """Return the evidence for each query's ranked anchors, with a comparison of the first two."""
    taxonomy = ranker.anchors.taxonomy
    was_training = ranker.network.training
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
    start = 0
    room = MAX_NEIGHBORS
    for query, needed in enumerate(degrees[anchors].sum(1).tolist()):
        if query > start and (needed > room or query - start == MAX_QUERIES):
            yield start, query
            start = query
            room = MAX_NEIGHBORS
        room -= needed
    if start < len(anchors):
        yield start, len(anchors)


def _explain_block(
    ranker: Ranker, lookup: ConceptLookup, queries: Queries, ranking: Ranking
) -> list[Evidence]:
    """Return the evidence for one block of queries."""
    network = ranker.network
    anchors = ranker.anchors
    count, top_k = ranking.anchors.shape
    # All first suggestions, followed by all second suggestions, and so on.
    pairs = QueryAnchorPairs(np.tile(np.arange(count), top_k), ranking.anchors.T.ravel())
    mentioned = pair_mentions(pairs, queries.mentions, network.mentions)
    suggestions = suggestion_evidence(
        lookup, anchors.vectors, queries, pairs, ranking.scores.T.ravel(), mentioned
    )
    two = slice(count * min(top_k, 2))
    bonuses = np.array([sum(mention.bonus for mention in each) for each in mentioned[two]])
    first_two = QueryAnchorPairs(pairs.query[two], pairs.anchor[two])
    parts = score_parts(ranker, queries, first_two, bonuses)
    comparisons: list[RunnerUpComparison | None] = [None] * count
    for query, (first, second) in enumerate(ranking.anchors[:, :2].tolist() if top_k > 1 else ()):
        runner_up = parts[query + count]
        margin = sum(parts[query].values()) - sum(runner_up.values())
        position = lookup.position(second, relative_to=first)
        concept = lookup.concept(second)
        comparisons[query] = RunnerUpComparison(concept, runner_up, margin, position)
    # A text encoder splits words that it does not know, and so has a vector of every text.
    has_vector = [queries.tower is not None or each for each in queries.vectors[0].any(1).tolist()]
    return [
        Evidence(
            query=concept,
            has_vector=has_vector[query],
            suggestions=tuple(suggestions[query::count]),
            score_parts=parts[query],
            comparison=comparisons[query],
        )
        for query, concept in enumerate(queries.concepts)
    ]


@torch.no_grad()
def score_parts(
    ranker: Ranker, queries: Queries, pairs: QueryAnchorPairs, mentions: Floats
) -> list[ScoreParts]:
    """Return the summands of the scores of pairs, given their bonuses for mentions [P]."""
    chosen, rows = np.unique(pairs.anchor, return_inverse=True)
    own = ranker.among(chosen)
    if queries.mentions is not None:
        row_of = np.full(len(ranker.keys), -1)
        row_of[chosen] = np.arange(len(chosen))
        reindexed = queries.mentions.reindex(row_of, np.arange(len(queries)))
        queries = replace(queries, mentions=reindexed)
    if ranker.fusion is not None:
        features = own.features(queries).cpu().numpy()[:, rows, pairs.query]
        columns = np.stack(list(ranker.fusion.contributions(features).values()))
        return [dict(zip(SIGNAL_PARTS, each, strict=True)) for each in columns.T.tolist()]
    network = ranker.network
    keys = own.keys[rows]
    projected = network.project_queries(queries.vectors[0], keys)[pairs.query]
    match = network.match.score_pairs(keys, projected).cpu().numpy()
    columns = np.stack([match, mentions])
    return [dict(zip(NETWORK_PARTS, each, strict=True)) for each in columns.T.tolist()]
