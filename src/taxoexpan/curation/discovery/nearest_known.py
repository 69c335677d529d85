"""The nearest known names of a candidate, and whether one of them names the same concept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taxoexpan.features.embedding import BLOCK_SIZE
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.names import normalize_name

NEAREST = 5
"""Known names that are found for each candidate."""

MIN_DUPLICATE_COSINE = 0.92
"""Two names with at least this cosine may name the same concept."""

MIN_SAME_STEM_COSINE = 0.8
"""The same for names with the same stems: relation extraction, relationship extraction."""

_STEM_LENGTH = 5
_BATCH_SIZE = 256


@dataclass(frozen=True)
class NearestNames:
    """The indices of each candidate's nearest known names, nearest first, and the cosines."""

    indices: Indices
    cosines: Vectors


def find_nearest_names(
    encoder: Encoder, labels: Sequence[str], names: Sequence[str]
) -> NearestNames:
    """Compare the labels of candidates with the names of a taxonomy."""
    known = _encoded(encoder, names)
    count = min(NEAREST, len(names))
    indices = np.zeros((len(labels), count), np.int64)
    cosines = np.zeros((len(labels), count), np.float32)
    for start in range(0, len(labels), _BATCH_SIZE):
        block = slice(start, start + _BATCH_SIZE)
        similar = encoder.encode(labels[block]) @ known.T
        best = np.argpartition(similar, -count, axis=1)[:, -count:]
        order = np.argsort(-np.take_along_axis(similar, best, axis=1), axis=1, kind="stable")
        indices[block] = np.take_along_axis(best, order, axis=1)
        cosines[block] = np.take_along_axis(similar, indices[block], axis=1)
    return NearestNames(indices, cosines)


def may_be_duplicate(label: str, name: str, cosine: float) -> bool:
    """Whether a label may name the same concept as a known name.

    A label that adds words to the name does not, because it names a narrower concept: neural
    machine translation is a machine translation.
    """
    own, known = normalize_name(label).split(), normalize_name(name).split()
    if set(known) < set(own) or len("".join(own)) < _STEM_LENGTH:
        return False
    if cosine >= MIN_DUPLICATE_COSINE:
        return True
    return cosine >= MIN_SAME_STEM_COSINE and _same_stems(own, known)


def _same_stems(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether the words of two names are equal or have the same stems."""
    return len(some) == len(others) and all(
        one == other or (len(one) >= _STEM_LENGTH and one[:_STEM_LENGTH] == other[:_STEM_LENGTH])
        for one, other in zip(some, others, strict=True)
    )


def _encoded(encoder: Encoder, names: Sequence[str]) -> Vectors:
    blocks = [encoder.encode(names[s : s + BLOCK_SIZE]) for s in range(0, len(names), BLOCK_SIZE)]
    return np.concatenate(blocks)
