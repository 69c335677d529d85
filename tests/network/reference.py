"""The network again, one node at a time, straight from the paper's equations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.egonets import Egonets
from taxoexpan.network.network import MatchingNetwork
from taxoexpan.network.propagation import PositionEnhancedAttention
from taxoexpan.taxonomy import Taxonomy

Node = tuple[int, int]
Egonet = tuple[list[Node], list[tuple[int, int]]]


@contextmanager
def double_precision() -> Iterator[None]:
    """Everything in float64, so that two ways of summing agree."""
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


def egonet_of(taxonomy: Taxonomy, anchor: int) -> Egonet:
    """Nodes as (concept, position), edges as (source, target) with a self-loop on each node."""
    parents = [(int(p), 0) for p in taxonomy.parents_of.of(anchor)]
    children = [(int(c), 2) for c in taxonomy.children_of.of(anchor)]
    return star_of(parents, anchor, children)


def star_of(parents: list[Node], anchor: int, children: list[Node]) -> Egonet:
    """The graph around an anchor: messages run downwards."""
    nodes = [*parents, (anchor, 1), *children]
    centre = len(parents)
    edges = [(i, centre) for i in range(centre)]
    edges += [(centre, i) for i in range(centre + 1, len(nodes))]
    return nodes, edges + [(i, i) for i in range(len(nodes))]


def egonet_in(egonets: Egonets, slot: int, without: int | None = None) -> Egonet:
    """The egonet in one slot of a batch, as it was drawn."""
    above, middle, below = egonets.concepts[egonets.nodes].split(egonets.sizes)
    parents = [(int(p), 0) for p in above[egonets.grandparent_of == slot]]
    children = [(int(c), 2) for c in below[egonets.sibling_of == slot] if int(c) != without]
    return star_of(parents, int(middle[slot]), children)


def attention_layer(
    layer: PositionEnhancedAttention, h: list[Tensor], egonet: Egonet
) -> list[Tensor]:
    """Eqs. 3 to 5 with [W ‖ O] on h ‖ p, head by head, without ρ."""
    nodes, edges = egonet
    size = layer.size
    out: list[list[Tensor]] = [[] for _ in nodes]
    for m in range(layer.heads):
        rows = slice(m * size, (m + 1) * size)
        matrix = torch.cat([layer.weight[rows], layer.position_weight[rows]], dim=1)
        z = [
            matrix @ torch.cat([feature, layer.position[position]])
            for feature, (_, position) in zip(h, nodes, strict=True)
        ]
        vector = torch.cat([layer.towards[m], layer.source[m]])
        for u in range(len(nodes)):
            heard = [source for source, target in edges if target == u]
            logits = [F.leaky_relu(vector @ torch.cat([z[u], z[v]]), 0.2) for v in heard]
            alpha = torch.softmax(torch.stack(logits), 0)
            out[u].append(
                sum((a * z[v] for a, v in zip(alpha, heard, strict=True)), torch.zeros(size))
            )
    return [torch.cat(heads) for heads in out]


def anchor_embedding(network: MatchingNetwork, names: Tensor, egonet: Egonet) -> Tensor:
    """Both layers, then Eq. 7."""
    nodes, _ = egonet
    h = [names[concept] for concept, _ in nodes]
    h = [F.leaky_relu(x, 0.01) for x in attention_layer(network.hidden, h, egonet)]
    h = attention_layer(network.output, h, egonet)
    weights = torch.log1p(network.readout.importance.exp())
    picked = torch.stack([weights[position] for _, position in nodes])
    return (picked[:, None] * torch.stack(h)).sum(0) / picked.sum()


def score(
    network: MatchingNetwork,
    vectors: Tensor,
    egonet: Egonet,
    query: Tensor,
) -> Tensor:
    """Log of Eq. 10, plus the fusion head; query [2, D]."""
    anchor = next(concept for concept, position in egonet[0] if position == 1)
    a = anchor_embedding(network, vectors[0], egonet)
    value = a @ network.match.weight @ query[0]
    if network.fusion is not None:
        children = [concept for concept, position in egonet[0] if position == 2]
        seen = []
        for pick in ("anchor", "nearest", "mean"):
            for view in range(2):
                near = torch.stack(
                    [vectors[view, c] @ query[view] for c in children] or [torch.zeros(())]
                )
                by = {
                    "anchor": vectors[view, anchor] @ query[view],
                    "nearest": near.max(),
                    "mean": near.mean(),
                }
                seen.append(by[pick])
        seen.append(torch.tensor(float(len(children))).log1p())
        head = network.fusion
        hidden = (head.hidden @ torch.stack(seen) + head.bias[:, 0]).relu()
        value = value + (head.output @ hidden)[0]
    return value
