"""The best of the scores of all anchors, and the totals that turn scores into probabilities."""

from __future__ import annotations

import torch
from torch import Tensor

GROUP_SIZE = 64
"""Anchors in one group when the best anchors are searched: in larger groups, there are fewer maxima
to compare, but more scores in the best groups."""


class ScoreSummary:
    """Maxima and totals of scores [N, Q]; every slice but the last has whole groups of rows."""

    def __init__(self, temperature: float = 1.0) -> None:
        self._temperature = temperature
        self._maxima: list[Tensor] = []
        self._highest: list[Tensor] = []
        self._sums: list[Tensor] = []
        self._tempered_sums: list[Tensor] = []

    def add(self, scores: Tensor) -> None:
        """Add the next slice [n, Q]."""
        whole = len(scores) // GROUP_SIZE
        maxima = scores[: whole * GROUP_SIZE].unflatten(0, (whole, GROUP_SIZE)).amax(1)
        self._maxima.append(maxima)
        parts = [part.amax(0) for part in (maxima, scores[whole * GROUP_SIZE :]) if len(part)]
        highest = parts[0] if len(parts) == 1 else torch.maximum(*parts)
        # If all scores are minus infinity, so would be the highest, and the difference undefined.
        highest = highest.clamp_(min=torch.finfo(scores.dtype).min)
        self._highest.append(highest)
        shifted = scores - highest
        if self._temperature != 1:
            self._tempered_sums.append((shifted / self._temperature).exp_().sum(0))
        self._sums.append(shifted.exp_().sum(0))

    def best_of(self, scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return the k highest of all added scores, and their rows: two of [k, Q]."""
        return best_of(scores, k, torch.cat(self._maxima))

    def log_totals(self) -> tuple[Tensor, Tensor]:
        """Return the logarithm of the summed exponentials, plain and at the temperature: [Q]."""
        highest = torch.stack(self._highest)
        plain = (torch.stack(self._sums).log_() + highest).logsumexp(0)
        if self._temperature == 1:
            return plain, plain
        tempered = torch.stack(self._tempered_sums).log_() + highest / self._temperature
        return plain, tempered.logsumexp(0)


def best_of(scores: Tensor, k: int, maxima: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the k highest scores of each column and their rows: [N, Q] → two of [k, Q].

    They lie in the k groups of rows with the highest `maxima`, so only these groups are sorted.
    """
    groups = len(scores) // GROUP_SIZE
    if k >= groups:
        best, rows = scores.topk(k, dim=0)
        return best, rows
    size = groups * GROUP_SIZE
    whole, rest = scores.split([size, len(scores) - size])
    if maxima is None:
        maxima = whole.view(groups, GROUP_SIZE, -1).amax(1)
    inside = torch.arange(GROUP_SIZE, device=scores.device)[None, :, None]
    rows = (maxima.topk(k, dim=0).indices[:, None] * GROUP_SIZE + inside).flatten(0, 1)
    tail = torch.arange(size, len(scores), device=scores.device)
    rows = torch.cat([rows, tail[:, None].expand(-1, scores.shape[1])])
    best, indices = torch.cat([scores.gather(0, rows[: k * GROUP_SIZE]), rest]).topk(k, dim=0)
    return best, rows.gather(0, indices)
