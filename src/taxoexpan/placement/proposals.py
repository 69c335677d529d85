"""What is proposed for new concepts, in one ranked list: parents, further ones, inserts, merges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from taxoexpan.placement.duplicates import DuplicateCandidates
from taxoexpan.placement.ranking import Ranking
from taxoexpan.placement.regression import Floats, sigmoid
from taxoexpan.placement.suggestions import ALSO, ATTACH, INSERT, MERGE, NO_PLACE, Suggestion
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.names import name_key

SURE = 0.5
"""What is proposed beside the first parent is more likely right than not."""


@dataclass(frozen=True)
class Likelihood:
    """What is known of Q queries besides their ranking.

    `right` is how likely each anchor ranked is right [Q, K], `homeless` says which have no good
    place [Q], `doubles` what each may be another name of; the first and last where they could be
    learned.
    """

    right: Floats | None
    homeless: NDArray[np.bool_]
    doubles: DuplicateCandidates | None


def propose(
    taxonomy: Taxonomy,
    concepts: Sequence[Concept],
    ranking: Ranking,
    likely: Likelihood,
    top_k: int,
) -> list[Suggestion]:
    """The proposals for all queries, of each its first `top_k` anchors and what else it may be."""
    places = np.unique(ranking.anchors[:, :top_k]).tolist()
    parents = {i: (taxonomy.concept_at(i), taxonomy.path(taxonomy.ids[i])) for i in places}
    anchors, scores = ranking.anchors[:, :top_k].tolist(), ranking.scores[:, :top_k].tolist()
    right = None if likely.right is None else likely.right[:, :top_k].tolist()
    suggestions: list[Suggestion] = []
    for row, concept in enumerate(concepts):
        ranked = [
            Suggestion(
                query=concept,
                rank=place + 1,
                parent=parents[anchor][0],
                path=parents[anchor][1],
                score=score,
                confidence=right[row][place] if right else None,
                place=NO_PLACE if likely.homeless[row] else "",
            )
            for place, (anchor, score) in enumerate(zip(anchors[row], scores[row], strict=True))
        ]
        ranked = with_moves(taxonomy, with_further_parents(taxonomy, ranked))
        if likely.doubles is not None:
            known, odds = likely.doubles.indices[row], likely.doubles.log_odds[row]
            ranked = with_merge(taxonomy, ranked, int(known), float(odds))
        suggestions += ranked
    return suggestions


def with_further_parents(taxonomy: Taxonomy, ranked: Sequence[Suggestion]) -> list[Suggestion]:
    """Of one query mark as further parents what is right beside the first, likelier than not.

    One above or below a parent that is proposed already says nothing new, and is not marked.
    """
    lines: set[str] = set()
    marked: list[Suggestion] = []
    for suggestion in ranked:
        id, first = suggestion.parent.id, not marked
        if (first or (suggestion.confidence or 0.0) > SURE) and id not in lines:
            lines |= {id, *taxonomy.ancestors(id), *taxonomy.descendants(id)}
            suggestion = replace(suggestion, kind=ATTACH if first else ALSO)
        marked.append(suggestion)
    return marked


def with_moves(taxonomy: Taxonomy, ranked: Sequence[Suggestion]) -> list[Suggestion]:
    """One query's list; where it might come between its first parent and some children, these too.

    They are the children whose name ends in the query's: oat milk might move below milk. Of inner
    concepts that were taken out, nine in ten children named so were theirs (`docs/trust.md`). What
    has the parent's own name, in the plural or not, comes between nothing.
    """
    first, *others = ranked
    own = {f" {name_key(name)}" for name in (first.query.label, *first.query.synonyms)}
    if own & {f" {name_key(name)}" for name in (first.parent.label, *first.parent.synonyms)}:
        return list(ranked)
    moves = [
        child
        for child in taxonomy.children(first.parent.id)
        if any(name_key(taxonomy.concept(child).label).endswith(name) for name in own)
    ]
    return [replace(first, kind=INSERT, moves=tuple(moves)), *others] if moves else list(ranked)


def with_merge(
    taxonomy: Taxonomy, ranked: Sequence[Suggestion], index: int, log_odds: float
) -> list[Suggestion]:
    """One query's list with the proposal to merge it, if that is likelier right than not."""
    likely, known = float(sigmoid(np.array(log_odds))), taxonomy.concept_at(index)
    if likely <= SURE or known.deprecated:
        return list(ranked)
    path, first = taxonomy.path(known.id), ranked[0]
    merge = Suggestion(first.query, 0, known, path, likely, likely, MERGE, first.place)
    return _inserted(list(ranked), merge)


def _inserted(group: list[Suggestion], merge: Suggestion) -> list[Suggestion]:
    """A query's suggestions with one more, before the first that is less sure."""
    sure = np.array([s.confidence_or_score for s in group])
    place = int(np.searchsorted(-sure, -merge.confidence_or_score))
    ranked = [*group[:place], merge, *group[place:]]
    return [replace(s, rank=rank) for rank, s in enumerate(ranked, start=1)]
