"""Proposals for new concepts in one ranked list: parents, further parents, inserts and merges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from taxoexpan.placement.learned.duplicates import DuplicateCandidates
from taxoexpan.placement.learned.regression import sigmoid
from taxoexpan.placement.scoring.ranking import Ranking
from taxoexpan.placement.suggesting.suggestions import Place, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.taxonomy.names import name_key
from taxoexpan.taxonomy.reach_intervals import AncestorIntervals

LIKELY = 0.5
"""Further parents and merges are proposed if they are more likely right than wrong."""


@dataclass(frozen=True)
class QueryAssessment:
    """What is known of Q queries besides their ranking.

    `confidence` [Q, K] is about each ranked anchor, `has_parent` [Q] says which queries have a
    suitable parent, and `duplicates` what each query may be a synonym of. The first and the last
    are None where they could not be learned.
    """

    confidence: Floats | None
    has_parent: NDArray[np.bool_]
    duplicates: DuplicateCandidates | None


def propose(
    taxonomy: Taxonomy,
    concepts: Sequence[Concept],
    ranking: Ranking,
    assessment: QueryAssessment,
    top_k: int,
) -> list[Suggestion]:
    """Return the `top_k` parents of each query, with inserts, further parents and merges."""
    indices = np.unique(ranking.anchors[:, :top_k]).tolist()
    parents = {i: (taxonomy.concept_at(i), taxonomy.short_path(taxonomy.ids[i])) for i in indices}
    anchors, scores = ranking.anchors[:, :top_k].tolist(), ranking.scores[:, :top_k].tolist()
    known = assessment.confidence
    confidence = None if known is None else known[:, :top_k].tolist()
    related = {} if known is None else _related_parents(taxonomy, ranking, known[:, :top_k])
    suggestions: list[Suggestion] = []
    for row, concept in enumerate(concepts):
        ranked = [
            Suggestion(
                query=concept,
                rank=index + 1,
                parent=parents[anchor][0],
                path=parents[anchor][1],
                score=score,
                confidence=confidence[row][index] if confidence else None,
                place=Place.POSSIBLE if assessment.has_parent[row] else Place.NONE,
            )
            for index, (anchor, score) in enumerate(zip(anchors[row], scores[row], strict=True))
        ]
        if row in related:
            ranked = with_further_parents(ranked, related[row])
        ranked = with_inserts(taxonomy, ranked)
        duplicates = assessment.duplicates
        if duplicates is not None:
            index, log_odds = int(duplicates.indices[row]), float(duplicates.log_odds[row])
            ranked = with_merge(taxonomy, ranked, index, log_odds)
        suggestions += ranked
    return suggestions


def _related_parents(
    taxonomy: Taxonomy, ranking: Ranking, confidence: Floats
) -> dict[int, NDArray[np.bool_]]:
    """Return which parents of a query are related [K, K], for queries with a likely further one."""
    rows = np.flatnonzero((confidence[:, 1:] > LIKELY).any(axis=1))
    anchors = ranking.anchors[rows, : confidence.shape[1]]
    return dict(zip(rows.tolist(), related_concepts(taxonomy, anchors), strict=True))


def related_concepts(taxonomy: Taxonomy, concepts: Indices) -> NDArray[np.bool_]:
    """Return whether one of two concepts is above the other, or both are the same.

    Concepts [Q, K] are compared with those in the same row: [Q, K, K].
    """
    count, size = concepts.shape
    flat = concepts.reshape(-1)
    others = np.repeat(concepts, size, axis=0).T  # [K, Q * K]
    above = AncestorIntervals(taxonomy.parents_of, flat).contain(flat, others)
    above = above.reshape(size, count, size).transpose(1, 0, 2)
    return np.asarray(above | above.transpose(0, 2, 1))


def with_further_parents(
    ranked: Sequence[Suggestion], related: NDArray[np.bool_]
) -> list[Suggestion]:
    """Mark the likely further parents of one query, given which of its parents are related [K, K].

    An ancestor or a descendant of a parent that is already proposed adds nothing and is not marked.
    """
    marked, proposed = [ranked[0]], [0]
    for row, suggestion in enumerate(ranked[1:], start=1):
        if (suggestion.confidence or 0.0) > LIKELY and not related[row, proposed].any():
            proposed.append(row)
            suggestion = replace(suggestion, kind=SuggestionKind.ALSO)
        marked.append(suggestion)
    return marked


def with_inserts(taxonomy: Taxonomy, ranked: Sequence[Suggestion]) -> list[Suggestion]:
    """Make the first suggestion an insert if children of its parent might belong below the query.

    These are the children whose label ends in a name of the query: oat milk might move below milk.
    Of inner concepts that were taken out, nine in ten children with such labels were theirs
    (`docs/results/calibration.md`). A query with the parent's own name, in the plural or not, moves
    nothing.
    """
    first, *others = ranked
    names = {name_key(name) for name in (first.query.label, *first.query.synonyms)}
    if names & {name_key(name) for name in (first.parent.label, *first.parent.synonyms)}:
        return list(ranked)
    children = taxonomy.label_endings.children(taxonomy.index(first.parent.id), names)
    if not children:
        return list(ranked)
    moves = tuple(taxonomy.ids[child] for child in children)
    return [replace(first, kind=SuggestionKind.INSERT, moves=moves), *others]


def with_merge(
    taxonomy: Taxonomy, ranked: Sequence[Suggestion], index: int, log_odds: float
) -> list[Suggestion]:
    """Add the suggestion to merge one query with the concept at an index, if that is likely."""
    probability, known = float(sigmoid(np.array(log_odds))), taxonomy.concept_at(index)
    if probability <= LIKELY or known.deprecated:
        return list(ranked)
    first = ranked[0]
    merge = Suggestion(
        query=first.query,
        rank=0,
        parent=known,
        path=taxonomy.short_path(known.id),
        score=probability,
        confidence=probability,
        kind=SuggestionKind.MERGE,
        place=first.place,
    )
    return _inserted(list(ranked), merge)


def _inserted(group: list[Suggestion], merge: Suggestion) -> list[Suggestion]:
    """Insert a likely merge before the first suggestion of lower confidence, or of unknown one.

    The score of a parent is not a confidence: it only compares anchors with each other.
    """
    confidence = np.array([-1.0 if s.confidence is None else s.confidence for s in group])
    position = int(np.searchsorted(-confidence, -merge.confidence_or_score))
    ranked = [*group[:position], merge, *group[position:]]
    return [replace(s, rank=rank) for rank, s in enumerate(ranked, start=1)]
