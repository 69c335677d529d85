"""A stored difference of weights: matrices are products of two factors, the others are whole."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

LEFT = ":left"
RIGHT = ":right"
"""The ends of the names of a matrix's two factors."""


def with_difference(
    start: Mapping[str, Tensor], difference: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Return the weights at the start plus a difference."""
    weights = {}
    for name, weight in start.items():
        change = difference.get(name)
        if change is None:
            change = difference[name + LEFT].float() @ difference[name + RIGHT].float()
        weights[name] = weight + change.float().to(weight.device)
    return weights
