"""The paper's model with every egonet encoded separately, to compare the fast implementation with.

As in the authors' code, each of a batch's B * (1 + N) pairs has its own egonet, even if an anchor
repeats. All egonets form one graph of flat lists: n nodes, and E edges from parents to anchors,
from anchors to children, and from each node to itself. Every layer projects every node and takes a
softmax over the edges of every node. Weights and results are those of `MatchingNetwork`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.config import Config
from taxoexpan.errors import ConfigurationError
from taxoexpan.network.egonets import Position, draw_siblings
from taxoexpan.network.matching import LogBilinearMatch
from taxoexpan.network.matching_network import MatchingNetwork, info_nce
from taxoexpan.network.pooling import WeightedMeanReadout
from taxoexpan.network.propagation import AttentionLayer
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices


@dataclass(frozen=True)
class PlainBatch:
    """B instances as one graph; egonet b * (1 + N) is query b's positive, the next N its negatives.

    `nodes` [n] are concepts, `positions` [n] their positions, and `egonet_of` [n] their egonets.
    `sources` and `targets` [E] are the ends of the edges; `queries` [B] are concepts. `blocked`
    [B, N] marks invalid negatives: a parent or descendant of the query, or the query itself.
    """

    queries: Tensor
    nodes: Tensor
    positions: Tensor
    egonet_of: Tensor
    sources: Tensor
    targets: Tensor
    blocked: Tensor

    @property
    def egonets(self) -> int:
        """The number of egonets B * (1 + N)."""
        return self.blocked.numel() + len(self.queries)

    def to(self, device: torch.device) -> PlainBatch:
        """Return the batch on another device."""
        return PlainBatch(*(getattr(self, f.name).to(device) for f in fields(self)))


def plain_batch(
    taxonomy: Taxonomy,
    queries: Indices,
    parents: Indices,
    negatives: Indices,
    siblings_cap: int,
    generator: np.random.Generator,
    childless: float = 0.0,
) -> PlainBatch:
    """Build the egonets of B queries' parents [B] and negatives [B, N], each separately."""
    pairs = np.concatenate([parents[:, None], negatives], axis=1)
    anchors = pairs.ravel()
    grandparent_of, grandparents = taxonomy.parents_of.of_many(anchors)
    drawn = draw_siblings(taxonomy, anchors, siblings_cap, childless, generator)
    siblings, sibling_of = taxonomy.children_of.targets[drawn.relations], drawn.sibling_of
    kept = ~_is_own_query(queries, siblings, sibling_of, pairs.shape[1])
    siblings, sibling_of = siblings[kept], sibling_of[kept]
    sources, targets = _edges(grandparent_of, len(anchors), sibling_of)
    sizes = [len(grandparents), len(anchors), len(siblings)]
    return PlainBatch(
        queries=torch.from_numpy(queries),
        nodes=torch.from_numpy(np.concatenate([grandparents, anchors, siblings])),
        positions=torch.from_numpy(np.repeat(np.arange(len(Position)), sizes)),
        egonet_of=torch.from_numpy(
            np.concatenate([grandparent_of, np.arange(len(anchors)), sibling_of])
        ),
        sources=torch.from_numpy(sources),
        targets=torch.from_numpy(targets),
        blocked=torch.from_numpy(_blocked(taxonomy, queries, negatives)),
    )


def _is_own_query(
    queries: Indices, siblings: Indices, sibling_of: Indices, egonets_each: int
) -> NDArray[np.bool_]:
    """Return which siblings [S] are the query itself in the egonet of its positive pair."""
    row, place = np.divmod(sibling_of, egonets_each)
    own: NDArray[np.bool_] = (place == 0) & (siblings == queries[row])
    return own


def _edges(grandparent_of: Indices, anchors: int, sibling_of: Indices) -> tuple[Indices, Indices]:
    """Return the ends of all edges [E]; nodes are grandparents, anchors, then siblings."""
    first_anchor = len(grandparent_of)
    first_sibling = first_anchor + anchors
    above, below = np.arange(first_anchor), first_sibling + np.arange(len(sibling_of))
    loops = np.arange(first_sibling + len(sibling_of))
    return (
        np.concatenate([above, first_anchor + sibling_of, loops]),
        np.concatenate([first_anchor + grandparent_of, below, loops]),
    )


def _blocked(taxonomy: Taxonomy, queries: Indices, negatives: Indices) -> NDArray[np.bool_]:
    """Return which negatives [B, N] are the query's parent, its descendant, or itself."""
    rows = np.arange(len(queries))
    pairs = [
        (rows, queries),
        taxonomy.parents_of.of_many(queries),
        taxonomy.descendant_intervals.pairs(queries),
    ]
    # A pair (row, concept) is one number, so that all pairs are looked up at once.
    size = len(taxonomy)
    refused = np.concatenate([row * size + concept for row, concept in pairs])
    return np.isin(rows[:, None] * size + negatives, refused)


class PlainNetwork:
    """PGAT, weighted-mean readout, bilinear match and InfoNCE, with the weights of a network."""

    def __init__(self, network: MatchingNetwork) -> None:
        layers = [_attention(layer) for layer in (*network.hidden, network.output)]
        self.network, self.hidden, self.output = network, layers[:-1], layers[-1]
        if not isinstance(network.readout, WeightedMeanReadout):
            raise _unsupported("readout", "weighted")
        # By its exact class: the match with two exps is a subclass.
        if type(network.match) is not LogBilinearMatch:
            raise _unsupported("matching", "bilinear")
        if network.criterion is not info_nce:
            raise _unsupported("loss", "infonce")
        self.readout, self.match = network.readout, network.match

    def loss(self, vectors: Tensor, batch: PlainBatch) -> Tensor:
        """Return InfoNCE (Eq. 11) of a batch, given the vectors of all concepts [2, C, D1]."""
        names = vectors[0]
        queries = self._drop(names.index_select(0, batch.queries), self.network.query_dropout)
        scores = self._scores(self.embed(names, batch), queries)
        own = scores.new_zeros(len(scores), 1, dtype=torch.bool)
        scores = scores.masked_fill(torch.cat([own, batch.blocked], dim=1), -torch.inf)
        return F.cross_entropy(scores, batch.queries.new_zeros(len(scores)))

    def embed(self, names: Tensor, batch: PlainBatch) -> Tensor:
        """Return the embedding of every egonet (all layers, Eq. 7): [C, D1] → [B * (1 + N), D2]."""
        features = names.index_select(0, batch.nodes)
        for layer in self.hidden:
            heads = propagate(layer, self._drop(features, self.network.dropout), batch)
            features = F.leaky_relu(heads.flatten(1), 0.01)
        heads = propagate(self.output, self._drop(features, self.network.dropout), batch)
        return self._read_out(heads.mean(1), batch)

    def _read_out(self, features: Tensor, batch: PlainBatch) -> Tensor:
        """Return the mean weighted by log(1 + exp(α_p)) (Eq. 7): [n, D2] → [B * (1 + N), D2]."""
        weights = F.softplus(self.readout.importance).index_select(0, batch.positions)[:, None]
        total = scatter_sum(weights * features, batch.egonet_of, batch.egonets)
        return total / scatter_sum(weights, batch.egonet_of, batch.egonets)

    def _scores(self, anchors: Tensor, queries: Tensor) -> Tensor:
        """Return aᵀ W n (Eq. 10 without exp): [B * (1 + N), D2], [B, D1] → [B, 1 + N]."""
        by_query = (anchors @ self.match.weight).unflatten(0, (len(queries), -1))
        return torch.bmm(by_query, queries[:, :, None]).squeeze(2)

    def _drop(self, features: Tensor, rate: float) -> Tensor:
        return F.dropout(features, rate, self.network.training)


def propagate(layer: AttentionLayer, features: Tensor, batch: PlainBatch) -> Tensor:
    """Apply Eqs. 2, 4 and 5 without ρ, [W ‖ O] on every node's h ‖ p: [n, K] → [n, M, size]."""
    assert layer.position is not None
    assert layer.position_weight is not None
    matrix = torch.cat([layer.weight, layer.position_weight], dim=1)
    positions = layer.position.index_select(0, batch.positions)
    projected = F.linear(torch.cat([features, positions], dim=1), matrix)
    heads = projected.unflatten(1, (layer.heads, layer.size))
    alpha = attention(layer, heads, batch)
    messages = alpha[:, :, None] * heads.index_select(0, batch.sources)
    return scatter_sum(messages, batch.targets, len(heads))


def attention(layer: AttentionLayer, heads: Tensor, batch: PlainBatch) -> Tensor:
    """Return Eq. 4, z·[W h_u ‖ W h_v] with a softmax over incoming edges: [n, M, size] → [E, M]."""
    towards = torch.einsum("nms,ms->nm", heads, layer.towards)
    source = torch.einsum("nms,ms->nm", heads, layer.source)
    logits = towards.index_select(0, batch.targets) + source.index_select(0, batch.sources)
    return edge_softmax(F.leaky_relu(logits, 0.2), batch.targets, len(heads))


def edge_softmax(logits: Tensor, targets: Tensor, nodes: int) -> Tensor:
    """Return the softmax over each node's incoming edges, for each head: [E, M] → [E, M]."""
    wide = targets[:, None].expand_as(logits)
    # The maximum only keeps the exp in range. It cancels, so it needs no gradient.
    highest = logits.new_full((nodes, logits.shape[1]), -torch.inf)
    highest = highest.scatter_reduce(0, wide, logits.detach(), "amax")
    raised = (logits - highest.index_select(0, targets)).exp()
    return raised / scatter_sum(raised, targets, nodes).index_select(0, targets)


def scatter_sum(rows: Tensor, targets: Tensor, size: int) -> Tensor:
    """Sum the rows with the same target: [E, ...], [E] → [size, ...]."""
    return rows.new_zeros(size, *rows.shape[1:]).index_add(0, targets, rows)


def plain_step_maker(
    taxonomy: Taxonomy, config: Config, vectors: Tensor, seed: int = 0
) -> Callable[[], Tensor]:
    """Return a function that does one training step (batch, gradient, Adam) and returns the loss.

    `vectors` [2, C, D1] are those of all concepts.
    """
    c = config
    if c.negative_sampling != "sampled":
        raise _unsupported("negative_sampling", "sampled")
    network = MatchingNetwork(c, vectors.shape[2])
    network.reset(torch.Generator().manual_seed(seed))
    network.to(vectors.device).train()
    plain = PlainNetwork(network)
    optimizer = torch.optim.Adam(network.parameters(), c.learning_rate, amsgrad=True)
    generator = np.random.default_rng(seed)
    parents, children = taxonomy.relation_indices
    size = min(c.batch_size, len(parents))

    def step() -> Tensor:
        chosen = generator.choice(len(parents), size, replace=False)
        negatives = generator.integers(0, len(taxonomy), (size, c.num_negatives))
        batch = plain_batch(
            taxonomy,
            children[chosen],
            parents[chosen],
            negatives,
            c.max_siblings,
            generator,
            c.hide_children_rate,
        )
        loss = plain.loss(vectors, batch.to(vectors.device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def _attention(layer: torch.nn.Module) -> AttentionLayer:
    """Return the layer if it is one of PGAT."""
    if not isinstance(layer, AttentionLayer) or layer.position is None:
        raise _unsupported("propagation", "pgat")
    return layer


def _unsupported(setting: str, wanted: str) -> ConfigurationError:
    return ConfigurationError(f"the separate encoding only supports {setting} = {wanted}")
