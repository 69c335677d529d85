"""Proposals for new concepts in one ranked list: parents, further parents, inserts and merges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from taxoexpan.decisions.feedback import NO_REJECTIONS, Rejections
from taxoexpan.decisions.suggestion import (
    Suggestion,
    SuggestionKind,
    Suitability,
    values_of_parent,
)
from taxoexpan.errors import DamagedModelError
from taxoexpan.network.concept_vectors import Queries
from taxoexpan.placement.learned.abstention import NEAREST, features_of_cosines
from taxoexpan.placement.learned.calibrators import Calibrators, branch_threshold
from taxoexpan.placement.learned.confidence import sigmoid
from taxoexpan.placement.learned.duplicates import DuplicateCandidates, DuplicateDetector
from taxoexpan.placement.scoring.best_scores import best_of
from taxoexpan.placement.scoring.pair_features import QueryCosines
from taxoexpan.placement.scoring.ranking import Ranker, Ranking
from taxoexpan.shared_options import SuggestOptions
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.taxonomy.names import name_key
from taxoexpan.taxonomy.reach_intervals import AncestorIntervals
from taxoexpan.thresholds import LIKELY


@dataclass(frozen=True)
class Placer:
    """A ranker and calibrators that suggest parents of queries, without the rejected ones."""

    ranker: Ranker
    calibrators: Calibrators
    rejections: Rejections = NO_REJECTIONS

    def suggest(
        self, queries: Queries, options: SuggestOptions
    ) -> tuple[list[Suggestion], Ranking]:
        """Return the parents of each query with all other suggestions, and the ranking."""
        top_k = int(options.top_k)  # it may be a number of numpy
        # An explanation compares the first parent with the second.
        least = 2 if options.explain else 1
        ranking, has_parent, duplicates = self.rank(queries, max(top_k, least))
        taxonomy = self.ranker.anchors.taxonomy
        calibration = self.calibrators.calibration
        anchors = ranking.anchors[:, :top_k]
        scores = ranking.scores[:, :top_k].tolist()
        confidence = None
        related = {}
        levels = None
        is_leaf = [[False]]
        if calibration is not None:
            known = calibration.confidence(ranking.tempered)[:, :top_k]
            confidence = known.tolist()
            related = _related_parents(taxonomy, anchors, known)
            if ranking.levels is not None:
                levels = calibration.branch_confidence(ranking.levels[:, :top_k], known).tolist()
                is_leaf = (taxonomy.children_of.degrees[anchors] == 0).tolist()
        sure_from = None if levels is None else branch_threshold(self.calibrators)
        indices = np.unique(anchors).tolist()
        of_parents = {index: values_of_parent(taxonomy, index) for index in indices}
        suggestions: list[Suggestion] = []
        for row, (concept, own) in enumerate(zip(queries.concepts, anchors.tolist(), strict=True)):
            ranked = [
                Suggestion(
                    query=concept,
                    rank=index + 1,
                    **of_parents[anchor],
                    score=scores[row][index],
                    confidence=None if confidence is None else confidence[row][index],
                    place=Suitability.POSSIBLE if has_parent[row] else Suitability.NONE,
                    levels=()
                    if levels is None or confidence is None
                    else _levels(
                        levels[row][index],
                        of_parents[anchor]["path"],
                        confidence[row][index] if index and is_leaf[row][index] else None,
                    ),
                    sure_from=sure_from,
                )
                for index, anchor in enumerate(own)
            ]
            if row in related:
                ranked = with_further_parents(ranked, related[row])
            ranked = with_inserts(taxonomy, ranked)
            if duplicates is not None:
                index = int(duplicates.indices[row])
                log_odds = float(duplicates.log_odds[row])
                ranked = with_merge(taxonomy, ranked, index, log_odds)
            suggestions += with_similar(taxonomy, ranked)
        if self.rejections:
            suggestions = self.rejections.filtered(suggestions)
        refuse_nonfinite_scores(suggestions)
        return suggestions, ranking

    def rank(
        self, queries: Queries, top_k: int
    ) -> tuple[Ranking, NDArray[np.bool_], DuplicateCandidates | None]:
        """Return the ranking, whether each query has a suitable parent [Q], and duplicates."""
        ranker = self.ranker
        calibrators = self.calibrators
        calibration = calibrators.calibration
        abstention = calibrators.abstention
        vectors = ranker.anchors.vectors
        taxonomy = ranker.anchors.taxonomy
        temperature = calibration.temperature if calibration else 1.0
        excluded = None
        if self.rejections:
            excluded = self.rejections.anchors_of(taxonomy, queries.concepts)
        features: list[Floats] = []
        nearest_rows: list[Indices] = []

        def assess(cosines: QueryCosines) -> None:
            names = cosines.names
            nearest_rows.append(best_of(names, min(NEAREST, len(names)))[1].T.cpu().numpy())
            if abstention is not None:
                features.append(features_of_cosines(cosines))

        is_assessed = abstention is not None or calibrators.duplicates is not None
        on_block = assess if is_assessed else None
        calibrated = calibration is not None and calibration.branches is not None
        with_levels = calibrated and ranker.anchors.is_everyone
        ranking = ranker.rank(queries, top_k, temperature, excluded, on_block, with_levels)
        has_parent = np.ones(len(queries), dtype=bool)
        if abstention is not None:
            has_parent = abstention.has_parent(np.concatenate(features))
        duplicates = None
        if calibrators.duplicates is not None:
            detector = DuplicateDetector(
                taxonomy, vectors.names.cpu().numpy(), calibrators.duplicates
            )
            own = queries.vectors[0].cpu().numpy()
            duplicates = detector.candidates(queries.concepts, own, np.concatenate(nearest_rows))
        return ranking, has_parent, duplicates


def _levels(
    padded: Sequence[float], path: Sequence[str], of_leaf: float | None
) -> tuple[float, ...]:
    """Return the branch confidence of each label of a path, given that of an unlikely leaf."""
    levels = [round(level, 4) for level in padded[: len(path)]]
    return tuple(levels if of_leaf is None else [*levels[:-1], round(of_leaf, 4)])


def refuse_nonfinite_scores(suggestions: Sequence[Suggestion]) -> None:
    """Refuse scores that are NaN or infinite: the weights of the model are damaged."""
    if not all(math.isfinite(suggestion.score) for suggestion in suggestions):
        message = "the model gives scores that are NaN or infinite, so its weights are damaged"
        raise DamagedModelError(message, fix="train again, or restore the model")


def _related_parents(
    taxonomy: Taxonomy, anchors: Indices, confidence: Floats
) -> dict[int, NDArray[np.bool_]]:
    """Return the related parents [K, K] of each query that has a likely further parent."""
    rows = np.flatnonzero((confidence[:, 1:] > LIKELY).any(axis=1))
    return dict(zip(rows.tolist(), related_concepts(taxonomy, anchors[rows]), strict=True))


def related_concepts(taxonomy: Taxonomy, concepts: Indices) -> NDArray[np.bool_]:
    """Return whether concepts of a row are equal or one is above the other: [Q, K] → [Q, K, K]."""
    count, size = concepts.shape
    flat = concepts.reshape(-1)
    others = np.repeat(concepts, size, axis=0).T  # [K, Q * K]
    above = AncestorIntervals(taxonomy.parents_of, flat).contain(flat, others)
    above = above.reshape(size, count, size).transpose(1, 0, 2)
    return np.asarray(above | above.transpose(0, 2, 1))


def with_further_parents(
    ranked: Sequence[Suggestion], related: NDArray[np.bool_]
) -> list[Suggestion]:
    """Mark likely further parents of a query that are not related [K, K] to a proposed one."""
    marked = [ranked[0]]
    proposed = [0]
    for row, suggestion in enumerate(ranked[1:], start=1):
        if (suggestion.confidence or 0.0) > LIKELY and not related[row, proposed].any():
            proposed.append(row)
            suggestion = replace(suggestion, kind=SuggestionKind.ALSO)
        marked.append(suggestion)
    return marked


def with_inserts(taxonomy: Taxonomy, ranked: Sequence[Suggestion]) -> list[Suggestion]:
    """Make the first suggestion an insert if children of its parent might belong below the query.

    Their labels end in a name of the query (oat milk, milk); nine in ten such children were correct
    (`docs/results/cleaning.md`). A query with the parent's own name moves nothing.
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
    """Add a merge of one query with the concept at an index, if it is likely."""
    probability = float(sigmoid(np.array(log_odds)))
    known = taxonomy.concept_at(index)
    if probability <= LIKELY or known.deprecated:
        return list(ranked)
    first = ranked[0]
    merge = Suggestion.at(
        taxonomy,
        first.query,
        index,
        score=probability,
        confidence=probability,
        kind=SuggestionKind.MERGE,
        place=first.place,
    )
    # Before the first suggestion of lower or unknown confidence.
    confidence = np.array([-1.0 if s.confidence is None else s.confidence for s in ranked])
    position = int(np.searchsorted(-confidence, -probability))
    both = [*ranked[:position], merge, *ranked[position:]]
    return [replace(s, rank=rank) for rank, s in enumerate(both, start=1)]


def with_similar(taxonomy: Taxonomy, ranked: Sequence[Suggestion]) -> list[Suggestion]:
    """Put a concept with a similar name before all other suggestions of one query."""
    query = ranked[0].query
    similar = taxonomy.similar_names.find(query.label)
    if similar is None or ranked[0].is_merge:
        return list(ranked)
    known = taxonomy.concept_at(similar.concept)
    merge = Suggestion.at(
        taxonomy,
        query,
        similar.concept,
        rank=1,
        score=1 - 1 / (1 + len(similar.name)),
        kind=SuggestionKind.SIMILAR,
        place=ranked[0].place,
        why=f"{query.label!r} and {similar.name!r} {similar.difference.text}; check whether they "
        "are the same concept",
    )
    others = [s for s in ranked if not (s.is_merge and s.parent.id == known.id)]
    return [merge, *(replace(s, rank=rank) for rank, s in enumerate(others, start=2))]
