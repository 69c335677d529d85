"""Subtrees taken out of a taxonomy, as batches to place again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy import Additions, Taxonomy
from taxoexpan.taxonomy.arrays import Indices


@dataclass(frozen=True)
class RemovedSubtrees:
    """The rest of a taxonomy, and the batches that would restore it.

    Each batch is a subtree: its concepts in random order, and all relations that lead to them.
    """

    taxonomy: Taxonomy
    batches: tuple[Additions, ...]


def remove_subtrees(
    taxonomy: Taxonomy, count: int, min_size: int, max_size: int, seed: int
) -> RemovedSubtrees:
    """Take out `count` subtrees of `min_size` to `max_size` concepts, or as many as there are.

    A subtree is a concept that has a parent, and all its descendants; subtrees do not overlap.
    """
    if not 1 <= min_size <= max_size:
        raise TaxonomyError(
            f"no subtree has {min_size} to {max_size} concepts; give a minimum size of at least 1 "
            "and a maximum size that is not below it"
        )
    rng = np.random.default_rng(seed)
    sizes = taxonomy.descendant_intervals.counts(np.arange(len(taxonomy)))
    fitting = (sizes >= min_size) & (sizes <= max_size) & (taxonomy.parents_of.degrees > 0)
    removed = np.zeros(len(taxonomy), dtype=np.bool_)
    subtrees: list[Indices] = []
    for top in rng.permutation(np.flatnonzero(fitting)).tolist():
        below = taxonomy.children_of.levels_down(np.array([top]))
        subtree = np.concatenate([[top], *below])
        if len(subtrees) < count and not removed[subtree].any():
            removed[subtree] = True
            subtrees.append(rng.permutation(subtree))
    rest = taxonomy.without([taxonomy.ids[i] for i in np.flatnonzero(removed).tolist()])
    return RemovedSubtrees(rest, tuple(_batch(taxonomy, subtree.tolist()) for subtree in subtrees))


def _batch(taxonomy: Taxonomy, concepts: Sequence[int]) -> Additions:
    """Return these concepts and all relations that lead to them."""
    children = [taxonomy.concept_at(i) for i in concepts]
    relations = [(parent, c.id) for c in children for parent in taxonomy.parents(c.id)]
    return Additions(tuple(children), tuple(relations))


def sort_by_parent(batches: Sequence[Additions]) -> list[Additions]:
    """Sort batches of one leaf each so that siblings follow each other."""
    return sorted(batches, key=lambda batch: batch.relations[0][0])


def merge_batches(batches: Sequence[Additions], size: int, seed: int) -> list[Additions]:
    """Merge every `size` consecutive batches into one, with their concepts shuffled."""
    rng = np.random.default_rng(seed)
    merged = []
    for start in range(0, len(batches), size):
        some = batches[start : start + size]
        concepts = [concept for batch in some for concept in batch.concepts]
        relations = [relation for batch in some for relation in batch.relations]
        shuffled = [concepts[i] for i in rng.permutation(len(concepts))]
        merged.append(Additions(tuple(shuffled), tuple(relations)))
    return merged
