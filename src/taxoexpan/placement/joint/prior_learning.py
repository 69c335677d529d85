"""Learning of the new-parent prior from batches that are removed from a taxonomy.

As in real batches, there are four kinds: a subtree, several subtrees mixed, unrelated leaves, and
leaves that are siblings or nearly so. Batches that the network has seen in training give almost the
same gain as unseen ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from taxoexpan.features.label_words import LabelWords
from taxoexpan.network.concept_vectors import Queries
from taxoexpan.placement.joint.placement import BatchScorer, mentions_among
from taxoexpan.placement.learned.new_parent_prior import LabeledBatch, NewParentPrior
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Additions, Taxonomy
from taxoexpan.taxonomy.arrays import Indices

MAX_SUBTREES = 30
MIN_SIZE = 5
MAX_SIZE = 20
"""The sizes of the subtrees that are taken out."""
MERGED = 10
"""Subtrees, or single leaves, that are merged into one batch."""
LEARNED_ROUNDS = 2
"""Rounds of joint placement with a prior of their own; later rounds use the last one."""


@dataclass(frozen=True)
class RemovedSubtrees:
    """The rest of a taxonomy, and the subtrees that would restore it, in random order."""

    taxonomy: Taxonomy
    batches: tuple[Additions, ...]


def remove_subtrees(
    taxonomy: Taxonomy, count: int, min_size: int, max_size: int, seed: int
) -> RemovedSubtrees:
    """Remove at most `count` disjoint subtrees of non-root concepts, of the given sizes."""
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
    """Return these concepts and all relations to their parents."""
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


Relations = NDArray[np.bool_]


def learn_new_parent_priors(
    ranker: Ranker, seed: int = 0, rounds: int = LEARNED_ROUNDS
) -> tuple[NewParentPrior, ...]:
    """Learn one prior per round; return an empty tuple if no subtree is suitable.

    Each prior is learned after the previous rounds, because these have changed the egonets.
    """
    taxonomy = ranker.anchors.taxonomy.active
    subtrees = remove_subtrees(taxonomy, MAX_SUBTREES, MIN_SIZE, MAX_SIZE, seed)
    mixed = merge_batches(subtrees.batches, MERGED, seed)
    count = sum(len(batch.concepts) for batch in subtrees.batches)
    batches = _labeled(ranker, subtrees.taxonomy, [*subtrees.batches, *mixed])
    leaves = remove_subtrees(taxonomy, count, 1, 1, seed)
    unrelated = merge_batches(leaves.batches, MERGED, seed)
    siblings = merge_batches(sort_by_parent(leaves.batches), MERGED, seed)
    batches += _labeled(ranker, leaves.taxonomy, [*unrelated, *siblings])
    priors: list[NewParentPrior] = []
    parents = [batch.independent_parents()[0] for batch, _ in batches]
    for _ in range(rounds):
        scores = [batch.scores(found) for (batch, _), found in zip(batches, parents, strict=True)]
        prior = NewParentPrior.learn(
            [
                LabeledBatch(own, batch.features, true)
                for own, (batch, true) in zip(scores, batches, strict=True)
            ]
        )
        if prior is None:
            break
        priors.append(prior)
        parents = [
            batch.choose_parents(own, prior)[0]
            for own, (batch, _) in zip(scores, batches, strict=True)
        ]
    return tuple(priors)


def _labeled(
    ranker: Ranker, rest: Taxonomy, batches: Sequence[Additions]
) -> list[tuple[BatchScorer, Relations]]:
    """Return each batch in the rest of the taxonomy, with the relations inside the batch."""
    whole = ranker.anchors.taxonomy
    vectors = ranker.anchors.vectors
    network = ranker.network
    kept = np.array([whole.index(id) for id in rest])
    of_kept = vectors.select(torch.from_numpy(kept).to(vectors.device))
    texts = ranker.anchors.texts
    if texts is not None:
        # The words of the removed concepts must not count.
        texts = replace(texts.select(kept), words=LabelWords.from_taxonomy(rest))
    anchors = Anchors(rest, of_kept, ranker.anchors.siblings, texts=texts)
    remaining = Ranker(network, anchors, fusion=ranker.fusion)
    labeled = []
    for batch in batches:
        rows = torch.tensor([whole.index(c.id) for c in batch.concepts], device=vectors.device)
        both = vectors.select(rows).stacked()
        mentions = mentions_among(rest, batch.concepts) if network.mentions is not None else None
        known = ranker.anchors.tower
        tower = None if known is None else known[1].index_select(0, rows)
        queries = Queries(both, mentions, batch.concepts, tower)
        labeled.append((BatchScorer(remaining, queries), _relations(batch)))
    return labeled


def _relations(batch: Additions) -> Relations:
    """Return whether each concept (row) is below each other one (column) of its batch: [Q, Q]."""
    indices = {concept.id: index for index, concept in enumerate(batch.concepts)}
    true = np.zeros((len(indices), len(indices)), dtype=np.bool_)
    for parent, child in batch.relations:
        if parent in indices:
            true[indices[child], indices[parent]] = True
    return true
