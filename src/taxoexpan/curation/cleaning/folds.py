"""Groups of concepts whose parents are hidden in turn, and the taxonomy without those parents."""

from __future__ import annotations

from typing import Any

import numpy as np

from taxoexpan.errors import ConfigurationError
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices


def concepts_to_check(taxonomy: Taxonomy, inner: bool = False) -> Indices:
    """The leaves that have a parent, or with `inner` all concepts that have a parent."""
    has_parent = taxonomy.parents_of.degrees > 0
    return np.flatnonzero(has_parent if inner else has_parent & (taxonomy.children_of.degrees == 0))


def split_into_folds(concepts: Indices, folds: int, seed: int) -> list[Indices]:
    """Split the concepts at random into `folds` groups of about the same size."""
    if not isinstance(folds, int) or folds < 2:
        raise ConfigurationError(f"folds is {folds!r}; it must be a whole number, at least 2")
    if len(concepts) < folds:
        raise ConfigurationError(
            f"{pluralize(len(concepts), 'concept')} to check cannot be split into {folds} folds; "
            "use fewer folds or a larger taxonomy"
        )
    shuffled = np.random.default_rng(seed).permutation(concepts)
    return [np.sort(group) for group in np.array_split(shuffled, folds)]


def hide_parents(taxonomy: Taxonomy, queries: Indices) -> Taxonomy:
    """The taxonomy without the relations from the queries to their parents.

    Leaves are removed. An inner concept becomes a root and keeps its descendants, because the model
    can still learn from those relations.
    """
    columns = columns_of(taxonomy)
    is_query = np.zeros(len(taxonomy), dtype=np.bool_)
    is_query[queries] = True
    kept = ~is_query[columns["children"]]
    relations = {end: columns[end][kept] for end in ("parents", "children")}
    remaining = Taxonomy.from_columns(**{**columns, **relations})
    leaves = queries[taxonomy.children_of.degrees[queries] == 0]
    return remaining.without([taxonomy.ids[i] for i in leaves.tolist()])


def columns_of(taxonomy: Taxonomy) -> dict[str, Any]:
    """The arguments of `Taxonomy.from_columns` that build the same taxonomy again.

    Unlike a `Taxonomy`, they can be sent to another process.
    """
    parents, children = taxonomy.relation_indices
    return {
        "ids": taxonomy.ids,
        "labels": taxonomy.labels,
        "parents": parents,
        "children": children,
        "synonyms": dict(taxonomy.synonyms),
        "definitions": dict(taxonomy.definitions),
        "deprecated": taxonomy.deprecated,
        "foreign_names": dict(taxonomy.foreign_names),
        "reserved": taxonomy.reserved,
    }
