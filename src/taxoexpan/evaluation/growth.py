"""The concepts that a new release adds below concepts of the old release, as queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.difference import Difference
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.training.holdout import Holdout


@dataclass(frozen=True)
class Growth:
    """The new concepts as queries, and the numbers of new concepts that are left out.

    A new concept is left out if it is `deprecated`, if the old release has its label (`known`), or
    if the old release has none of its parents (`orphans`).
    """

    queries: Holdout
    deprecated: int
    known: int
    orphans: int

    @property
    def taxonomy(self) -> Taxonomy:
        """The old release without deprecated concepts, used for training and as anchors."""
        return self.queries.taxonomy


def growth_between(old: Taxonomy, new: Taxonomy) -> Growth:
    """Return the concepts that the new release adds; the same id means the same concept.

    Both releases are used in canonical order, so that the order of their rows does not matter.

    Examples:
        >>> from taxoexpan import Taxonomy, growth_between
        >>> old = Taxonomy.from_records([{"label": "saw", "parent": "tool"}])
        >>> rows = [{"label": "saw", "parent": "tool"}, {"label": "fretsaw", "parent": "saw"}]
        >>> growth = growth_between(old, Taxonomy.from_records(rows))
        >>> [concept.label for concept in growth.queries.concepts]
        ['fretsaw']
    """
    old = old.canonical
    new = new.canonical
    anchors = old.active
    names = known_names(old)
    added = Difference(old, new).added
    active = [concept for concept in added if not concept.deprecated]
    unknown = [concept for concept in active if normalize_name(concept.label) not in names]
    parents = {c.id: [p for p in new.parents(c.id) if p in anchors] for c in unknown}
    queries = tuple(concept for concept in unknown if parents[concept.id])
    if not added:
        message = "the new release has no concept that the old one lacks"
        raise TaxonomyError(message, fix="give the old release first, then a later one")
    if not queries:
        raise TaxonomyError(
            f"none of the {len(added):,} new concepts has a new label and a parent "
            "in the old release",
            fix="give two releases of one taxonomy with the same ids, the old one first",
        )
    true_parents = tuple(np.array([anchors.index(p) for p in parents[c.id]]) for c in queries)
    return Growth(
        Holdout(anchors, queries, true_parents),
        deprecated=len(added) - len(active),
        known=len(active) - len(unknown),
        orphans=len(unknown) - len(queries),
    )
