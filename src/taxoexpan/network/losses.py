"""Losses (Section 4.3): what a positive pair and its negatives come to."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

LogMatch = Callable[[Tensor], Tensor]

_FLOOR = -1e9
"""Finite, so that a query whose anchors are all blocked does not give NaN gradients."""


def info_nce(log_match: LogMatch, positive: Tensor, scores: Tensor, blocked: Tensor) -> Tensor:
    """InfoNCE, Eq. 11: the cross entropy of telling the positive pair from its negatives.

    positive [B] and scores [A, B] are raw; blocked [A, B] pairs are no negatives.
    """
    positive, others = log_match(positive), log_match(scores)
    others = others.masked_fill(blocked, _FLOOR).logsumexp(0)
    return (torch.logaddexp(positive, others) - positive).mean()


def binary_cross_entropy(
    log_match: LogMatch, positive: Tensor, scores: Tensor, blocked: Tensor
) -> Tensor:
    """BCE, Section 5.1.5: every pair an instance of its own, its raw score the logit."""
    del log_match  # the sigmoid stands in its place
    right, wrong = F.softplus(-positive), F.softplus(scores).masked_fill(blocked, 0.0)
    pairs = blocked.numel() - blocked.sum() + len(positive)
    return (right.sum() + wrong.sum()) / pairs


LOSSES = {"infonce": info_nce, "bce": binary_cross_entropy}
