"""Dropout that is quick on a CPU too."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def drop(values: Tensor, share: float) -> Tensor:
    """Some of the values zero and the others larger, so that the mean stays.

    On a CPU by random bytes, eight to a draw, since floats are dear to draw.
    """
    if not share:
        return values
    if values.device.type != "cpu":
        return F.dropout(values, share)
    draws = torch.empty(-(-values.numel() // 8), dtype=torch.int64)
    drawn = draws.random_(-(2**63), None).view(torch.uint8)[: values.numel()]
    dropped = round(256 * share)
    # As floats all the way: a mask of booleans is several times slower to multiply with.
    kept = drawn.to(values.dtype).sub_(dropped - 1).clamp_(0, 1)
    return values * kept.mul_(256 / (256 - dropped)).view_as(values)
