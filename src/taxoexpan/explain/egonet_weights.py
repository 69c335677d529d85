"""The weights that the network gives to the parts of an anchor's egonet."""

from __future__ import annotations

import torch

from taxoexpan.explain.evidence import AttentionWeight, EgonetWeights
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.propagation import AttentionLayer
from taxoexpan.placement.scoring.anchors import Anchors, anchor_egonets
from taxoexpan.taxonomy.arrays import Indices


@torch.no_grad()
def egonet_weights(
    network: MatchingNetwork, anchors: Anchors, selected: Indices
) -> list[EgonetWeights]:
    """Return the readout weights and the attention weights of the selected anchors."""
    egonets = anchor_egonets(anchors.taxonomy, selected, anchors.siblings)
    egonets = egonets.to(anchors.vectors.device)
    counts = egonets.counts.to(anchors.vectors.names.dtype)
    weights = counts * network.readout.weights() / network.readout.divisor(counts)
    # A readout by concatenation has one mean per position, so the weights do not sum to 1.
    fractions = (weights / weights.sum(1, keepdim=True)).tolist()
    attention = _attention_weights(network, anchors, selected)
    return [
        EgonetWeights(grandparents, anchor, siblings, attention_weights)
        for (grandparents, anchor, siblings), attention_weights in zip(
            fractions, attention, strict=True
        )
    ]


def _attention_weights(
    network: MatchingNetwork, anchors: Anchors, selected: Indices
) -> list[tuple[AttentionWeight, ...]]:
    """Return each anchor's attention to its parents and itself, averaged over heads, highest first.

    Each tuple is empty for a network without attention.
    """
    if not isinstance(network.output, AttentionLayer):
        return [()] * len(selected)
    taxonomy = anchors.taxonomy
    # Siblings send no messages to the anchor, so the egonets need none.
    egonets = anchor_egonets(taxonomy, selected, 0).to(anchors.vectors.device)
    was_training = network.training
    network.eval()
    names = anchors.vectors.names.index_select(0, egonets.concepts)
    messages = network.message_weights(names, egonets)
    network.train(was_training)
    to_parents = messages.parent_to_anchor.mean(1).tolist()
    to_self = messages.anchor_to_self.mean(1).tolist()
    rows, parents = taxonomy.parents_of.of_many(selected)
    weights = [[(index, weight)] for index, weight in zip(selected.tolist(), to_self, strict=True)]
    for row, parent, weight in zip(rows.tolist(), parents.tolist(), to_parents, strict=True):
        weights[row].append((parent, weight))
    return [
        tuple(
            AttentionWeight(taxonomy.concept_at(index), weight)
            for index, weight in sorted(pairs, key=lambda pair: -pair[1])
        )
        for pairs in weights
    ]
