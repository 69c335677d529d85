"""A tiny encoder, and skip-gram vectors that depend linearly on its vectors."""

from __future__ import annotations

import numpy as np

from taxoexpan.features.encoder import Vectors
from taxoexpan.features.skipgram_training import SkipGramVectors


class Letters:
    """Encodes a text by the counts of its letters."""

    name = "letters"
    dimension = 26

    def encode(self, texts: list[str]) -> Vectors:
        alphabet = "abcdefghijklmnopqrstuvwxyz"
        counts = [[text.lower().count(letter) for letter in alphabet] for text in texts]
        vectors = np.array(counts, dtype=np.float32).reshape(-1, 26)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)


def linear_vectors(size: int = 60, noise: float = 0.0) -> SkipGramVectors:
    """Names whose vectors are an affine map of their `Letters` vectors, plus noise."""
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), 6)) for _ in range(size)]
    matrix, offset = rng.normal(size=(26, 5)), rng.normal(size=5)
    vectors = Letters().encode(words) @ matrix + offset + noise * rng.normal(size=(size, 5))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    counts = np.arange(size, 0, -1)
    return SkipGramVectors(tuple(words), frozenset(words), counts, unit.astype(np.float32))
