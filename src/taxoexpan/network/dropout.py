"""Dropout that is fast on a CPU, too."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def drop(values: Tensor, rate: float) -> Tensor:
    """Set values to zero at a rate, and scale the others so that the mean stays.

    A CPU draws random bytes, eight per number, because random floats are slow to draw.
    """
    if not rate:
        return values
    if values.device.type != "cpu":
        return F.dropout(values, rate)
    draws = torch.empty(-(-values.numel() // 8), dtype=torch.int64)
    random = draws.random_(-(2**63), None).view(torch.uint8)[: values.numel()]
    dropped = round(256 * rate)
    # The mask has floats: multiplying by a mask of booleans is several times slower.
    kept = random.to(values.dtype).sub_(dropped - 1).clamp_(0, 1)
    return values * kept.mul_(256 / (256 - dropped)).view_as(values)
