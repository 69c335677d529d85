"""Graph propagation (Section 4.2.2): position-enhanced graph attention over egonets.

An egonet is a star whose messages run downwards. So a grandparent hears itself; a sibling hears
itself and the anchor, and its softmax of two is a sigmoid; only the anchor has a real softmax,
over its parents and itself. What each layer computes is exactly Eqs. 3 to 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.egonets import Egonets, Position


@dataclass(frozen=True)
class StarAttention:
    """The attention of Eq. 4 with M heads, for every message of a batch of egonets.

    above [G, M]: an anchor's to each of its parents; own [A, M]: to itself; share [S, M]: a
    sibling's to its anchor, the rest of which goes to itself.
    """

    above: Tensor
    own: Tensor
    share: Tensor


def attend(towards: Tensor, source: Tensor, egonets: Egonets) -> StarAttention:
    """Eq. 4, given z·[W h_u ‖ W h_v] in two halves, towards_u and source_v, each [nodes, M]."""
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
    share = F.leaky_relu(heard, 0.2) - F.leaky_relu(sibling_towards + sibling_source, 0.2)
    return StarAttention(above / total.index_select(0, of), own / total, share.sigmoid())


class PositionEnhancedAttention(nn.Module):
    """The weights of one PGAT layer: W and O of M heads, the positions p, and z of Eq. 4."""

    def __init__(self, inputs: int, size: int, heads: int, position: int) -> None:
        super().__init__()
        self.heads, self.size = heads, size
        self.weight = nn.Parameter(torch.empty(heads * size, inputs))
        self.position = nn.Parameter(torch.empty(len(Position), position))
        self.position_weight = nn.Parameter(torch.empty(heads * size, position))
        self.towards = nn.Parameter(torch.empty(heads, size))
        self.source = nn.Parameter(torch.empty(heads, size))

    def reset(self, generator: torch.Generator) -> None:
        """Draw the weights (Glorot)."""
        for weight in (self.weight, self.position_weight, self.towards, self.source):
            nn.init.xavier_normal_(weight, gain=2**0.5, generator=generator)
        nn.init.normal_(self.position, generator=generator)

    def dots(self, projected: Tensor) -> tuple[Tensor, Tensor]:
        """Both halves of the attention's logits: [n, M * size] → [n, M] each."""
        z = projected.unflatten(1, (self.heads, self.size))
        return torch.einsum("nms,ms->nm", z, self.towards), torch.einsum(
            "nms,ms->nm", z, self.source
        )


class HiddenLayer(PositionEnhancedAttention):
    """Eq. 5 without its ρ: from the C distinct concepts' features to every node's.

    `W h` and its part in the attention are computed once for each distinct concept.
    Shapes: [C, inputs] → [nodes, M * size].
    """

    def forward(self, features: Tensor, egonets: Egonets) -> Tensor:
        """Pass the messages once."""
        projected = F.linear(features, self.weight)
        positions = F.linear(self.position, self.position_weight)
        place = _places(egonets)
        halves = zip(self.dots(projected), self.dots(positions), strict=True)
        towards, source = (
            dots.index_select(0, egonets.nodes) + at.index_select(0, place) for dots, at in halves
        )
        attention = attend(towards, source, egonets)
        above, anchor, below = (
            (z + p).unflatten(1, (self.heads, self.size))
            for z, p in zip(
                projected.index_select(0, egonets.nodes).split(egonets.sizes),
                positions,
                strict=True,
            )
        )
        heard = attention.own[..., None] * anchor
        heard = heard.index_add(0, egonets.grandparent_of, attention.above[..., None] * above)
        told = anchor.index_select(0, egonets.sibling_of)
        below = torch.lerp(below, told, attention.share[..., None])
        return torch.cat([above, heard, below]).flatten(1)


@dataclass(frozen=True)
class EgonetSums:
    """A weighted sum over each egonet's nodes, before the output layer's matrix.

    total [A, K + P] is the sum of (h_u ‖ p_u), weight [A] that of the readout's weights. With
    `features` [nodes, K], `share` [S] and `sibling_weight`, one sibling can be taken out again.
    """

    total: Tensor
    weight: Tensor
    features: Tensor
    share: Tensor
    sibling_weight: Tensor
    position: Tensor

    def mean(self) -> Tensor:
        """The weighted mean over each egonet's nodes [A, K + P]."""
        return self.total / self.weight[:, None]


class OutputLayer(PositionEnhancedAttention):
    """The last layer, of one head and without ρ, together with a readout that is a weighted sum.

    Both are linear once the attention is known, so the sum over an egonet comes first and the
    matrix [W ‖ O] after it: one row for each anchor instead of one for each node.
    """

    def __init__(self, inputs: int, size: int, position: int) -> None:
        super().__init__(inputs, size, heads=1, position=position)

    def collect(self, features: Tensor, egonets: Egonets, weights: Tensor) -> EgonetSums:
        """Sum the nodes [nodes, K] of each egonet, with a readout weight [3] for each position."""
        attention = self._attention(features, egonets)
        w_above, w_anchor, w_below = weights
        c_above = w_above + w_anchor * attention.above
        c_below = w_below * (1 - attention.share)
        c_anchor = w_anchor * attention.own
        c_anchor = c_anchor.index_add(0, egonets.sibling_of, w_below * attention.share)
        above, anchor, below = features.split(egonets.sizes)
        total = c_anchor * anchor
        total = total.index_add(0, egonets.grandparent_of, c_above * above)
        total = total.index_add(0, egonets.sibling_of, c_below * below)
        none = torch.zeros_like(c_anchor)
        by_position = torch.cat(
            [
                none.index_add(0, egonets.grandparent_of, c_above),
                c_anchor,
                none.index_add(0, egonets.sibling_of, c_below),
            ],
            dim=1,
        )
        return EgonetSums(
            torch.cat([total, by_position @ self.position], dim=1),
            # An anchor's attention adds up to one, and so does each sibling's.
            by_position.sum(1),
            features,
            attention.share.squeeze(1),
            w_below,
            self.position,
        )

    def matrix(self) -> Tensor:
        """[W ‖ O], which turns a mean [K + P] of h ‖ p into an anchor's embedding [size]."""
        return torch.cat([self.weight, self.position_weight], dim=1)

    def _attention(self, features: Tensor, egonets: Egonets) -> StarAttention:
        # z·(W h) = (Wᵀz)·h, so that W need not be applied to every node.
        halves = torch.cat([self.towards, self.source])
        dots = features @ (halves @ self.weight).T
        at = F.linear(self.position, self.position_weight) @ halves.T
        towards, source = (dots + at.index_select(0, _places(egonets))).split(1, dim=1)
        return attend(towards, source, egonets)


def leave_out(sums: EgonetSums, egonets: Egonets, picked: Tensor, own: Tensor) -> Tensor:
    """The mean [B, K + P] of egonet `picked[b]` without its sibling row `own[b]` (-1: none).

    Nothing in an egonet hears a sibling but itself, so leaving one out is a subtraction.
    """
    if not len(egonets.sibling_of):
        return sums.mean().index_select(0, picked)
    first_anchor, first_sibling = egonets.sizes[0], egonets.sizes[0] + egonets.sizes[1]
    there = (own >= 0).to(sums.total.dtype)[:, None] * sums.sibling_weight
    row = own.clamp(min=0)
    share = sums.share.index_select(0, row)[:, None]
    sibling = sums.features.index_select(0, first_sibling + row)
    anchor = sums.features.index_select(0, first_anchor + picked)
    heard = torch.lerp(sibling, anchor, share)
    at = torch.lerp(sums.position[Position.SIBLING], sums.position[Position.ANCHOR], share)
    total = sums.total.index_select(0, picked) - there * torch.cat([heard, at], dim=1)
    return total / (sums.weight.index_select(0, picked)[:, None] - there)


def _places(egonets: Egonets) -> Tensor:
    """The position of every node [nodes]."""
    device = egonets.nodes.device
    sizes = torch.tensor(egonets.sizes, device=device)
    return torch.arange(len(Position), device=device).repeat_interleave(
        sizes, output_size=len(egonets.nodes)
    )
