"""Subtrees taken out of a taxonomy to be placed back, and how much of them is found again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy import Additions, Taxonomy
from taxoexpan.taxonomy.arrays import Indices


@dataclass(frozen=True)
class Removal:
    """What is left of a taxonomy, and the batches that would make it whole again.

    Each batch is a subtree: its concepts in no order that tells anything, and all relations that
    lead to them.
    """

    taxonomy: Taxonomy
    batches: tuple[Additions, ...]


def removed_subtrees(
    taxonomy: Taxonomy, count: int, smallest: int, largest: int, seed: int
) -> Removal:
    """Take out so many subtrees of `smallest` to `largest` concepts, or as many as there are.

    A subtree is a concept that has a parent, and all its descendants; no two have one in common.
    """
    if not 1 <= smallest <= largest:
        message = f"no subtree has {smallest} to {largest} concepts"
        raise TaxonomyError(f"{message}; give a smallest of at least 1, and a largest not below it")
    dice = np.random.default_rng(seed)
    owners, _ = taxonomy.children_of.reach_of_many(np.arange(len(taxonomy)))
    sizes = 1 + np.bincount(owners, minlength=len(taxonomy))
    fitting = (sizes >= smallest) & (sizes <= largest) & (taxonomy.parents_of.degrees > 0)
    taken = np.zeros(len(taxonomy), dtype=np.bool_)
    subtrees: list[Indices] = []
    for top in dice.permutation(np.flatnonzero(fitting)).tolist():
        below = taxonomy.children_of.levels_down(np.array([top]))
        subtree = np.concatenate([[top], *below])
        if len(subtrees) < count and not taken[subtree].any():
            taken[subtree] = True
            subtrees.append(dice.permutation(subtree))
    remaining = taxonomy.without([taxonomy.ids[i] for i in np.flatnonzero(taken)])
    return Removal(remaining, tuple(_batch(taxonomy, subtree.tolist()) for subtree in subtrees))


def _batch(taxonomy: Taxonomy, concepts: Sequence[int]) -> Additions:
    """These concepts, and all relations that lead to them."""
    children = [taxonomy.concept_at(i) for i in concepts]
    relations = [(parent, c.id) for c in children for parent in taxonomy.parents(c.id)]
    return Additions(tuple(children), tuple(relations))


def by_parent(batches: Sequence[Additions]) -> list[Additions]:
    """Batches of one leaf each, siblings one after another."""
    return sorted(batches, key=lambda batch: batch.relations[0][0])


def together(batches: Sequence[Additions], size: int, seed: int) -> list[Additions]:
    """Every so many batches as one, their concepts mixed."""
    dice = np.random.default_rng(seed)
    joined = []
    for start in range(0, len(batches), size):
        some = batches[start : start + size]
        concepts = [concept for batch in some for concept in batch.concepts]
        relations = [relation for batch in some for relation in batch.relations]
        mixed = [concepts[i] for i in dice.permutation(len(concepts))]
        joined.append(Additions(tuple(mixed), tuple(relations)))
    return joined


@dataclass(frozen=True)
class Recovery:
    """How much of some batches is found again, summed over all of them.

    Relations are pairs (found, true), from a concept that had stayed and from another new one;
    `ancestors` are (found, true, told) over all concepts of the batches.
    """

    from_old: tuple[int, int]
    from_new: tuple[int, int]
    ancestors: tuple[int, int, int]

    @property
    def shares(self) -> tuple[float, float, float]:
        """Of the true relations the share that was found: of all, from old ones, from new ones."""
        both = self.from_old[0] + self.from_new[0], self.from_old[1] + self.from_new[1]
        return _share(*both), _share(*self.from_old), _share(*self.from_new)

    @property
    def ancestor_f1(self) -> float:
        """The harmonic mean of the ancestors' precision and recall."""
        found, true, told = self.ancestors
        return _share(2 * found, true + told)


def recovery_of(
    taxonomy: Taxonomy, truth: Sequence[Additions], placed: Sequence[Additions]
) -> Recovery:
    """Compare batches as they were placed with what they were; each is added to the taxonomy."""
    from_old, from_new = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    ancestors = np.zeros(3, dtype=np.int64)
    for true, told in zip(truth, placed, strict=True):
        relations = set(told.relations)
        for relation in true.relations:
            into = from_old if relation[0] in taxonomy else from_new
            into += (relation in relations, 1)
        whole, grown = taxonomy.expanded(true), taxonomy.expanded(told)
        for concept in true.concepts:
            right, said = set(whole.ancestors(concept.id)), set(grown.ancestors(concept.id))
            ancestors += (len(right & said), len(right), len(said))
    old, new, above = from_old.tolist(), from_new.tolist(), ancestors.tolist()
    return Recovery((old[0], old[1]), (new[0], new[1]), (above[0], above[1], above[2]))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
