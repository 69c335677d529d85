"""Graph propagation (Section 4.2.2): GCN and GAT layers over egonets, with or without positions.

An egonet is a star whose messages go from parent to child, so only the anchor receives more than
two. Every layer has a matrix W for its M heads; layers with positions also have a matrix O for the
position embeddings p: [W ‖ O][h ‖ p] = W h + O p.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.network.batch import drop
from taxoexpan.network.egonets import Egonets, LeftOutSiblings, Position
from taxoexpan.network.messages import MessageWeights, attention_weights, pass_messages
from taxoexpan.network.pooling import Readout, pool


class Layer(nn.Module, ABC):
    """A graph layer with M `heads`, and position embeddings of size P (0 for none)."""

    def __init__(
        self, inputs: int, size: int, heads: int, position: int, bias: bool = False
    ) -> None:
        super().__init__()
        self.inputs = inputs
        self.size = size
        self.heads = heads
        self.message_dropout = 0.0
        self.position_norm = 1.0
        self.weight = nn.Parameter(torch.empty(heads * size, inputs))
        self.register_parameter("position", None)
        self.register_parameter("position_weight", None)
        self.register_parameter("bias", None)
        if position:
            self.position = nn.Parameter(torch.empty(len(Position), position))
            self.position_weight = nn.Parameter(torch.empty(heads * size, position))
        if bias:
            self.bias = nn.Parameter(torch.empty(heads * size))

    def reset(self, generator: torch.Generator) -> None:
        """Initialize the weights (Glorot)."""
        for weight in (self.weight, self.position_weight):
            if weight is not None:
                nn.init.xavier_normal_(weight, gain=2**0.5, generator=generator)
        if self.position is not None:
            deviation = self.position_norm / self.position.shape[1] ** 0.5
            nn.init.normal_(self.position, std=deviation, generator=generator)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    @abstractmethod
    def message_weights(
        self, features: Tensor, rows: Tensor | None, egonets: Egonets
    ) -> MessageWeights:
        """Return α of every message; node u is in row `rows[u]` of `features`, or in row u."""

    def forward(self, features: Tensor, rows: Tensor | None, egonets: Egonets) -> Tensor:
        """Compute Eq. 5 without ρ: [.., inputs] → [nodes, M * size]."""
        weights = self.message_weights(features, rows, egonets)
        position = None
        if self.position is not None and self.position_weight is not None:
            position = F.linear(self.position, self.position_weight)
        projected = F.linear(features, self.weight)
        out = pass_messages(projected, position, weights, rows, egonets)
        return out if self.bias is None else out + self.bias

    def pool(
        self,
        features: Tensor,
        egonets: Egonets,
        readout: Readout,
        left_out: LeftOutSiblings | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Apply this layer as the last one, and the readout, except for `matrix`.

        [nodes, inputs] → [A, R * K'], with R blocks of the readout and K' = M * (inputs + P), plus
        1 with a bias. The second result [B, R * K'] is of the egonets without one sibling.
        """
        weights = self.message_weights(features, None, egonets)
        means, reduced = pool(features, self.position, weights, egonets, readout, left_out)
        if self.bias is not None:
            counts = egonets.counts.to(features.dtype)
            means = _with_ones(means, readout, counts)
            if left_out is not None:
                reduced = _with_ones(reduced, readout, left_out.counts(counts))
        return means.flatten(1), reduced.flatten(1)

    def matrix(self) -> Tensor:
        """Return the matrix [size, K'] from a pooled mean to an embedding: [W ‖ O] and the bias."""
        whole: Tensor = self.weight
        if self.position_weight is not None:
            whole = torch.cat([whole, self.position_weight], dim=1)
        by_head = whole.view(self.heads, self.size, whole.shape[1])
        matrix = by_head.transpose(0, 1).flatten(1) / self.heads
        if self.bias is not None:
            bias = self.bias.view(self.heads, self.size).mean(0)
            matrix = torch.cat([matrix, bias[:, None]], dim=1)
        return matrix


def _with_ones(means: Tensor, readout: Readout, counts: Tensor) -> Tensor:
    """Append a bias column, weighted like the nodes, to every block: [A, R, k] → [A, R, k + 1]."""
    ones = readout.sums(counts) / readout.divisor(counts)
    return torch.cat([means, ones[..., None]], dim=2)


class ConvolutionLayer(Layer):
    r"""A GCN or PGCN layer (Eq. 3) with a bias; N(u) are u and the nodes that send messages to u.

    .. math:: \alpha_{uv} = 1 / \sqrt{|N(u)| |N(v)|}
    """

    def __init__(self, inputs: int, size: int, heads: int, position: int) -> None:
        super().__init__(inputs, size, heads, position, bias=True)

    def message_weights(
        self, features: Tensor, rows: Tensor | None, egonets: Egonets
    ) -> MessageWeights:
        """Return α (Eq. 3), where |N(u)| is 1 for a grandparent and 2 for a sibling."""
        del rows  # the weights do not depend on the features
        degree = egonets.counts[:, Position.GRANDPARENT].to(features.dtype) + 1
        degree = degree[:, None].expand(-1, self.heads)
        return MessageWeights(
            parent_to_anchor=degree.rsqrt().index_select(0, egonets.grandparent_of),
            anchor_to_self=1 / degree,
            anchor_to_sibling=(2 * degree).rsqrt().index_select(0, egonets.sibling_of),
            sibling_to_self=features.new_full((len(egonets.sibling_of), self.heads), 0.5),
        )


class AttentionLayer(Layer):
    r"""A GAT or PGAT layer (Eqs. 4 and 5), with z in two halves, for the target u and the source v.

    .. math:: \alpha_{uv} = \mathrm{softmax}_v(\mathrm{LeakyReLU}(z^T [W h_u \| W h_v]))
    """

    def __init__(self, inputs: int, size: int, heads: int, position: int) -> None:
        super().__init__(inputs, size, heads, position)
        self.towards = nn.Parameter(torch.empty(heads, size))
        self.source = nn.Parameter(torch.empty(heads, size))

    def reset(self, generator: torch.Generator) -> None:
        """Initialize the weights (Glorot)."""
        super().reset(generator)
        for half in (self.towards, self.source):
            nn.init.xavier_normal_(half, gain=2**0.5, generator=generator)

    def message_weights(
        self, features: Tensor, rows: Tensor | None, egonets: Egonets
    ) -> MessageWeights:
        """Return α (Eq. 4)."""
        # z·(W h) = (Wᵀz)·h, so α does not need W h.
        halves = torch.stack([self.towards, self.source])
        dots = features @ self._through(halves, self.weight).T
        if rows is not None:
            dots = dots.index_select(0, rows)
        if self.position is not None and self.position_weight is not None:
            shifts = self.position @ self._through(halves, self.position_weight).T
            parts = zip(dots.split(egonets.sizes), shifts, strict=True)
            dots = torch.cat([part + shift for part, shift in parts])
        weights = attention_weights(dots, egonets)
        if not self.training or not self.message_dropout:
            return weights
        return MessageWeights(*(drop(each, self.message_dropout) for each in weights))

    def _through(self, halves: Tensor, weight: Tensor) -> Tensor:
        """Return zᵀW of both halves and all heads: [2 * M, inputs]."""
        by_head = weight.unflatten(0, (self.heads, self.size))
        return torch.einsum("kms,msi->kmi", halves, by_head).flatten(0, 1)


PROPAGATIONS: dict[str, tuple[type[Layer], bool]] = {
    "gcn": (ConvolutionLayer, False),
    "gat": (AttentionLayer, False),
    "pgcn": (ConvolutionLayer, True),
    "pgat": (AttentionLayer, True),
}
"""The layer of each propagation, and whether it has position embeddings."""
