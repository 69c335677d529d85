"""The evidence for suggestions, gathered for many queries at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch import Tensor

from taxoexpan.explain.attention import weigh
from taxoexpan.explain.counterfactuals import Removals, try_removals
from taxoexpan.explain.evidence import Contest, Evidence, Mention, Parts, Removal
from taxoexpan.explain.neighbourhood import Floats, Lookup, Pairs, look_around
from taxoexpan.explain.rescoring import Scores
from taxoexpan.explain.support import mentions_of_pairs, support_of_pairs
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.ranking import Anchors, Ranking
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Indices

QUERIES, NEIGHBOURS = 128, 250_000
"""Queries that are explained together, and about how many neighbours their anchors have in all."""


def explain(
    network: MatchingNetwork,
    anchors: Anchors,
    concepts: Sequence[Concept],
    queries: Tensor,
    ranking: Ranking,
    mentions: Mentions | None = None,
    leaf_bonus: float = 0.0,
) -> list[Evidence]:
    """Why each query was given its anchors in the ranking; queries are vectors [2, Q, D].

    Where the ranking has one anchor a query there is no contest. `mentions` are those of the
    queries, for a network that heeds them; `leaf_bonus` what anchors without children gained.
    """
    known = Lookup(anchors.taxonomy)
    found: list[Evidence] = []
    for start, stop in _blocks(anchors.taxonomy, ranking.anchors):
        some = ranking.between(start, stop)
        own = None if mentions is None else mentions.between(start, stop)
        asked, block = concepts[start:stop], queries[:, start:stop]
        found += _explain_block(network, anchors, known, asked, block, some, own, leaf_bonus)
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
    network: MatchingNetwork,
    anchors: Anchors,
    known: Lookup,
    concepts: Sequence[Concept],
    queries: Tensor,
    ranking: Ranking,
    mentions: Mentions | None,
    leaf_bonus: float,
) -> list[Evidence]:
    """The evidence for some queries."""
    count, most = ranking.anchors.shape
    # All first suggestions, then all second ones, and so on.
    pairs = Pairs(np.tile(np.arange(count), most), ranking.anchors.T.ravel())
    around = look_around(anchors, pairs, queries)
    said = mentions_of_pairs(pairs, mentions, network.mentions)
    support = support_of_pairs(known, concepts, around, ranking.scores.T.ravel(), said)
    two = around.of_first(count * min(most, 2))
    scores, removals = try_removals(network, anchors, two, queries, leaf_bonus)
    counts = anchors.child_counts[two.pairs.anchor]
    parts = _parts(scores, said, np.where(counts == 0, leaf_bonus, 0.0))
    distinct, rows = np.unique(ranking.anchors[:, 0], return_inverse=True)
    weighed = weigh(network, anchors, distinct)
    contests: Sequence[Contest | None] = [None] * count
    if most > 1:
        contests = _contests(known, ranking.anchors, parts, removals)
    vectors = queries[0].any(1).tolist()
    return [
        Evidence(
            query=concept,
            known=vectors[query],
            support=tuple(support[query::count]),
            parts=parts[query],
            weighing=weighed[rows[query]],
            contest=contests[query],
        )
        for query, concept in enumerate(concepts)
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
