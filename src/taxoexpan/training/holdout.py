"""Concepts that are held out of a taxonomy for validation (Section 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import ConfigurationError, TaxonomyError
from taxoexpan.option_declarations import FRACTION, NATURAL, SEED, check_type
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.thresholds import MIN_FOR_CONFIDENCE

USUAL_FRACTION = 0.1
"""The fraction of the leaves that `auto` holds out of large taxonomies."""
MAX_FRACTION = 0.2
"""The largest fraction that `auto` holds out for that: the network must learn from the others."""
MAX_ADVISED_FRACTION = 0.5
"""The largest fraction that `fraction_for` returns: half of the leaves are left to learn from."""


@dataclass(frozen=True)
class Holdout:
    """The remaining taxonomy, the held-out concepts, and the indices of their remaining parents.

    Examples:
        >>> from taxoexpan import Taxonomy, hold_out_leaves
        >>> held_out = hold_out_leaves(Taxonomy.example("food"), fraction=0.1, seed=1)
        >>> len(held_out.concepts), len(held_out.taxonomy)
        (191, 2241)
    """

    taxonomy: Taxonomy
    concepts: tuple[Concept, ...]
    parents: tuple[Indices, ...]

    @property
    def canonical(self) -> Holdout:
        """The same held-out concepts, with the remaining taxonomy in canonical order."""
        taxonomy = self.taxonomy.canonical
        ids = self.taxonomy.ids
        if taxonomy is self.taxonomy:
            return self
        parents = (sorted(taxonomy.index(ids[i]) for i in own.tolist()) for own in self.parents)
        return Holdout(taxonomy, self.concepts, tuple(np.array(own) for own in parents))

    @property
    def active(self) -> Holdout:
        """The same without deprecated concepts, and without those whose parents are deprecated."""
        if not self.taxonomy.deprecated and not any(each.deprecated for each in self.concepts):
            return self
        taxonomy = self.taxonomy.active
        ids = self.taxonomy.ids
        kept = []
        for concept, own in zip(self.concepts, self.parents, strict=True):
            parents = [taxonomy.index(ids[i]) for i in own.tolist() if ids[i] in taxonomy]
            if parents and not concept.deprecated:
                kept.append((concept, np.array(parents)))
        concepts = tuple(concept for concept, _ in kept)
        return Holdout(taxonomy, concepts, tuple(parents for _, parents in kept))


def hold_out(taxonomy: Taxonomy, ids: Sequence[str], remaining: Taxonomy | None = None) -> Holdout:
    """Hold out these concepts with all their relations, except concepts without a remaining parent.

    At least one must have a remaining parent, and an id that is given twice counts once.
    `remaining` is the taxonomy to place them in, if more than these concepts are removed.

    Examples:
        >>> from taxoexpan import Taxonomy, hold_out
        >>> rows = [{"label": "saw", "parent": "tool"}, {"label": "fretsaw", "parent": "saw"}]
        >>> held_out = hold_out(Taxonomy.from_records(rows), ["fretsaw"])
        >>> [held_out.taxonomy.labels[i] for i in held_out.parents[0]]
        ['saw']
    """
    if isinstance(ids, str):
        raise ConfigurationError(f"{ids!r} is not a list of ids", fix=f"give [{ids!r}]")
    left = taxonomy.without(ids) if remaining is None else remaining
    concepts = []
    parents = []
    for id in dict.fromkeys(ids):
        known = [parent for parent in taxonomy.parents(id) if parent in left]
        if known:
            concepts.append(taxonomy.concept(id))
            parents.append(np.array([left.index(parent) for parent in known]))
    if remaining is None and len(ids) and not concepts:
        message = "none of the concepts to hold out has a parent that remains"
        raise TaxonomyError(message, fix="hold out concepts below others, such as leaves")
    return Holdout(left, tuple(concepts), tuple(parents))


def held_out_count(leaves: int, fraction: float | Literal["auto"], max_leaves: int) -> int:
    """Return the number of leaves to hold out; `auto` is a tenth, and more in small taxonomies."""
    if fraction == "auto":
        few = min(MIN_FOR_CONFIDENCE, int(leaves * MAX_FRACTION))
        return min(max(int(leaves * USUAL_FRACTION), few), max_leaves)
    return min(int(leaves * fraction), max_leaves)


def fraction_for(leaves: int, count: int) -> float | None:
    """Return the fraction that holds out at least `count` leaves, or None if half is not enough."""
    hundredths = range(1, round(100 * MAX_ADVISED_FRACTION) + 1)
    fractions = (number / 100 for number in hundredths)
    return next((f for f in fractions if held_out_count(leaves, f, leaves) >= count), None)


def leaf_count(taxonomy: Taxonomy) -> int:
    """Count the leaves with a parent, which can be held out."""
    return int(_is_leaf(taxonomy).sum())


def hold_out_leaves(
    taxonomy: Taxonomy,
    fraction: float | Literal["auto"] = "auto",
    max_leaves: int = 10_000,
    seed: int = 0,
) -> Holdout:
    """Hold out a random fraction of the leaves with a parent, at most `max_leaves`.

    Examples:
        >>> from taxoexpan import Taxonomy, hold_out_leaves
        >>> held_out = hold_out_leaves(Taxonomy.example("food"), fraction=0.01, seed=1)
        >>> held_out.concepts[0].label
        'crab cocktail'
    """
    check_type("taxonomy", taxonomy, Taxonomy, "read_taxonomy reads one from a file")
    if fraction != "auto":
        FRACTION.check("fraction", fraction)
    NATURAL.check("max_leaves", max_leaves)
    SEED.check("seed", seed)
    leaves = np.flatnonzero(_is_leaf(taxonomy))
    count = held_out_count(len(leaves), fraction, max_leaves)
    chosen = np.random.default_rng(seed).permutation(leaves)[:count]
    return hold_out(taxonomy, [taxonomy.ids[i] for i in np.sort(chosen)])


def hold_out_growth(
    taxonomy: Taxonomy, fraction: float | Literal["auto"], max_leaves: int, seed: int
) -> Holdout:
    """Hold out leaves as taxonomies grow: half of them single leaves, half whole families.

    A family is all children of a concept, if they are leaves. Real taxonomies add about half of
    their new concepts below concepts without children.
    """
    rng = np.random.default_rng(seed)
    children_of = taxonomy.children_of
    is_leaf = _is_leaf(taxonomy)
    count = held_out_count(leaf_count(taxonomy), fraction, max_leaves)
    parents, children = taxonomy.relation_indices
    leaf_counts = np.bincount(parents[is_leaf[children]], minlength=len(taxonomy))
    families = np.flatnonzero((leaf_counts > 0) & (leaf_counts == children_of.degrees))
    chosen = []
    remaining = count // 2
    for parent in rng.permutation(families).tolist():
        if leaf_counts[parent] <= remaining:
            chosen.append(parent)
            remaining -= int(leaf_counts[parent])
    in_families = np.unique(children_of.of_many(np.array(chosen, dtype=np.int64))[1])
    is_leaf[in_families] = False
    single = rng.permutation(np.flatnonzero(is_leaf))[: count - len(in_families)]
    held_out = np.sort(np.concatenate([in_families, single]))
    return hold_out(taxonomy, [taxonomy.ids[i] for i in held_out])


def _is_leaf(taxonomy: Taxonomy) -> NDArray[np.bool_]:
    """Return whether each concept is a leaf with a parent."""
    is_leaf: NDArray[np.bool_] = taxonomy.children_of.degrees == 0
    return is_leaf & (taxonomy.parents_of.degrees > 0)


HOLDOUTS: dict[str, Callable[[Taxonomy, float | Literal["auto"], int, int], Holdout]] = {
    "leaves": hold_out_leaves,
    "growth": hold_out_growth,
}
"""The functions that hold out leaves for validation, by the setting `validation`."""
