"""The sums over egonets, with their gradients written out.

An egonet is a star, so all that is summed is known in advance, and the way back can be written by
hand: fewer passes over memory and fewer operations than autograd would need, on a CPU and on a GPU.
In all of them A and S count the anchors and siblings of a batch, E the entries of its grandparents,
and n all nodes (see `Egonets`); M are heads, and B instances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.network.egonets import Egonets, Position

SLOPE = 0.2
"""Of the LeakyReLU in Eq. 4."""


@dataclass(frozen=True)
class Messages:
    """α of every message in a batch of egonets, for each of M heads.

    above [E, M]: from a parent to its anchor; own [A, M]: from an anchor to itself; told [S, M]:
    from an anchor to a sibling; kept [S, M]: from a sibling to itself. A grandparent hears itself
    alone, with α = 1.
    """

    above: Tensor
    own: Tensor
    told: Tensor
    kept: Tensor


def attend(dots: Tensor, egonets: Egonets) -> Messages:
    """Eq. 4, given z·[W h_u ‖ W h_v] in two halves, [n, 2 * M]: as one who hears, as one heard."""
    above, own, told = _Attend.apply(dots, egonets)
    return Messages(above, own, told, 1 - told)


def propagate(
    projected: Tensor,
    at: Tensor | None,
    messages: Messages,
    rows: Tensor | None,
    egonets: Egonets,
) -> Tensor:
    """What every node hears, Eq. 5 without its ρ: [n, M * size].

    projected [.., M * size] are W h, node u's in row `rows[u]`, or in row u; `at` [3, M * size] is
    O p.
    """
    m = messages
    heard: Tensor = _Propagate.apply(projected, at, m.above, m.own, m.told, m.kept, rows, egonets)
    return heard


@dataclass(frozen=True)
class Weights:
    """How much of each node goes into the sum over its egonet, for each head; None is nothing."""

    above: Tensor | None
    anchor: Tensor | None
    below: Tensor | None


@dataclass(frozen=True)
class LeftOut:
    """B sums that are made from those of egonets `picked` by taking one sibling out.

    sum_b = scale_b · sum_picked - kept_b · h_sibling - told_b · h_anchor; `rows` [B] are the rows
    among the siblings, `scale` is [B], and kept and told are [B, M].
    """

    picked: Tensor
    rows: Tensor
    scale: Tensor
    kept: Tensor | None
    told: Tensor | None


def collect(
    features: Tensor,
    position: Tensor | None,
    weights: Weights,
    left_out: LeftOut | None,
    egonets: Egonets,
) -> tuple[Tensor, Tensor]:
    """Σ w_u (h_u ‖ p_u) over each egonet [A, M * (K + P)], and over those with one left out [B, …].

    features h are [n, K], position p [3, P]. Where none is left out, the second is empty.
    """
    w, out = weights, left_out
    sums, siblings, anchors = _Sum.apply(
        features, w.above, w.anchor, w.below, out and out.rows, out and out.picked, egonets
    )
    parts = [sums]
    if position is not None:
        parts.append(_shares(weights, egonets) @ position)
    if out is None:
        return torch.cat(parts, dim=2).flatten(1), features.new_empty(0)
    lefts = [part.index_select(0, out.picked) * out.scale[:, None, None] for part in parts]
    if out.kept is not None and out.told is not None:
        kept, told = out.kept[..., None], out.told[..., None]
        lefts[0] = lefts[0] - kept * siblings[:, None] - told * anchors[:, None]
        if position is not None:
            taken = kept * position[Position.SIBLING] + told * position[Position.ANCHOR]
            lefts[1] = lefts[1] - taken
    return torch.cat(parts, dim=2).flatten(1), torch.cat(lefts, dim=2).flatten(1)


class _Attend(torch.autograd.Function):
    """A softmax over an anchor's parents and itself; a sibling's softmax of two is a sigmoid."""

    @staticmethod
    def forward(ctx: Any, dots: Tensor, egonets: Egonets) -> tuple[Tensor, Tensor, Tensor]:
        """[n, 2 * M] → α as in `Messages`, but for kept."""
        of, parent, anchor_of = egonets.grandparent_of, egonets.grandparent, egonets.sibling_of
        towards, source = dots.chunk(2, dim=1)
        _, anchor_towards, sibling_towards = towards.split(egonets.sizes)
        above_source, anchor_source, sibling_source = source.split(egonets.sizes)
        own = anchor_towards + anchor_source
        above = anchor_towards.index_select(0, of) + above_source.index_select(0, parent)
        heard = sibling_towards + anchor_source.index_select(0, anchor_of)
        itself = sibling_towards + sibling_source
        told = (F.leaky_relu(heard, SLOPE) - F.leaky_relu(itself, SLOPE)).sigmoid_()
        α_own, α_above = _softmax(F.leaky_relu(own, SLOPE), F.leaky_relu(above, SLOPE), of)
        ctx.save_for_backward(own, above, heard, itself, α_own, α_above, told)
        ctx.egonets = egonets
        return α_above, α_own, told

    @staticmethod
    def backward(ctx: Any, d_above: Tensor, d_own: Tensor, d_told: Tensor) -> tuple[Tensor, None]:
        """The gradient of the dots."""
        own, above, heard, itself, α_own, α_above, told = ctx.saved_tensors
        e: Egonets = ctx.egonets
        mean = (α_own * d_own).index_add_(0, e.grandparent_of, α_above * d_above)
        by_own = _leaky_back(α_own * (d_own - mean), own)
        by_above = α_above * (d_above - mean.index_select(0, e.grandparent_of))
        by_above = _leaky_back(by_above, above)
        by_told = d_told * told * (1 - told)
        by_heard, by_itself = _leaky_back(by_told, heard), _leaky_back(by_told, itself)
        dots = own.new_zeros(sum(e.sizes), 2 * own.shape[1])
        towards, source = dots.chunk(2, dim=1)
        _, anchor_towards, sibling_towards = towards.split(e.sizes)
        above_source, anchor_source, sibling_source = source.split(e.sizes)
        anchor_towards.copy_(by_own.index_add(0, e.grandparent_of, by_above))
        anchor_source.copy_(by_own.index_add_(0, e.sibling_of, by_heard))
        above_source.copy_(torch.zeros_like(above_source).index_add_(0, e.grandparent, by_above))
        torch.sub(by_heard, by_itself, out=sibling_towards)
        torch.neg(by_itself, out=sibling_source)
        return dots, None


def _softmax(own: Tensor, above: Tensor, of: Tensor) -> tuple[Tensor, Tensor]:
    """The softmax over each anchor's own [A, M] and its parents' [E, M]."""
    highest = own.scatter_reduce(0, of[:, None].expand_as(above), above, "amax")
    own, above = (own - highest).exp_(), (above - highest.index_select(0, of)).exp_()
    total = own.index_add(0, of, above)
    return own.div_(total), above.div_(total.index_select(0, of))


def _leaky_back(gradient: Tensor, given: Tensor) -> Tensor:
    """The gradient before a LeakyReLU that was given this."""
    back: Tensor = torch.ops.aten.leaky_relu_backward(gradient, given, SLOPE, False)
    return back


class _Propagate(torch.autograd.Function):
    """Every node's weighted sum of what it hears."""

    @staticmethod
    def forward(
        ctx: Any,
        projected: Tensor,
        at: Tensor | None,
        above: Tensor,
        own: Tensor,
        told: Tensor,
        kept: Tensor,
        rows: Tensor | None,
        egonets: Egonets,
    ) -> Tensor:
        """See `propagate`."""
        here = projected if rows is None else projected.index_select(0, rows)
        if at is not None:
            here = here.clone() if rows is None else here
            for part, p in zip(here.split(egonets.sizes), at, strict=True):
                part += p
        h_above, h_anchor, h_below = _by_head(here, own, egonets)
        out = torch.empty_like(here)
        at_above, at_anchor, at_below = _by_head(out, own, egonets)
        at_above.copy_(h_above)
        torch.mul(own[..., None], h_anchor, out=at_anchor)
        called = h_above.index_select(0, egonets.grandparent).mul_(above[..., None])
        at_anchor.index_add_(0, egonets.grandparent_of, called)
        torch.mul(kept[..., None], h_below, out=at_below)
        at_below.addcmul_(told[..., None], h_anchor.index_select(0, egonets.sibling_of))
        ctx.save_for_backward(here, above, own, told, kept, rows)
        ctx.egonets, ctx.count, ctx.positions = egonets, len(projected), at is not None
        return out

    @staticmethod
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of the projections, of O p and of α."""
        here, above, own, told, kept, rows = ctx.saved_tensors
        e: Egonets = ctx.egonets
        h_above, h_anchor, h_below = _by_head(here, own, e)
        d_above, d_anchor, d_below = _by_head(d_out, own, e)
        d_here = torch.empty_like(here)
        to_above, to_anchor, to_below = _by_head(d_here, own, e)
        d_α: list[Tensor | None] = [None] * 4
        called = d_anchor.index_select(0, e.grandparent_of)
        if any(ctx.needs_input_grad[2:6]):
            d_α = [
                _dots(called, h_above.index_select(0, e.grandparent)),
                _dots(d_anchor, h_anchor),
                _dots(d_below, h_anchor.index_select(0, e.sibling_of)),
                _dots(d_below, h_below),
            ]
        to_above.copy_(d_above)
        to_above.index_add_(0, e.grandparent, called.mul_(above[..., None]))
        torch.mul(own[..., None], d_anchor, out=to_anchor)
        to_anchor.index_add_(0, e.sibling_of, told[..., None] * d_below)
        torch.mul(kept[..., None], d_below, out=to_below)
        d_at = None
        if ctx.positions:
            d_at = torch.stack([part.sum(0) for part in d_here.split(e.sizes)])
        if rows is not None:
            d_here = d_here.new_zeros(ctx.count, d_here.shape[1]).index_add_(0, rows, d_here)
        return d_here, d_at, *d_α, None, None


class _Sum(torch.autograd.Function):
    """The weighted sum of the features in each egonet; and some features as they are.

    These are the siblings' at `rows` [B] and the anchors' at `picked` [B]: what the sums are
    corrected by. They are taken here so that all gradients of the features meet in one place.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        above: Tensor | None,
        anchor: Tensor | None,
        below: Tensor | None,
        rows: Tensor | None,
        picked: Tensor | None,
        egonets: Egonets,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """[n, K] and weights [.., M] → [A, M, K], [B, K], [B, K]."""
        h_above, h_anchor, h_below = features.split(egonets.sizes)
        if anchor is None:
            heads = next(w for w in (above, below) if w is not None).shape[1]
            sums = features.new_zeros(egonets.size, heads, features.shape[1])
        else:
            sums = anchor[..., None] * h_anchor[:, None]
        if above is not None:
            called = above[..., None] * h_above.index_select(0, egonets.grandparent)[:, None]
            sums.index_add_(0, egonets.grandparent_of, called)
        if below is not None:
            sums.index_add_(0, egonets.sibling_of, below[..., None] * h_below[:, None])
        ctx.save_for_backward(features, above, anchor, below, rows, picked)
        ctx.egonets = egonets
        if rows is None or picked is None or not len(h_below):
            return sums, None, None
        return sums, h_below.index_select(0, rows), h_anchor.index_select(0, picked)

    @staticmethod
    def backward(
        ctx: Any, d_sums: Tensor, d_siblings: Tensor | None, d_anchors: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        """The gradients of the features and of the weights."""
        features, above, anchor, below, rows, picked = ctx.saved_tensors
        e: Egonets = ctx.egonets
        h_above, h_anchor, h_below = features[:, None].split(e.sizes)
        d_features = torch.zeros_like(features)
        to_above, to_anchor, to_below = d_features.split(e.sizes)
        d_weights: list[Tensor | None] = [None, None, None]
        if above is not None:
            called = d_sums.index_select(0, e.grandparent_of)
            d_weights[0] = _dots(called, h_above.index_select(0, e.grandparent))
            to_above.index_add_(0, e.grandparent, _over_heads(above, called))
        if anchor is not None:
            d_weights[1] = _dots(d_sums, h_anchor)
            to_anchor.copy_(_over_heads(anchor, d_sums))
        if below is not None:
            heard = d_sums.index_select(0, e.sibling_of)
            d_weights[2] = _dots(heard, h_below)
            to_below.copy_(_over_heads(below, heard))
        if d_siblings is not None and d_anchors is not None and len(h_below):
            to_below.index_add_(0, rows, d_siblings)
            to_anchor.index_add_(0, picked, d_anchors)
        return d_features, *d_weights, None, None, None


def _shares(weights: Weights, egonets: Egonets) -> Tensor:
    """What the weights at each position of an egonet add up to: [A, M, 3]."""
    above, anchor, below = weights.above, weights.anchor, weights.below
    given = next(w for w in (above, anchor, below) if w is not None)
    none = given.new_zeros(egonets.size, given.shape[1])
    return torch.stack(
        [
            none if above is None else none.index_add(0, egonets.grandparent_of, above),
            none if anchor is None else anchor,
            none if below is None else none.index_add(0, egonets.sibling_of, below),
        ],
        dim=2,
    )


def _by_head(nodes: Tensor, like: Tensor, egonets: Egonets) -> tuple[Tensor, ...]:
    """Views of the grandparents, the anchors and the siblings, each [nodes, M, size]."""
    parts: tuple[Tensor, ...] = nodes.unflatten(1, (like.shape[1], -1)).split(egonets.sizes)
    return parts


def _dots(one: Tensor, other: Tensor) -> Tensor:
    """Dot products over the last dimension."""
    return (one * other).sum(-1)


def _over_heads(weights: Tensor, values: Tensor) -> Tensor:
    """Σ over heads of weight · value: [n, M] and [n, M, K] → [n, K]."""
    if weights.shape[1] == 1:
        return weights * values[:, 0]
    return (weights[..., None] * values).sum(1)
