"""The messages in egonets: their weights α (Eqs. 3 and 4), and their sums (Eq. 5).

The gradients are explicit, because this is faster than autograd: an egonet is a star, so its sums
are known in advance. Sizes: A, S, E as in `Egonets`, n nodes and M heads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.network.egonets import Egonets

NEGATIVE_SLOPE = 0.2
"""The slope of the LeakyReLU in Eq. 4."""


class MessageWeights(NamedTuple):
    """The weight α of every message, for each of M heads: [E, M], [A, M], [S, M], [S, M].

    A grandparent's message to itself has the weight 1.
    """

    parent_to_anchor: Tensor
    anchor_to_self: Tensor
    anchor_to_sibling: Tensor
    sibling_to_self: Tensor


def attention_weights(dots: Tensor, egonets: Egonets) -> MessageWeights:
    """Return the attention weights (Eq. 4).

    `dots` [n, 2 * M] are the two halves of z·[W h_u ‖ W h_v], first of each node as the target u of
    messages, then as their source v.
    """
    above, own, below = _Attention.apply(dots, egonets)
    return MessageWeights(above, own, below, 1 - below)


class _Attention(torch.autograd.Function):
    """The softmax over an anchor and its parents, and the sigmoid for a sibling and its anchor."""

    @staticmethod
    def forward(ctx: Any, dots: Tensor, egonets: Egonets) -> tuple[Tensor, Tensor, Tensor]:
        """Return the first three of `MessageWeights` from dots [n, 2 * M]."""
        of = egonets.grandparent_of
        parent = egonets.grandparent
        anchor_of = egonets.sibling_of
        target, source = dots.chunk(2, dim=1)
        _, anchor_target, sibling_target = target.split(egonets.sizes)
        parent_source, anchor_source, sibling_source = source.split(egonets.sizes)
        own = anchor_target + anchor_source
        above = anchor_target.index_select(0, of) + parent_source.index_select(0, parent)
        below = sibling_target + anchor_source.index_select(0, anchor_of)
        self_below = sibling_target + sibling_source
        α_below = F.leaky_relu(below, NEGATIVE_SLOPE) - F.leaky_relu(self_below, NEGATIVE_SLOPE)
        α_below = α_below.sigmoid_()
        α_own, α_above = _softmax(
            F.leaky_relu(own, NEGATIVE_SLOPE), F.leaky_relu(above, NEGATIVE_SLOPE), of
        )
        ctx.save_for_backward(own, above, below, self_below, α_own, α_above, α_below)
        ctx.egonets = egonets
        return α_above, α_own, α_below

    @staticmethod
    def backward(ctx: Any, d_above: Tensor, d_own: Tensor, d_below: Tensor) -> tuple[Tensor, None]:
        """Return the gradient of the dots."""
        own, above, below, self_below, α_own, α_above, α_below = ctx.saved_tensors
        e: Egonets = ctx.egonets
        mean = (α_own * d_own).index_add_(0, e.grandparent_of, α_above * d_above)
        d_own = _leaky_relu_backward(α_own * (d_own - mean), own)
        d_above = α_above * (d_above - mean.index_select(0, e.grandparent_of))
        d_above = _leaky_relu_backward(d_above, above)
        d_sigmoid = d_below * α_below * (1 - α_below)
        d_below = _leaky_relu_backward(d_sigmoid, below)
        d_self_below = _leaky_relu_backward(d_sigmoid, self_below)
        d_dots = own.new_zeros(sum(e.sizes), 2 * own.shape[1])
        target, source = d_dots.chunk(2, dim=1)
        _, anchor_target, sibling_target = target.split(e.sizes)
        parent_source, anchor_source, sibling_source = source.split(e.sizes)
        anchor_target.copy_(d_own.index_add(0, e.grandparent_of, d_above))
        anchor_source.copy_(d_own.index_add_(0, e.sibling_of, d_below))
        parent_source.copy_(torch.zeros_like(parent_source).index_add_(0, e.grandparent, d_above))
        torch.sub(d_below, d_self_below, out=sibling_target)
        torch.neg(d_self_below, out=sibling_source)
        return d_dots, None


def _softmax(own: Tensor, above: Tensor, of: Tensor) -> tuple[Tensor, Tensor]:
    """Return the softmax over each anchor's own logit [A, M] and its parents' logits [E, M]."""
    highest = own.scatter_reduce(0, of[:, None].expand_as(above), above, "amax")
    own = (own - highest).exp_()
    above = (above - highest.index_select(0, of)).exp_()
    total = own.index_add(0, of, above)
    return own.div_(total), above.div_(total.index_select(0, of))


def _leaky_relu_backward(gradient: Tensor, inputs: Tensor) -> Tensor:
    """Return the gradient of the inputs of a LeakyReLU."""
    back: Tensor = torch.ops.aten.leaky_relu_backward(gradient, inputs, NEGATIVE_SLOPE, False)
    return back


def pass_messages(
    projected: Tensor,
    position: Tensor | None,
    weights: MessageWeights,
    rows: Tensor | None,
    egonets: Egonets,
) -> Tensor:
    """Return the weighted sum of the messages to every node (Eq. 5 without ρ): [n, M * size].

    `projected` [.., M * size] is W h, with node u in row `rows[u]`, or in row u without `rows`.
    `position` [3, M * size] is O p.
    """
    out: Tensor = _PassMessages.apply(projected, position, *weights, rows, egonets)
    return out


class _PassMessages(torch.autograd.Function):
    """The weighted sum of the messages to every node."""

    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        position: Tensor | None,
        α_above: Tensor,
        α_own: Tensor,
        α_below: Tensor,
        α_self_below: Tensor,
        rows: Tensor | None,
        egonets: Egonets,
    ) -> Tensor:
        """Compute `pass_messages`, with the weights α in the order of `MessageWeights`."""
        h = projected if rows is None else projected.index_select(0, rows)
        if position is not None:
            h = h.clone() if rows is None else h
            for part, p in zip(h.split(egonets.sizes), position, strict=True):
                part += p
        h_above, h_anchor, h_below = _by_head(h, α_own, egonets)
        out = torch.empty_like(h)
        out_above, out_anchor, out_below = _by_head(out, α_own, egonets)
        out_above.copy_(h_above)
        torch.mul(α_own[..., None], h_anchor, out=out_anchor)
        messages = h_above.index_select(0, egonets.grandparent).mul_(α_above[..., None])
        out_anchor.index_add_(0, egonets.grandparent_of, messages)
        torch.mul(α_self_below[..., None], h_below, out=out_below)
        out_below.addcmul_(α_below[..., None], h_anchor.index_select(0, egonets.sibling_of))
        ctx.save_for_backward(h, α_above, α_own, α_below, α_self_below, rows)
        ctx.egonets = egonets
        ctx.count = len(projected)
        ctx.positions = position is not None
        return out

    @staticmethod
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the projections, of O p and of α."""
        h, α_above, α_own, α_below, α_self_below, rows = ctx.saved_tensors
        e: Egonets = ctx.egonets
        d_out_above, d_out_anchor, d_out_below = _by_head(d_out, α_own, e)
        d_h = torch.empty_like(h)
        d_above, d_anchor, d_below = _by_head(d_h, α_own, e)
        d_messages = d_out_anchor.index_select(0, e.grandparent_of)
        d_α: list[Tensor | None] = [None] * 4
        if any(ctx.needs_input_grad[2:6]):
            h_above, h_anchor, h_below = _by_head(h, α_own, e)
            d_α = [
                dots(d_messages, h_above.index_select(0, e.grandparent)),
                dots(d_out_anchor, h_anchor),
                dots(d_out_below, h_anchor.index_select(0, e.sibling_of)),
                dots(d_out_below, h_below),
            ]
        d_above.copy_(d_out_above)
        d_above.index_add_(0, e.grandparent, d_messages.mul_(α_above[..., None]))
        torch.mul(α_own[..., None], d_out_anchor, out=d_anchor)
        d_anchor.index_add_(0, e.sibling_of, α_below[..., None] * d_out_below)
        torch.mul(α_self_below[..., None], d_out_below, out=d_below)
        d_position = None
        if ctx.positions:
            d_position = torch.stack([part.sum(0) for part in d_h.split(e.sizes)])
        if rows is not None:
            d_h = d_h.new_zeros(ctx.count, d_h.shape[1]).index_add_(0, rows, d_h)
        return d_h, d_position, *d_α, None, None


def dots(one: Tensor, other: Tensor) -> Tensor:
    """Return the dot products over the last dimension."""
    return (one * other).sum(-1)


def _by_head(nodes: Tensor, like: Tensor, egonets: Egonets) -> tuple[Tensor, ...]:
    """Return views of the grandparents, the anchors and the siblings, each [nodes, M, size]."""
    parts: tuple[Tensor, ...] = nodes.unflatten(1, (like.shape[1], -1)).split(egonets.sizes)
    return parts
