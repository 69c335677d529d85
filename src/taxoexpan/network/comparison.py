"""What the fusion head looks at: a query's cosines with an anchor and with its children."""

from __future__ import annotations

import torch
from torch import Tensor

from taxoexpan.egonets import Egonets

FEATURES = 7
"""For whole names and for head words: the anchor, its nearest and its mean child; their number."""


def compare(cosines: Tensor, egonets: Egonets) -> Tensor:
    """The features [7, A, B] of every pair, from the concepts' cosines [2, C, B] with B queries."""
    anchors, siblings = _around(cosines, egonets)
    counts = torch.bincount(egonets.sibling_of, minlength=egonets.size)
    return _features(anchors, siblings, _sums(siblings, egonets), counts[:, None], egonets)


def compare_leaving_out(
    cosines: Tensor, egonets: Egonets, positives: Tensor, own: Tensor
) -> Tensor:
    """The same, but query b is not among the children of its own parent `positives[b]`.

    `own[b]` is its row among the siblings, or -1 where it was not drawn.
    """
    if not len(egonets.sibling_of):
        return compare(cosines, egonets)
    anchors, siblings = _around(cosines, egonets)
    sums = _sums(siblings, egonets)
    counts = torch.bincount(egonets.sibling_of, minlength=egonets.size)
    counts = counts[:, None].repeat(1, len(own))
    there, row = own >= 0, own.clamp(min=0)
    columns = torch.arange(len(own), device=own.device)
    itself = siblings[:, row, columns]
    sums[:, positives, columns] -= itself * there
    counts[positives, columns] -= there.to(counts.dtype)
    siblings[:, row, columns] = torch.where(there, -1.0, itself)
    return _features(anchors, siblings, sums, counts, egonets)


def _around(cosines: Tensor, egonets: Egonets) -> tuple[Tensor, Tensor]:
    """The cosines of the anchors [2, A, B] and of the siblings [2, S, B]."""
    _, anchor, below = egonets.nodes.split(egonets.sizes)
    return cosines.index_select(1, anchor), cosines.index_select(1, below)


def _sums(siblings: Tensor, egonets: Egonets) -> Tensor:
    sums = siblings.new_zeros(len(siblings), egonets.size, siblings.shape[2])
    return sums.index_add_(1, egonets.sibling_of, siblings)


def _features(
    anchors: Tensor, siblings: Tensor, sums: Tensor, counts: Tensor, egonets: Egonets
) -> Tensor:
    nearest = torch.full_like(sums, -1.0)
    wide = egonets.sibling_of[None, :, None].expand_as(siblings)
    nearest.scatter_reduce_(1, wide, siblings, "amax")
    nearest *= counts > 0
    mean = sums / counts.clamp(min=1)
    number = counts.to(anchors.dtype).log1p().expand(anchors.shape[1:])
    return torch.cat([anchors, nearest, mean, number[None]])
