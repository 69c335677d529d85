"""What the fusion head looks at: a query's cosines with an anchor and with its children.

All vectors have unit length, so a cosine is a dot product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from taxoexpan.network.egonets import Egonets, Position

FEATURES = 8
"""For whole names and for head words: the anchor, its nearest and its mean child; their number;
and a one, for the bias."""


@dataclass(frozen=True)
class Cosines:
    """The cosines [n, B] of vectors with B queries; `rows` [A + S] has anchors, then siblings."""

    values: Tensor
    rows: Tensor

    def around(self, egonets: Egonets) -> tuple[Tensor, Tensor]:
        """The rows of the anchors [A] and the cosines of the siblings [S, B]."""
        anchors, siblings = self.rows.split(egonets.sizes[1:])
        return anchors, self.values.index_select(0, siblings)


def compare(names: Cosines, heads: Cosines, egonets: Egonets) -> Tensor:
    """The features [8, A, B] of every pair."""
    counts = egonets.counts[:, Position.SIBLING].to(names.values.dtype)
    compared = names.values.new_empty(FEATURES, egonets.size, names.values.shape[1])
    for kind, cosines in enumerate((names, heads)):
        anchors, siblings = cosines.around(egonets)
        _fill(compared[kind::2], cosines, anchors, siblings, counts, egonets)
    compared[6], compared[7] = counts.log1p()[:, None], 1.0
    return compared


def compare_leaving_out(
    names: Cosines, heads: Cosines, egonets: Egonets, positives: Tensor, own: Tensor
) -> Tensor:
    """The same, but query b is not among the children of its own parent `positives[b]`.

    `own[b]` is its row among the siblings, or -1 where it was not drawn.
    """
    if not len(egonets.sibling_of):
        return compare(names, heads, egonets)
    counts = egonets.counts[:, Position.SIBLING].to(names.values.dtype)
    compared = names.values.new_empty(FEATURES, egonets.size, len(own))
    columns = torch.arange(len(own), device=own.device)
    there, row = (own >= 0).to(compared.dtype), own.clamp(min=0)
    with_it = counts.index_select(0, positives)
    left = with_it - there
    for kind, cosines in enumerate((names, heads)):
        anchors, siblings = cosines.around(egonets)
        # A child at -1 is never the nearest, and what it does to the sum is known.
        siblings[row, columns] = siblings[row, columns].lerp(-torch.ones_like(there), there)
        _fill(compared[kind::2], cosines, anchors, siblings, counts, egonets)
        _, nearest, mean = compared[kind::2][:3]
        nearest[positives, columns] *= left.clamp(max=1)
        total = mean[positives, columns] * with_it + there
        mean[positives, columns] = total / left.clamp(min=1)
    compared[6], compared[7] = counts.log1p()[:, None], 1.0
    compared[6][positives, columns] = left.log1p()
    return compared


def compare_pairs(
    own: Tensor, siblings: Tensor, sibling_of: Tensor, chosen: Tensor
) -> tuple[Tensor, Tensor]:
    """The features [8, P] of single pairs, and [8, V] of pairs whose anchor has lost a child.

    `own` [2, P] and `siblings` [2, S] are the cosines, by whole names and by head words, with the
    anchors and with all their children; child s stands in pair `sibling_of[s]`. `chosen` [V] are
    the children that are left out, one at a time.
    """
    pairs, of = own.shape[1], sibling_of.index_select(0, chosen)
    counts = own.new_zeros(pairs).index_add_(0, sibling_of, torch.ones_like(siblings[0]))
    left = counts.index_select(0, of) - 1
    compared, fewer = own.new_empty(FEATURES, pairs), own.new_empty(FEATURES, len(chosen))
    for kind, cosines in enumerate(siblings):
        total = own.new_zeros(pairs).index_add_(0, sibling_of, cosines)
        nearest = _highest(cosines, sibling_of, pairs)
        # Where several are the nearest, one of them is after the loss of another.
        at_top = cosines == nearest.index_select(0, sibling_of)
        alone = own.new_zeros(pairs).index_add_(0, sibling_of, at_top.to(own.dtype)) == 1
        second = _highest(cosines.masked_fill(at_top, -1.0), sibling_of, pairs)
        lost = cosines.index_select(0, chosen)
        falls = (at_top & alone.index_select(0, sibling_of)).index_select(0, chosen)
        remaining = torch.where(falls, second.index_select(0, of), nearest.index_select(0, of))
        compared[kind] = own[kind]
        compared[2 + kind] = nearest * counts.clamp(max=1)
        compared[4 + kind] = total / counts.clamp(min=1)
        fewer[kind] = own[kind].index_select(0, of)
        fewer[2 + kind] = remaining * left.clamp(max=1)
        fewer[4 + kind] = (total.index_select(0, of) - lost) / left.clamp(min=1)
    compared[6], compared[7] = counts.log1p(), 1.0
    fewer[6], fewer[7] = left.log1p(), 1.0
    return compared, fewer


def _highest(cosines: Tensor, of: Tensor, pairs: int) -> Tensor:
    """The highest cosine of each pair [P], or -1."""
    return cosines.new_full((pairs,), -1.0).scatter_reduce_(0, of, cosines, "amax")


def _fill(
    into: Tensor,
    cosines: Cosines,
    anchors: Tensor,
    siblings: Tensor,
    counts: Tensor,
    egonets: Egonets,
) -> None:
    """Write the cosines with the anchor, its nearest and its mean child, each [A, B].

    One kind at a time: in two dimensions torch's reductions by index take their fast ways.
    """
    anchor, nearest, mean = into[:3]
    torch.index_select(cosines.values, 0, anchors, out=anchor)
    wide = egonets.sibling_of[:, None].expand_as(siblings)
    nearest.fill_(-1.0).scatter_reduce_(0, wide, siblings, "amax")
    nearest *= counts.clamp(max=1)[:, None]
    mean.zero_().index_add_(0, egonets.sibling_of, siblings)
    mean /= counts.clamp(min=1)[:, None]


class FusionHead(nn.Module):
    """A small network on what the eye would compare, added to the raw score of a match.

    For each pair, the query's cosines with the anchor, its nearest child and its mean child, by
    whole names and by head words, and the logarithm of the number of children: the insight of
    Closest-Neighbor and dist-XGBoost, given to the network. Shapes: [8, A, B] → [A, B].
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = nn.Parameter(torch.empty(hidden, FEATURES))
        self.output = nn.Parameter(torch.empty(1, hidden))

    def reset(self, generator: torch.Generator) -> None:
        """Draw the weights (Glorot); the bias, which is the last column, is zero."""
        nn.init.xavier_normal_(self.hidden.data[:, :-1], generator=generator)
        nn.init.zeros_(self.hidden.data[:, -1])
        nn.init.xavier_normal_(self.output, generator=generator)

    def forward(self, compared: Tensor) -> Tensor:
        """The score of each pair."""
        pairs = compared.flatten(1)
        fused: Tensor = _Fuse.apply(pairs, self.hidden, self.output)
        return fused.view(compared.shape[1:])


class _Fuse(torch.autograd.Function):
    """out = o · relu(V x) for P pairs x [8, P], and the gradients of V and o.

    A query and an anchor have no gradient here, so the way back is one product: with M = g where a
    unit is awake, both gradients come from M xᵀ.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, output: Tensor) -> Tensor:
        """[8, P] → [1, P]."""
        units = (weight @ x).relu_()
        ctx.save_for_backward(x, units, weight, output)
        return output @ units

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, Tensor]:
        """[1, P] → the gradients of the weights."""
        x, units, weight, output = ctx.saved_tensors
        awake = torch.ops.aten.threshold_backward(gradient.expand_as(units), units, 0)
        by_unit = awake @ x.T
        return None, output.T * by_unit, (weight * by_unit).sum(1)[None]
