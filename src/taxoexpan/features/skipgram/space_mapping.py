"""From the vectors of one encoder to those that were learned from a corpus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import ModelError
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.features.skipgram.skipgram_training import SkipGramVectors
from taxoexpan.phrasing import pluralize

RIDGES = tuple(10.0**power for power in range(-3, 4))
"""How strongly a bridge may be held back."""

LEAST_PAIRS = 10
"""Names that must have both vectors for a bridge to be built on them."""


@dataclass(frozen=True)
class SpaceMapping:
    """y = x M + b: from the space of one encoder into that of another."""

    matrix: Vectors
    offset: Vectors

    def cross(self, vectors: Vectors) -> Vectors:
        """The vectors at unit length in the other space; a row of zeros stays one."""
        known = vectors.any(axis=1, keepdims=True)
        return normalize_rows((vectors @ self.matrix + self.offset) * known)


def fit_space_mapping(learned: SkipGramVectors, encoder: Encoder) -> SpaceMapping:
    """Ridge regression on the names that both know, from the encoder's vectors to the learned ones.

    How strongly it is held back is chosen by the error on each name when it is left out. What is
    held back lies too near the mean of all names, so it is spread as far as the real vectors are.
    """
    rows = [row for row, word in enumerate(learned.words) if word in learned.names]
    sources = encoder.encode([learned.words[row].replace("_", " ") for row in rows])
    known = sources.any(axis=1)
    if known.sum() < LEAST_PAIRS:
        message = f"the corpus says only {pluralize(int(known.sum()), 'name')} often enough"
        raise ModelError(f"{message}, and {LEAST_PAIRS} are needed; give one that is about them")
    x = sources[known].astype(np.float64)
    y = normalize_rows(learned.vectors[rows])[known].astype(np.float64)
    middle_x, middle_y = x.mean(axis=0), y.mean(axis=0)
    matrix = _ridge(x - middle_x, y - middle_y)
    spread = np.linalg.norm((x - middle_x) @ matrix)
    if spread > 0:
        matrix *= np.linalg.norm(y - middle_y) / spread
    offset = middle_y - middle_x @ matrix
    return SpaceMapping(matrix.astype(np.float32), offset.astype(np.float32))


def _ridge(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """(xᵀx + λ)⁻¹ xᵀy for the λ with the least error on rows that are left out, of centred x and y.

    A row's error without it is its error with it, divided by 1 - h, h being its own leverage.
    """
    values, basis = np.linalg.eigh(x.T @ x)
    turned = x @ basis
    moments = turned.T @ y
    errors = []
    for ridge in RIDGES:
        held = 1 / (np.maximum(values, 0) + ridge)
        leverage = turned**2 @ held + 1 / len(x)
        residuals = y - turned @ (held[:, None] * moments)
        errors.append(np.square(residuals / np.maximum(1 - leverage, 1e-6)[:, None]).sum())
    best = RIDGES[int(np.argmin(errors))]
    return np.asarray(basis @ (moments / (np.maximum(values, 0) + best)[:, None]))
