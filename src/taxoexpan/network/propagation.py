"""Graph propagation (Section 4.2.2): GCN and GAT over egonets, with positions or without.

An egonet is a star whose messages run downwards. So a grandparent hears itself; a sibling hears
itself and the anchor; only the anchor hears many, its parents and itself. What a layer computes is
exactly Eqs. 2 to 5: every layer has a W for its M heads, the position-enhanced ones an O for the
position embeddings p as well, and [W ‖ O][h ‖ p] = W h + O p.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.network.dropout import drop
from taxoexpan.network.egonet_sums import LeftOut, Messages, Weights, attend, collect, propagate
from taxoexpan.network.egonets import Egonets, Position
from taxoexpan.network.readout import Readout


@dataclass(frozen=True)
class Leave:
    """B egonets by their place in a batch, and the row of the sibling to leave out, or -1."""

    picked: Tensor
    own: Tensor


class Layer(nn.Module, ABC):
    """The weights of one layer: W of M heads, and where positions count, O and p."""

    def __init__(
        self, inputs: int, size: int, heads: int, position: int, bias: bool = False
    ) -> None:
        super().__init__()
        self.inputs, self.size, self.heads = inputs, size, heads
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
        """Draw the weights (Glorot)."""
        for weight in (self.weight, self.position_weight):
            if weight is not None:
                nn.init.xavier_normal_(weight, gain=2**0.5, generator=generator)
        if self.position is not None:
            deviation = self.position_norm / self.position.shape[1] ** 0.5
            nn.init.normal_(self.position, std=deviation, generator=generator)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    @abstractmethod
    def messages(self, features: Tensor, rows: Tensor | None, egonets: Egonets) -> Messages:
        """α of every message; `features` [.., inputs], node u's in row `rows[u]`, or in row u."""

    def forward(self, features: Tensor, rows: Tensor | None, egonets: Egonets) -> Tensor:
        """Eq. 5 without its ρ: [.., inputs] → [nodes, M * size].

        The first layer is given the distinct concepts, so that W h is computed once for each.
        """
        messages = self.messages(features, rows, egonets)
        at = None
        if self.position is not None and self.position_weight is not None:
            at = F.linear(self.position, self.position_weight)
        out = propagate(F.linear(features, self.weight), at, messages, rows, egonets)
        return out if self.bias is None else out + self.bias

    def collect(
        self, features: Tensor, egonets: Egonets, readout: Readout, leave: Leave | None = None
    ) -> tuple[Tensor, Tensor]:
        """The last layer and the readout but for their matrix: [nodes, inputs] → [A, R * K'].

        Once α is known both are linear, so the mean over an egonet comes first and the matrix after
        it: one row for each anchor instead of one for each node. K' is M * (inputs + P), and one
        more with a bias. Beside these come the means
        [B, R * K'] of egonets without one of their siblings: nothing hears a sibling but itself, so
        that is a subtraction.
        """
        messages = self.messages(features, None, egonets)
        counts = egonets.counts.to(features.dtype)
        divisor = readout.divisor(counts)
        weights = _weights(messages, egonets, readout, divisor)
        left_out: Iterable[LeftOut | None] = [None] * len(weights)
        fewer = counts
        if leave is not None:
            there, fewer = _without(leave, counts)
            left_out = _left_out(leave, there, messages, readout, divisor, fewer)
        pairs = [
            collect(features, self.position, weight, out, egonets)
            for weight, out in zip(weights, left_out, strict=True)
        ]
        means = self._beside([mean for mean, _ in pairs], counts, readout)
        if leave is None:
            return means, features.new_empty(0)
        return means, self._beside([left for _, left in pairs], fewer, readout)

    def _beside(self, blocks: list[Tensor], counts: Tensor, readout: Readout) -> Tensor:
        """The readout's blocks side by side, each with a column for the bias where there is one.

        A bias is added to every node, so it counts as often as the readout counts nodes.
        """
        if self.bias is not None:
            ones = (readout.sums(counts) / readout.divisor(counts)).split(1, dim=1)
            blocks = [torch.cat(pair, dim=1) for pair in zip(blocks, ones, strict=True)]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks, dim=1)

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


class ConvolutionLayer(Layer):
    r"""GCN, Eq. 3, and PGCN: :math:`\alpha_{uv} = 1 / \sqrt{|N(u)| |N(v)|}`, and a bias.

    N(u) holds those that u hears, itself among them.
    """

    def __init__(self, inputs: int, size: int, heads: int, position: int) -> None:
        super().__init__(inputs, size, heads, position, bias=True)

    def messages(self, features: Tensor, rows: Tensor | None, egonets: Egonets) -> Messages:
        """A grandparent hears one, an anchor its parents and itself, a sibling two."""
        del rows  # the features do not matter
        heard = egonets.counts[:, Position.GRANDPARENT].to(features.dtype) + 1
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
            places = zip(dots.split(egonets.sizes), at, strict=True)
            dots = torch.cat([part + p for part, p in places])
        messages = attend(dots, egonets)
        if not self.training or not self.message_dropout:
            return messages
        m = messages
        return Messages(*(drop(α, self.message_dropout) for α in (m.above, m.own, m.told, m.kept)))

    def _through(self, halves: Tensor, weight: Tensor) -> Tensor:
        """zᵀW of both halves and all heads: [2 * M, inputs]."""
        by_head = weight.unflatten(0, (self.heads, self.size))
        return torch.einsum("kms,msi->kmi", halves, by_head).flatten(0, 1)


def _weights(
    messages: Messages, egonets: Egonets, readout: Readout, divisor: Tensor
) -> list[Weights]:
    """How much of each node's [W ‖ O](h ‖ p) ends in each block of the readout's mean."""
    w_above, w_anchor, w_below = readout.weights()
    told = torch.zeros_like(messages.own).index_add(0, egonets.sibling_of, messages.told)
    if readout.blocks == 1:
        anchor = w_anchor * messages.own + w_below * told
        blocks = [Weights(w_above + w_anchor * messages.above, anchor, w_below * messages.kept)]
    else:
        blocks = [
            Weights(w_above.expand_as(messages.above), None, None),
            Weights(w_anchor * messages.above, w_anchor * messages.own, None),
            Weights(None, w_below * told, w_below * messages.kept),
        ]
    shares = (1 / divisor).split(1, dim=1)
    return [
        Weights(
            None if b.above is None else b.above * share.index_select(0, egonets.grandparent_of),
            None if b.anchor is None else b.anchor * share,
            None if b.below is None else b.below * share.index_select(0, egonets.sibling_of),
        )
        for b, share in zip(blocks, shares, strict=True)
    ]


def _without(leave: Leave, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Whether there is a sibling to leave out [B, 1], and the counts [B, 3] without it."""
    there = (leave.own >= 0).to(counts.dtype)[:, None]
    others, siblings = counts.index_select(0, leave.picked).split([len(Position) - 1, 1], dim=1)
    return there, torch.cat([others, siblings - there], dim=1)


def _left_out(
    leave: Leave,
    there: Tensor,
    messages: Messages,
    readout: Readout,
    divisor: Tensor,
    fewer: Tensor,
) -> Iterator[LeftOut]:
    """What changes in each block: all are divided by another number, the last loses a sibling."""
    divisors = readout.divisor(fewer)
    scales = divisor.index_select(0, leave.picked) / divisors
    rows = leave.own.clamp(min=0)
    for scale in scales.T[:-1]:
        yield LeftOut(leave.picked, rows, scale, None, None)
    if not len(messages.kept):
        yield LeftOut(leave.picked, rows, scales[:, -1], None, None)
        return
    share = there * readout.weights()[Position.SIBLING] / divisors[:, -1:]
    kept = messages.kept.index_select(0, rows) * share
    told = messages.told.index_select(0, rows) * share
    yield LeftOut(leave.picked, rows, scales[:, -1], kept, told)


PROPAGATIONS: dict[str, tuple[type[Layer], bool]] = {
    "gcn": (ConvolutionLayer, False),
    "gat": (AttentionLayer, False),
    "pgcn": (ConvolutionLayer, True),
    "pgat": (AttentionLayer, True),
}
"""The layer of each propagation, and whether it knows positions."""
