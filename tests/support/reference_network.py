"""A slow reference of the network: the equations of the paper, one node at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.network.egonets import Egonets
from taxoexpan.network.matching import LogBilinearMatch, MLPMatch, ReluMLPMatch
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.pooling import (
    ConcatenationReadout,
    EgonetConcatenationReadout,
    WeightedMeanReadout,
)
from taxoexpan.network.propagation import AttentionLayer, Layer
from taxoexpan.taxonomy import Taxonomy

Node = tuple[int, int]
Egonet = tuple[list[Node], list[tuple[int, int]]]


@contextmanager
def double_precision() -> Iterator[None]:
    """Compute in float64, so that different orders of summation agree."""
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


def embed(network: MatchingNetwork, names: Tensor, egonets: Egonets) -> Tensor:
    """Return the embedding a of every anchor (Eq. 6), by the network itself: [C, D1] → [A, D2]."""
    means, _ = network._pool(names, egonets)
    by_block = means.view(len(means), network.readout.blocks, -1)
    return (by_block @ network.output.matrix().T).flatten(1)


def egonet_of(taxonomy: Taxonomy, anchor: int) -> Egonet:
    """Return nodes (concept, position) and edges (source, target) with self-loops."""
    parents = [(int(p), 0) for p in taxonomy.parents_of.of(anchor)]
    children = [(int(c), 2) for c in taxonomy.children_of.of(anchor)]
    return star_of(parents, anchor, children)


def star_of(parents: list[Node], anchor: int, children: list[Node]) -> Egonet:
    """Return the graph around an anchor; messages go from parent to child."""
    nodes = [*parents, (anchor, 1), *children]
    centre = len(parents)
    edges = [(i, centre) for i in range(centre)]
    edges += [(centre, i) for i in range(centre + 1, len(nodes))]
    return nodes, edges + [(i, i) for i in range(len(nodes))]


def egonet_in(egonets: Egonets, slot: int, without: int | None = None) -> Egonet:
    """Return one egonet of a batch, with the siblings that were drawn."""
    above, middle, below = egonets.concepts[egonets.nodes].split(egonets.sizes)
    parents = [(int(p), 0) for p in above[egonets.grandparent[egonets.grandparent_of == slot]]]
    children = [(int(c), 2) for c in below[egonets.sibling_of == slot] if int(c) != without]
    return star_of(parents, int(middle[slot]), children)


def aggregate(layer: Layer, h: list[Tensor], egonet: Egonet) -> list[list[Tensor]]:
    """Return Eqs. 3 to 5 without ρ, with [W ‖ O] on h ‖ p: one output per node and head."""
    nodes, edges = egonet
    heard = [[source for source, target in edges if target == u] for u in range(len(nodes))]
    out: list[list[Tensor]] = [[] for _ in nodes]
    for m in range(layer.heads):
        rows = slice(m * layer.size, (m + 1) * layer.size)
        matrix = layer.weight[rows]
        inputs = h
        if layer.position is not None and layer.position_weight is not None:
            matrix = torch.cat([matrix, layer.position_weight[rows]], dim=1)
            inputs = [torch.cat([x, layer.position[p]]) for x, (_, p) in zip(h, nodes, strict=True)]
        z = [matrix @ x for x in inputs]
        for u in range(len(nodes)):
            alpha = coefficients(layer, m, z, u, heard)
            new = sum((a * z[v] for a, v in zip(alpha, heard[u], strict=True)), 0 * z[u])
            out[u].append(new if layer.bias is None else new + layer.bias[rows])
    return out


def coefficients(
    layer: Layer, m: int, z: list[Tensor], u: int, heard: list[list[int]]
) -> list[Tensor]:
    """Return α of the messages to u: by attention, or by the in-degrees of both ends."""
    if not isinstance(layer, AttentionLayer):
        return [torch.tensor((len(heard[u]) * len(heard[v])) ** -0.5) for v in heard[u]]
    vector = torch.cat([layer.towards[m], layer.source[m]])
    logits = [F.leaky_relu(vector @ torch.cat([z[u], z[v]]), 0.2) for v in heard[u]]
    return list(torch.softmax(torch.stack(logits), 0))


def anchor_embedding(network: MatchingNetwork, names: Tensor, egonet: Egonet) -> Tensor:
    """Apply all layers, then Eq. 6, 7 or 8."""
    nodes, _ = egonet
    h = [names[concept] for concept, _ in nodes]
    for layer in network.hidden:
        assert isinstance(layer, Layer)
        h = [F.leaky_relu(torch.cat(heads), 0.01) for heads in aggregate(layer, h, egonet)]
    h = [torch.stack(heads).mean(0) for heads in aggregate(network.output, h, egonet)]
    return read_out(network, h, [position for _, position in nodes])


def read_out(network: MatchingNetwork, h: list[Tensor], positions: list[int]) -> Tensor:
    readout = network.readout
    if isinstance(readout, WeightedMeanReadout):
        weights = torch.log1p(readout.importance.exp())
        picked = torch.stack([weights[position] for position in positions])
        return (picked[:, None] * torch.stack(h)).sum(0) / picked.sum()
    if not isinstance(readout, ConcatenationReadout | EgonetConcatenationReadout):
        return torch.stack(h).mean(0)
    blocks = []
    for position in range(3):
        there = [x for x, p in zip(h, positions, strict=True) if p == position]
        total = sum(there, torch.zeros_like(h[0]))
        by_egonet = isinstance(readout, EgonetConcatenationReadout) and position != 1
        blocks.append(total / (len(h) if by_egonet else max(1, len(there))))
    return torch.cat(blocks)


def raw_match(network: MatchingNetwork, anchor: Tensor, query: Tensor) -> Tensor:
    """Return Eqs. 9 and 10 without their last function."""
    match = network.match
    if isinstance(match, LogBilinearMatch):
        return anchor @ match.weight @ query
    assert isinstance(match, MLPMatch)
    first = torch.cat([match.anchor_weight, match.query_weight], dim=1)
    hidden = first @ torch.cat([anchor, query]) + match.hidden_bias
    plain = isinstance(match, ReluMLPMatch)
    hidden = hidden.relu() if plain else F.leaky_relu(hidden, 0.01)
    return match.output[0] @ hidden + match.bias


def score(
    network: MatchingNetwork,
    vectors: Tensor,
    egonet: Egonet,
    query: Tensor,
) -> Tensor:
    """Return the raw match; query [2, D]."""
    return raw_match(network, anchor_embedding(network, vectors[0], egonet), query[0])


def instance_loss(network: MatchingNetwork, raw: list[Tensor], loss: str) -> tuple[Tensor, int]:
    """Return the loss of one instance, with the positive pair first, and its number of pairs."""
    if loss == "bce":
        right = -F.logsigmoid(raw[0])
        return right - sum((F.logsigmoid(-x) for x in raw[1:]), torch.zeros(())), len(raw)
    log_f = torch.stack([network.match.log_match(x) for x in raw])
    return -torch.log_softmax(log_f, 0)[0], 1
