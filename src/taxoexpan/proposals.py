"""What is proposed for new concepts, in one ranked list: parents, further ones, inserts, merges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from taxoexpan.decisions import ALSO, ATTACH, INSERT, MERGE, Suggestion
from taxoexpan.lexicon import name_key
from taxoexpan.regression import sigmoid
from taxoexpan.taxonomy import Taxonomy

SURE = 0.5
"""What is proposed beside the first parent is more likely right than not."""


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
    concepts that were taken out, nine in ten children named so were theirs (`docs/trust.md`).
    """
    first, *others = ranked
    own = {f" {name_key(name)}" for name in (first.query.label, *first.query.synonyms)}
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
    sure = np.array([s.sureness for s in group])
    place = int(np.searchsorted(-sure, -merge.sureness))
    ranked = [*group[:place], merge, *group[place:]]
    return [replace(s, rank=rank) for rank, s in enumerate(ranked, start=1)]
