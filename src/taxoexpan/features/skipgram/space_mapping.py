"""Maps the vectors of one encoder into the space of the vectors learned from a corpus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    from sklearn.linear_model import RidgeCV

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
    matrix = RidgeCV(RIDGE_PENALTIES).fit(x, y).coef_.T
    x_mean, y_mean = x.mean(axis=0), y.mean(axis=0)
    mapped_norm = np.linalg.norm((x - x_mean) @ matrix)
    if mapped_norm > 0:
        matrix = matrix * (np.linalg.norm(y - y_mean) / mapped_norm)
    offset = y_mean - x_mean @ matrix
    return SpaceMapping(matrix.astype(np.float32), offset.astype(np.float32))
