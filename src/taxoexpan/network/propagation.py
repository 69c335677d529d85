"""Graph propagation (Section 4.2.2): GCN and GAT over egonets, with positions or without.

An egonet is a star whose messages run downwards. So a grandparent hears itself; a sibling hears
itself and the anchor; only the anchor hears many, its parents and itself. What a layer computes is
exactly Eqs. 2 to 5: every layer has a W for its M heads, the position-enhanced ones an O for the
position embeddings p as well, and [W ‖ O][h ‖ p] = W h + O p.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.egonets import Egonets, Position
from taxoexpan.network.readout import Readout


@dataclass(frozen=True)
class Messages:
    """α of every message in a batch of egonets, for each of M heads.

    above [G, M]: from a parent to its anchor; own [A, M]: from an anchor to itself; told [S, M]:
    from an anchor to a sibling; kept [S, M]: from a sibling to itself. A grandparent hears itself
    alone, with α = 1.
    """

    above: Tensor
    own: Tensor
    told: Tensor
    kept: Tensor


@dataclass(frozen=True)
class EgonetSums:
    """What a readout sums in each egonet, before the last layer's matrix is applied.

    total [A, R, K'] has R blocks, one for a mean and three for a concatenation; counts [A, 3] the
    nodes at each position. What one sibling brought (`features` [nodes, K], `messages`) is kept, so
    that it can be taken out again.
    """

    total: Tensor
    counts: Tensor
    features: Tensor
    messages: Messages
    readout: Readout
    layer: Layer

    def mean(self) -> Tensor:
        """The readout's mean over each egonet, its blocks side by side: [A, R * K']."""
        return (self.total / self.readout.divisor(self.counts)[:, :, None]).flatten(1)

    def mean_without(self, egonets: Egonets, picked: Tensor, own: Tensor) -> Tensor:
        """The mean [B, R * K'] of egonet `picked[b]` without its sibling row `own[b]` (-1: none).

        Nothing in an egonet hears a sibling but itself, so leaving one out is a subtraction.
        """
        total, counts = self.total.index_select(0, picked), self.counts.index_select(0, picked)
        if len(egonets.sibling_of):
            there = (own >= 0).to(total.dtype)[:, None]
            brought = self._brought(egonets, picked, own.clamp(min=0))
            last = total[:, -1] - there * brought
            total = torch.cat([total[:, :-1], last[:, None]], dim=1)
            counts = counts - there * F.one_hot(own.new_tensor(Position.SIBLING), len(Position))
        return (total / self.readout.divisor(counts)[:, :, None]).flatten(1)

    def _brought(self, egonets: Egonets, picked: Tensor, row: Tensor) -> Tensor:
        """What sibling `row[b]` of egonet `picked[b]` adds to the last block: [B, K']."""
        first_anchor, first_sibling = egonets.sizes[0], egonets.sizes[0] + egonets.sizes[1]
        sibling = self.features.index_select(0, first_sibling + row)
        anchor = self.features.index_select(0, first_anchor + picked)
        told = self.messages.told.index_select(0, row)[..., None]
        kept = self.messages.kept.index_select(0, row)[..., None]
        parts = [kept * sibling[:, None] + told * anchor[:, None]]
        if self.layer.position is not None:
            at = self.layer.position
            parts.append(kept * at[Position.SIBLING] + told * at[Position.ANCHOR])
        brought = torch.cat(parts, dim=2).flatten(1)
        if self.layer.bias is not None:
            brought = torch.cat([brought, torch.ones_like(brought[:, :1])], dim=1)
        return self.readout.weights()[Position.SIBLING] * brought


class Layer(nn.Module, ABC):
    """The weights of one layer: W of M heads, and where positions count, O and p."""

    def __init__(
        self, inputs: int, size: int, heads: int, position: int, bias: bool = False
    ) -> None:
        super().__init__()
        self.inputs, self.size, self.heads = inputs, size, heads
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
        """Draw the weights (Glorot)."""
        for weight in (self.weight, self.position_weight):
            if weight is not None:
                nn.init.xavier_normal_(weight, gain=2**0.5, generator=generator)
        if self.position is not None:
            nn.init.normal_(self.position, generator=generator)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    @abstractmethod
    def messages(self, features: Tensor, rows: Tensor | None, egonets: Egonets) -> Messages:
        """α of every message; `features` [n, inputs], node u's in row `rows[u]`, or in row u."""

    def forward(self, features: Tensor, rows: Tensor | None, egonets: Egonets) -> Tensor:
        """Eq. 5 without its ρ: [n, inputs] → [nodes, M * size].

        The first layer is given the distinct concepts, so that W h is computed once for each.
        """
        messages = self.messages(features, rows, egonets)
        projected = F.linear(features, self.weight)
        if rows is not None:
            projected = projected.index_select(0, rows)
        parts = projected.split(egonets.sizes)
        if self.position is not None and self.position_weight is not None:
            at = F.linear(self.position, self.position_weight)
            parts = tuple(part + p for part, p in zip(parts, at, strict=True))
        above, anchor, below = (part.unflatten(1, (self.heads, self.size)) for part in parts)
        heard = messages.own[..., None] * anchor
        heard = heard.index_add(0, egonets.grandparent_of, messages.above[..., None] * above)
        told = messages.told[..., None] * anchor.index_select(0, egonets.sibling_of)
        below = torch.addcmul(told, messages.kept[..., None], below)
        out = torch.cat([above, heard, below]).flatten(1)
        return out if self.bias is None else out + self.bias

    def collect(self, features: Tensor, egonets: Egonets, readout: Readout) -> EgonetSums:
        """The last layer and the readout but for their matrix: [nodes, inputs] → [A, R, K'].

        Once α is known both are linear, so the sum over an egonet comes first and the matrix after
        it: one row for each anchor instead of one for each node.
        """
        messages = self.messages(features, None, egonets)
        counts = _counts(egonets, features)
        blocks = [
            self._block(features, egonets, *coefficients)
            for coefficients in _coefficients(messages, egonets, readout)
        ]
        total = torch.stack(blocks, dim=1)
        if self.bias is not None:
            # A bias is added to every node, so it counts as often as the readout counts nodes.
            ones = readout.sums(counts)
            total = torch.cat([total, ones[:, :, None]], dim=2)
        return EgonetSums(total, counts, features, messages, readout, self)

    def matrix(self) -> Tensor:
        """[W ‖ O] of all heads, and the bias, which turn a mean [K'] into an embedding [size].

        The last layer's heads are averaged.
        """
        whole: Tensor = self.weight
        if self.position_weight is not None:
            whole = torch.cat([whole, self.position_weight], dim=1)
        by_head = whole.view(self.heads, self.size, whole.shape[1])
        matrix = by_head.transpose(0, 1).flatten(1) / self.heads
        if self.bias is not None:
            bias = self.bias.view(self.heads, self.size).mean(0)
            matrix = torch.cat([matrix, bias[:, None]], dim=1)
        return matrix

    def _block(
        self,
        features: Tensor,
        egonets: Egonets,
        c_above: Tensor | None,
        c_anchor: Tensor | None,
        c_below: Tensor | None,
    ) -> Tensor:
        """Σ c_u (h_u ‖ p_u) over each egonet, for each head: [A, M * (K + P)]."""
        above, anchor, below = features.split(egonets.sizes)
        none = features.new_zeros(egonets.size, self.heads)
        own = none if c_anchor is None else c_anchor
        total = own[..., None] * anchor[:, None]
        by_position = [none, own, none]
        for position, nodes, of, c in (
            (Position.GRANDPARENT, above, egonets.grandparent_of, c_above),
            (Position.SIBLING, below, egonets.sibling_of, c_below),
        ):
            if c is not None:
                total = total.index_add(0, of, c[..., None] * nodes[:, None])
                by_position[position] = none.index_add(0, of, c)
        if self.position is not None:
            at = torch.stack(by_position, dim=2) @ self.position
            total = torch.cat([total, at], dim=2)
        return total.flatten(1)


class ConvolutionLayer(Layer):
    r"""GCN, Eq. 3, and PGCN: :math:`\alpha_{uv} = 1 / \sqrt{|N(u)| |N(v)|}`, and a bias.

    N(u) holds those that u hears, itself among them.
    """

    def __init__(self, inputs: int, size: int, heads: int, position: int) -> None:
        super().__init__(inputs, size, heads, position, bias=True)

    def messages(self, features: Tensor, rows: Tensor | None, egonets: Egonets) -> Messages:
        """A grandparent hears one, an anchor its parents and itself, a sibling two."""
        del rows  # the features do not matter
        ones = features.new_ones(len(egonets.grandparent_of))
        heard = features.new_ones(egonets.size).index_add(0, egonets.grandparent_of, ones)
        heard = heard[:, None].expand(-1, self.heads)
        kept = features.new_full((len(egonets.sibling_of), self.heads), 0.5)
        return Messages(
            above=heard.rsqrt().index_select(0, egonets.grandparent_of),
            own=1 / heard,
            told=(2 * heard).rsqrt().index_select(0, egonets.sibling_of),
            kept=kept,
        )


class AttentionLayer(Layer):
    """GAT, Eqs. 4 and 5, and PGAT: α from z·[W h_u ‖ W h_v], z in two halves for each head."""

    def __init__(self, inputs: int, size: int, heads: int, position: int) -> None:
        super().__init__(inputs, size, heads, position)
        self.towards = nn.Parameter(torch.empty(heads, size))
        self.source = nn.Parameter(torch.empty(heads, size))

    def reset(self, generator: torch.Generator) -> None:
        """Draw the weights (Glorot)."""
        super().reset(generator)
        for half in (self.towards, self.source):
            nn.init.xavier_normal_(half, gain=2**0.5, generator=generator)

    def messages(self, features: Tensor, rows: Tensor | None, egonets: Egonets) -> Messages:
        """Eq. 4."""
        # z·(W h) = (Wᵀz)·h, so that W need not be applied to find α.
        halves = torch.stack([self.towards, self.source])
        dots = features @ self._through(halves, self.weight).T
        if rows is not None:
            dots = dots.index_select(0, rows)
        if self.position is not None and self.position_weight is not None:
            at = self.position @ self._through(halves, self.position_weight).T
            dots = dots + at.index_select(0, _places(egonets))
        towards, source = dots.split(self.heads, dim=1)
        return attend(towards, source, egonets)

    def _through(self, halves: Tensor, weight: Tensor) -> Tensor:
        """zᵀW of both halves and all heads: [2 * M, inputs]."""
        by_head = weight.unflatten(0, (self.heads, self.size))
        return torch.einsum("kms,msi->kmi", halves, by_head).flatten(0, 1)


def attend(towards: Tensor, source: Tensor, egonets: Egonets) -> Messages:
    """Eq. 4, given z·[W h_u ‖ W h_v] in two halves, towards_u and source_v, each [nodes, M].

    A sibling's softmax of two is a sigmoid.
    """
    _, anchor_towards, sibling_towards = towards.split(egonets.sizes)
    above_source, anchor_source, sibling_source = source.split(egonets.sizes)
    of = egonets.grandparent_of
    own = F.leaky_relu(anchor_towards + anchor_source, 0.2)
    above = F.leaky_relu(anchor_towards.index_select(0, of) + above_source, 0.2)
    highest = own.detach().scatter_reduce(0, of[:, None].expand_as(above), above.detach(), "amax")
    own = (own - highest).exp()
    above = (above - highest.index_select(0, of)).exp()
    total = own.index_add(0, of, above)
    heard = sibling_towards + anchor_source.index_select(0, egonets.sibling_of)
    told = F.leaky_relu(heard, 0.2) - F.leaky_relu(sibling_towards + sibling_source, 0.2)
    told = told.sigmoid()
    return Messages(above / total.index_select(0, of), own / total, told, 1 - told)


def _coefficients(
    messages: Messages, egonets: Egonets, readout: Readout
) -> list[tuple[Tensor | None, Tensor | None, Tensor | None]]:
    """How much of each node's [W ‖ O](h ‖ p) ends in each block: (c_above, c_anchor, c_below)."""
    w_above, w_anchor, w_below = readout.weights()
    told = torch.zeros_like(messages.own).index_add(0, egonets.sibling_of, messages.told)
    if readout.blocks == 1:
        c_anchor = w_anchor * messages.own + w_below * told
        return [(w_above + w_anchor * messages.above, c_anchor, w_below * messages.kept)]
    return [
        (w_above.expand_as(messages.above), None, None),
        (w_anchor * messages.above, w_anchor * messages.own, None),
        (None, w_below * told, w_below * messages.kept),
    ]


def _counts(egonets: Egonets, like: Tensor) -> Tensor:
    """How many nodes of each egonet stand at each position [A, 3]."""
    counts = [
        torch.bincount(egonets.grandparent_of, minlength=egonets.size),
        torch.ones(egonets.size, device=like.device),
        torch.bincount(egonets.sibling_of, minlength=egonets.size),
    ]
    return torch.stack([count.to(like.dtype) for count in counts], dim=1)


def _places(egonets: Egonets) -> Tensor:
    """The position of every node [nodes]."""
    device = egonets.nodes.device
    sizes = torch.tensor(egonets.sizes, device=device)
    return torch.arange(len(Position), device=device).repeat_interleave(
        sizes, output_size=len(egonets.nodes)
    )


PROPAGATIONS: dict[str, tuple[type[Layer], bool]] = {
    "gcn": (ConvolutionLayer, False),
    "gat": (AttentionLayer, False),
    "pgcn": (ConvolutionLayer, True),
    "pgat": (AttentionLayer, True),
}
"""The layer of each propagation, and whether it knows positions."""
