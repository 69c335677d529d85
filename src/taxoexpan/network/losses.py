"""The losses of positive pairs and their negatives (Section 4.3)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

LogMatch = Callable[[Tensor], Tensor]
"""The function from raw scores to log f (see `Match.log_match`)."""

_BLOCKED = -1e9
"""Finite, so that a query whose anchors are all blocked does not give NaN gradients."""


def info_nce(
    log_match: LogMatch, positive: Tensor, scores: Tensor, blocked: Tensor
) -> tuple[Tensor, int]:
    r"""Return the summed InfoNCE loss (Eq. 11), and the number of instances.

    .. math:: -\sum_b \log \frac{f(a_b, n_b)}{f(a_b, n_b) + \sum_i f(a_i, n_b)}

    The raw scores are of positive pairs [B] and all pairs [A, B], and `blocked` [2, K] are pairs
    (anchor, query) that are not negatives.
    """
    positive, negatives = log_match(positive), log_match(scores)
    total = _replaced(negatives, blocked, _BLOCKED).logsumexp(0)
    return (torch.logaddexp(positive, total) - positive).sum(), len(positive)


def binary_cross_entropy(
    log_match: LogMatch, positive: Tensor, scores: Tensor, blocked: Tensor
) -> tuple[Tensor, int]:
    """Return the summed binary cross-entropy of logits (Section 5.1.5), and the number of pairs."""
    del log_match  # the sigmoid replaces it
    positives = F.softplus(-positive)
    negatives = _replaced(F.softplus(scores), blocked, 0.0)
    pairs = scores.numel() - blocked.shape[1] + len(positive)
    return positives.sum() + negatives.sum(), pairs


def _replaced(scores: Tensor, pairs: Tensor, value: float) -> Tensor:
    """Replace the scores [A, B] of some pairs [2, K] with a value."""
    return scores.index_put((pairs[0], pairs[1]), scores.new_full((), value))


LOSSES = {"infonce": info_nce, "bce": binary_cross_entropy}
