"""Passing messages in egonets (Eq. 5), with the gradient written out (see `attention`)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from taxoexpan.network.attention import MessageWeights
from taxoexpan.network.egonets import Egonets


def pass_messages(
    projected: Tensor,
    position: Tensor | None,
    weights: MessageWeights,
    rows: Tensor | None,
    egonets: Egonets,
) -> Tensor:
    """Return the weighted sum of the messages to every node, Eq. 5 without ρ: [n, M * size].

    Args:
        projected: W h [.., M * size], of node u in row `rows[u]`, or in row u without `rows`.
        position: O p, one row per position [3, M * size].
        weights: α of every message.
        rows: the row of every node in `projected` [n].
        egonets: the egonets.
    """
    out: Tensor = _PassMessages.apply(
        projected,
        position,
        weights.parent_to_anchor,
        weights.anchor_to_self,
        weights.anchor_to_sibling,
        weights.sibling_to_self,
        rows,
        egonets,
    )
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
        """See `pass_messages`; the weights α are in the order of `MessageWeights`."""
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
        ctx.egonets, ctx.count, ctx.positions = egonets, len(projected), position is not None
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
