"""Losses (Section 4.3): what a positive pair and its negatives come to."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

LogMatch = Callable[[Tensor], Tensor]

_FLOOR = -1e9
"""Finite, so that a query whose anchors are all blocked does not give NaN gradients."""


def info_nce(
    log_match: LogMatch, positive: Tensor, scores: Tensor, blocked: Tensor
) -> tuple[Tensor, int]:
    """InfoNCE, Eq. 11: the cross entropy of telling the positive pair from its negatives.

    positive [B] and scores [A, B] are raw; the pairs at `blocked` [2, K] are no negatives. As every
    loss, a sum, and the number of instances that its mean is over.
    """
    positive, others = log_match(positive), log_match(scores)
    others = _with(_FLOOR, others, blocked).logsumexp(0)
    return (torch.logaddexp(positive, others) - positive).sum(), len(positive)


def binary_cross_entropy(
    log_match: LogMatch, positive: Tensor, scores: Tensor, blocked: Tensor
) -> tuple[Tensor, int]:
    """BCE, Section 5.1.5: every pair an instance of its own, its raw score the logit."""
    del log_match  # the sigmoid stands in its place
    right, wrong = F.softplus(-positive), _with(0.0, F.softplus(scores), blocked)
    pairs = scores.numel() - blocked.shape[1] + len(positive)
    return right.sum() + wrong.sum(), pairs


def _with(value: float, scores: Tensor, places: Tensor) -> Tensor:
    """The scores with this value at some places [2, K]."""
    return scores.index_put((places[0], places[1]), scores.new_full((), value))


LOSSES = {"infonce": info_nce, "bce": binary_cross_entropy}
