"""Coarse placements: concepts above a suggested parent, whose branch is sure to be right."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.informative_places import is_informative
from taxoexpan.taxonomy.taxonomy import SKIPPED


def safe_place(
    first: Suggestion, min_branch: float, taxonomy: Taxonomy, rejected: Collection[str] = ()
) -> Suggestion | None:
    """Return a suggested parent, or the deepest concept above it that is sure enough, or None.

    The branch of the concept must contain the true parent with this confidence, and be informative
    (`is_informative`). `rejected` are ids of parents that a person has rejected.
    """
    lineage = None if first.is_merge else _lineage(first, taxonomy)
    if lineage is None:
        return None
    is_sure = first.levels[-1] >= min_branch and first.parent.id not in rejected
    if is_sure and is_informative(*lineage)[-1]:
        return first
    places = coarse_places(first, taxonomy, rejected)
    sure = [place for place in places if (place.confidence or 0.0) >= min_branch]
    return replace(sure[-1], rank=first.rank + 1) if sure else None


def coarse_places(
    first: Suggestion, taxonomy: Taxonomy, rejected: Collection[str] = ()
) -> list[Suggestion]:
    """Return the placements above a suggestion that are informative, from the top down.

    `rejected` are ids of parents that a person has rejected.
    """
    known = _lineage(first, taxonomy)
    if known is None:
        return []
    active, lineage = known
    is_place = is_informative(active, lineage)
    places = [
        first.moved_up(active, int(lineage[depth]), depth)
        for depth in range(1, len(lineage) - 1)
        if is_place[depth] and first.path[depth] != SKIPPED
    ]
    return [place for place in places if place.parent.id not in rejected]


def _lineage(first: Suggestion, taxonomy: Taxonomy) -> tuple[Taxonomy, Indices] | None:
    """Return the concepts on the path of a suggestion, and the taxonomy that has this path.

    Return None if the branches are not known, or if the taxonomy has changed.
    """
    if not first.levels or first.parent.id not in taxonomy:
        return None
    # The model that made the suggestion has the concepts in this order.
    active = taxonomy.canonical.without_deprecated_relations
    lineage = active.short_lineage(active.index(first.parent.id))
    return (active, lineage) if len(lineage) == len(first.levels) else None
