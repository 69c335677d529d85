"""Batches of a taxonomy's own concepts, taken out and looked at as if they were new.

What a new parent gains is learned from them. They are of four kinds, as real batches may be: a
subtree, several subtrees mixed, leaves that have nothing to do with each other, and leaves that are
siblings or nearly so, of which none is another's parent either. That the network has seen them in
training matters little: with a constant alone, it came out on foods as 9.4 and 8.7 for such
subtrees, and as 9.3 and 9.6 for others that it had never seen (two seeds).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.joint.joint_placement import Batch, NewConcepts, mentions_among
from taxoexpan.placement.joint.new_parent_prior import Case, NewParentPrior
from taxoexpan.placement.joint.subtrees import by_parent, removed_subtrees, together
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.taxonomy import Additions, Taxonomy

SUBTREES = 30
SMALLEST, LARGEST = 5, 20
"""How many subtrees are taken out at most, and how many concepts each has."""
MIXED = 10
"""Subtrees, or single leaves, that make one batch."""
STAGES = 2
"""Rounds that are learned for; those after are like the last."""

Relations = NDArray[np.bool_]


def learn_new_parent_prior(
    network: MatchingNetwork, ranker: Ranker, seed: int = 0, stages: int = STAGES
) -> tuple[NewParentPrior, ...]:
    """What a new parent gains in each round; nothing where there is no subtree to learn from.

    What it gains in a round is learned from what the rounds before have made of the same batches,
    since an anchor that has children by then is another anchor.
    """
    taxonomy = ranker.anchors.taxonomy.active
    removal = removed_subtrees(taxonomy, SUBTREES, SMALLEST, LARGEST, seed)
    mixed = together(removal.batches, MIXED, seed)
    count = sum(len(batch.concepts) for batch in removal.batches)
    known = _rehearsed(network, ranker, removal.taxonomy, [*removal.batches, *mixed])
    leaves = removed_subtrees(taxonomy, count, 1, 1, seed)
    loose = together(leaves.batches, MIXED, seed)
    near = together(by_parent(leaves.batches), MIXED, seed)
    known += _rehearsed(network, ranker, leaves.taxonomy, [*loose, *near])
    found: list[NewParentPrior] = []
    parents = [batch.first()[0] for batch, _ in known]
    for _ in range(stages):
        looks = [batch.look(so_far) for (batch, _), so_far in zip(known, parents, strict=True)]
        learned = NewParentPrior.learn(
            [
                Case(look, batch.features, true)
                for look, (batch, true) in zip(looks, known, strict=True)
            ]
        )
        if learned is None:
            break
        found.append(learned)
        parents = [
            batch.choose(look, found)[0] for look, (batch, _) in zip(looks, known, strict=True)
        ]
    return tuple(found)


def _rehearsed(
    network: MatchingNetwork,
    ranker: Ranker,
    remaining: Taxonomy,
    batches: Sequence[Additions],
) -> list[tuple[Batch, Relations]]:
    """Each batch among what remains, beside the relations between its own concepts."""
    whole, vectors = ranker.anchors.taxonomy, ranker.anchors.vectors
    places = torch.tensor([whole.index(id) for id in remaining], device=vectors.device)
    anchors = Anchors(remaining, vectors.select(places), ranker.anchors.siblings)
    among = Ranker(network, anchors, anchors.encode(network))
    known = []
    for true in batches:
        rows = torch.tensor([whole.index(c.id) for c in true.concepts], device=vectors.device)
        own = vectors.select(rows)
        both = torch.stack([own.names, own.heads.index_select(0, own.head_of)])
        heeded = network.mentions is not None
        mentions = mentions_among(remaining, true.concepts) if heeded else None
        new = NewConcepts(true.concepts, both, mentions)
        known.append((Batch(network, among, new), _relations(true)))
    return known


def _relations(batch: Additions) -> Relations:
    """Which concept (row) is below which other (column) of its batch: [Q, Q]."""
    places = {concept.id: place for place, concept in enumerate(batch.concepts)}
    true = np.zeros((len(places), len(places)), dtype=np.bool_)
    for parent, child in batch.relations:
        if parent in places:
            true[places[child], places[parent]] = True
    return true
