"""What the network makes of an anchor's egonet: whom it listens to, and how much."""

from __future__ import annotations

import torch

from taxoexpan.explain.evidence import Heard, Weighing
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.propagation import AttentionLayer
from taxoexpan.placement.ranking import Anchors, anchor_egonets
from taxoexpan.taxonomy.arrays import Indices


@torch.no_grad()
def weigh(network: MatchingNetwork, anchors: Anchors, wanted: Indices) -> list[Weighing]:
    """The shares of the positions in the readout, and the attention, of each wanted anchor."""
    egonets = anchor_egonets(anchors.taxonomy, wanted, anchors.siblings)
    egonets = egonets.to(anchors.vectors.device)
    counts = egonets.counts.to(anchors.vectors.names.dtype)
    weights = counts * network.readout.weights() / network.readout.divisor(counts)
    # A readout in blocks has a mean for each position; side by side all that are there count.
    shares = (weights / weights.sum(1, keepdim=True)).tolist()
    attention = _attention(network, anchors, wanted)
    return [
        Weighing(above, own, below, heard)
        for (above, own, below), heard in zip(shares, attention, strict=True)
    ]


def _attention(
    network: MatchingNetwork, anchors: Anchors, wanted: Indices
) -> list[tuple[Heard, ...]]:
    """What each anchor pays to its parents and to itself, the most first; the mean over heads."""
    if not isinstance(network.output, AttentionLayer):
        return [()] * len(wanted)
    # No anchor hears a child.
    taxonomy = anchors.taxonomy
    egonets = anchor_egonets(taxonomy, wanted, 0).to(anchors.vectors.device)
    was_training = network.training
    network.eval()
    messages = network.heard(anchors.vectors.names.index_select(0, egonets.concepts), egonets)
    network.train(was_training)
    above, own = messages.above.mean(1).tolist(), messages.own.mean(1).tolist()
    of, parents = taxonomy.parents_of.of_many(wanted)
    heard = [[(index, α)] for index, α in zip(wanted.tolist(), own, strict=True)]
    for place, parent, α in zip(of.tolist(), parents.tolist(), above, strict=True):
        heard[place].append((parent, α))
    return [
        tuple(
            Heard(taxonomy.concept_at(index), α)
            for index, α in sorted(some, key=lambda pair: -pair[1])
        )
        for some in heard
    ]
