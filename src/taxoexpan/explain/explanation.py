"""The evidence for suggestions, gathered for many queries at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from taxoexpan.explain.attention import weigh
from taxoexpan.explain.counterfactuals import Removals, try_removals
from taxoexpan.explain.evidence import Contest, Evidence, Mention, Parts, Removal
from taxoexpan.explain.neighbourhood import Floats, Lookup, Pairs, look_around
from taxoexpan.explain.rescoring import Scores
from taxoexpan.explain.support import mentions_of_pairs, support_of_pairs
from taxoexpan.network.queries import Queries
from taxoexpan.placement.ranking import Ranker, Ranking
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices

QUERIES, NEIGHBOURS = 128, 250_000
"""Queries that are explained together, and about how many neighbours their anchors have in all."""


def explain(ranker: Ranker, queries: Queries, ranking: Ranking) -> list[Evidence]:
    """Why each query was given its anchors in the ranking.

    Where the ranking has one anchor a query there is no contest.
    """
    taxonomy = ranker.anchors.taxonomy
    known = Lookup(taxonomy)
    found: list[Evidence] = []
    for start, stop in _blocks(taxonomy, ranking.anchors):
        found += _explain_block(ranker, known, queries[start:stop], ranking[start:stop])
    return found


def _blocks(taxonomy: Taxonomy, anchors: Indices) -> Iterator[tuple[int, int]]:
    """Where each block of queries begins and ends."""
    degrees = taxonomy.children_of.degrees + taxonomy.parents_of.degrees
    start, room = 0, NEIGHBOURS
    for query, needed in enumerate(degrees[anchors].sum(1).tolist()):
        if query > start and (needed > room or query - start == QUERIES):
            yield start, query
            start, room = query, NEIGHBOURS
        room -= needed
    if start < len(anchors):
        yield start, len(anchors)


def _explain_block(
    ranker: Ranker, known: Lookup, queries: Queries, ranking: Ranking
) -> list[Evidence]:
    """The evidence for some queries."""
    network, anchors = ranker.network, ranker.anchors
    count, most = ranking.anchors.shape
    # All first suggestions, then all second ones, and so on.
    pairs = Pairs(np.tile(np.arange(count), most), ranking.anchors.T.ravel())
    around = look_around(anchors, pairs, queries.vectors)
    said = mentions_of_pairs(pairs, queries.mentions, network.mentions)
    support = support_of_pairs(known, queries.concepts, around, ranking.scores.T.ravel(), said)
    two = around.of_first(count * min(most, 2))
    scores, removals = try_removals(ranker, two, queries)
    counts = anchors.child_counts[two.pairs.anchor]
    parts = _parts(scores, said, np.where(counts == 0, ranker.leaf_bonus, 0.0))
    distinct, rows = np.unique(ranking.anchors[:, 0], return_inverse=True)
    weighed = weigh(network, anchors, distinct)
    contests: Sequence[Contest | None] = [None] * count
    if most > 1:
        contests = _contests(known, ranking.anchors, parts, removals)
    vectors = queries.vectors[0].any(1).tolist()
    return [
        Evidence(
            query=concept,
            known=vectors[query],
            support=tuple(support[query::count]),
            parts=parts[query],
            weighing=weighed[rows[query]],
            contest=contests[query],
        )
        for query, concept in enumerate(queries.concepts)
    ]


def _parts(scores: Scores, said: Sequence[tuple[Mention, ...]], gains: Floats) -> list[Parts]:
    """What each pair's score adds up to."""
    bonuses = [sum(mention.bonus for mention in mentions) for mentions in said]
    columns = (scores.match.tolist(), scores.fusion.tolist(), bonuses, gains.tolist())
    return [Parts(*four) for four in zip(*columns, strict=False)]


def _contests(
    known: Lookup, anchors: Indices, parts: Sequence[Parts], removals: Removals
) -> list[Contest]:
    """How the first suggestion of each query beat the second."""
    greatest = removals.decisive()
    found = []
    for query, (first, second) in enumerate(anchors[:, :2].tolist()):
        runner_up = parts[query + len(anchors)]
        margin = parts[query].total - runner_up.total
        row = greatest.get(query)
        decisive = None
        if row is not None and removals.change[row] > 0:
            decisive = Removal(
                anchor=known.concept(int(removals.anchor[row])),
                neighbour=known.concept(int(removals.neighbour[row])),
                is_child=bool(removals.is_child[row]),
                margin=margin - float(removals.change[row]),
            )
        standing = known.standing(second, seen_from=first)
        found.append(Contest(known.concept(second), runner_up, margin, standing, decisive))
    return found
