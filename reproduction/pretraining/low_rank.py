"""The difference of trained weights to those that the training started from, with a low rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from taxoexpan.features.low_rank import LEFT, RIGHT

MAX_BYTES = 10_000_000
"""The size of a stored difference, at most."""
HEADER_BYTES = 100_000
"""What the names and shapes take in a file, at most."""
HALF_BYTES = 2
"""The bytes of a number in half precision."""


def low_rank_difference(
    start: Mapping[str, Tensor], trained: Mapping[str, Tensor], max_bytes: int = MAX_BYTES
) -> tuple[int, dict[str, Tensor]]:
    """Return the rank, and the difference of all weights in half precision.

    Matrices are a product of two factors, of the largest rank that fits; others are whole.
    """
    rank = largest_rank([weight.shape for weight in start.values()], max_bytes - HEADER_BYTES)
    difference: dict[str, Tensor] = {}
    for name, weight in trained.items():
        change = weight.float() - start[name].to(weight.device).float()
        if is_factored(change.shape, rank):
            left, right = factors(change, rank)
            difference[name + LEFT], difference[name + RIGHT] = left.half(), right.half()
        else:
            difference[name] = change.half()
    return rank, {name: each.cpu().contiguous() for name, each in difference.items()}


def factors(matrix: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Return the best factors [M, R] and [R, N] of a matrix [M, N], by its largest singular values.

    The singular vectors of the shorter side are the eigenvectors of a product of the matrix with
    itself, which is faster than a decomposition of a long matrix.
    """
    if matrix.shape[0] < matrix.shape[1]:
        left, right = factors(matrix.T, rank)
        return right.T, left.T
    double = matrix.double()
    vectors = torch.linalg.eigh(double.T @ double).eigenvectors[:, -rank:]
    return (double @ vectors).float(), vectors.T.float()


def largest_rank(shapes: Iterable[torch.Size], max_bytes: int) -> int:
    """Return the largest rank with which all weights fit into so many bytes, at least 1."""
    sizes = list(shapes)
    rank = 1
    while rank < max(map(min, sizes)) and stored_bytes(sizes, rank + 1) <= max_bytes:
        rank += 1
    return rank


def stored_bytes(shapes: Iterable[torch.Size], rank: int) -> int:
    """Return the bytes of weights of these shapes with a rank."""
    counts = (rank * sum(s) if is_factored(s, rank) else s.numel() for s in shapes)
    return HALF_BYTES * sum(counts)


def is_factored(shape: torch.Size, rank: int) -> bool:
    """Return whether the factors of a matrix are smaller than the matrix."""
    return len(shape) == 2 and rank * sum(shape) < shape.numel()
