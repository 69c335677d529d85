"""Merges as mappings from new concepts to existing ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from taxoexpan.formats.changes.sssom import ConceptMapping, Justification
from taxoexpan.placement.suggesting.suggestions import Suggestion


def merge_mappings(merges: Iterable[Suggestion], own_ids: Collection[str]) -> list[ConceptMapping]:
    """Return one mapping per merge.

    Only a query in `own_ids` had an id before it was placed. The id of another one was proposed
    for it, and is free again; it is only a name.
    """
    return [
        ConceptMapping(
            merge.query.id if merge.query.id in own_ids else "",
            merge.query.label,
            merge.parent.id,
            merge.parent.label,
            Justification.COMPOSITE if merge.rank else Justification.MANUAL,
            merge.confidence_or_score if merge.rank else None,
        )
        for merge in merges
    ]
