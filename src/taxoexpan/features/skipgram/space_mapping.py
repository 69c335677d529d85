"""Maps the vectors of one encoder into the space of the vectors learned from a corpus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import ModelError
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.features.skipgram.skipgram_training import SkipGramVectors
from taxoexpan.phrasing import pluralize

RIDGE_PENALTIES = tuple(10.0**power for power in range(-3, 4))

MIN_NAMES = 10
"""The number of names with a vector in both spaces that a mapping needs."""


@dataclass(frozen=True)
class SpaceMapping:
    """The affine map y = x M + b from the space of one encoder into another."""

    matrix: Vectors
    offset: Vectors

    def apply(self, vectors: Vectors) -> Vectors:
        """The mapped vectors at unit length; rows of zeros stay rows of zeros."""
        known = vectors.any(axis=1, keepdims=True)
        return normalize_rows((vectors @ self.matrix + self.offset) * known)


def fit_space_mapping(learned: SkipGramVectors, encoder: Encoder) -> SpaceMapping:
    """Fit a ridge regression from the encoder's vectors to the learned vectors of the same names.

    Leave-one-out errors select the penalty. The penalty pulls the mapped vectors toward the mean
    of all names, so the matrix is scaled until they vary as much as the learned vectors.
    """
    rows = [row for row, word in enumerate(learned.words) if word in learned.names]
    sources = encoder.encode([learned.words[row].replace("_", " ") for row in rows])
    known = sources.any(axis=1)
    if known.sum() < MIN_NAMES:
        count = pluralize(int(known.sum()), "name")
        message = f"the corpus mentions only {count} of the taxonomy often enough"
        fix = "use a corpus about the subject of the taxonomy"
        raise ModelError(f"{message}, but {MIN_NAMES} are needed; {fix}")
    x = sources[known].astype(np.float64)
    y = normalize_rows(learned.vectors[rows])[known].astype(np.float64)
    x_mean, y_mean = x.mean(axis=0), y.mean(axis=0)
    matrix = _ridge(x - x_mean, y - y_mean)
    mapped_norm = np.linalg.norm((x - x_mean) @ matrix)
    if mapped_norm > 0:
        matrix = matrix * (np.linalg.norm(y - y_mean) / mapped_norm)
    offset = y_mean - x_mean @ matrix
    return SpaceMapping(matrix.astype(np.float32), offset.astype(np.float32))


def _ridge(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the coefficients for centered x [N, D] and y [N, E] with the best penalty: [D, E].

    With x = U S Vᵀ, the prediction of a left-out row follows from the residual r and the leverage
    h of that row: its error is r / (1 - h).
    """
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    projected = u.T @ y

    def error(penalty: float) -> float:
        shrinkage = s**2 / (s**2 + penalty)
        leverage = 1 / len(x) + (u**2 @ shrinkage)
        residual = y - u @ (shrinkage[:, None] * projected)
        return float(np.square(residual / (1 - leverage)[:, None]).sum())

    best = min(RIDGE_PENALTIES, key=error)
    return vt.T @ ((s / (s**2 + best))[:, None] * projected)
