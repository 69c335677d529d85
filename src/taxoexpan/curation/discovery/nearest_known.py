"""How close a candidate is to what the taxonomy has: near enough to belong, or the same thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taxoexpan.features.embedding import BLOCK_SIZE
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.names import normalize_name

NEAREST = 5
"""Known names that a candidate is compared with."""

SAME = 0.92
"""From this cosine on two names may well be of one thing."""

AKIN = 0.8
"""The same for names of words from the same stems: relation extraction, relationship extraction."""

_STEM = 5
_AT_A_TIME = 256


@dataclass(frozen=True)
class Kinship:
    """For each candidate its nearest known names, the nearest first, and their cosines with it."""

    nearest: Indices
    cosines: Vectors


def measure_kinship(encoder: Encoder, labels: Sequence[str], names: Sequence[str]) -> Kinship:
    """Compare the labels of candidates with the names of a taxonomy."""
    known = _encoded(encoder, names)
    few = min(NEAREST, len(names))
    nearest = np.zeros((len(labels), few), np.int64)
    cosines = np.zeros((len(labels), few), np.float32)
    for start in range(0, len(labels), _AT_A_TIME):
        block = slice(start, start + _AT_A_TIME)
        near = encoder.encode(labels[block]) @ known.T
        found = np.argpartition(near, -few, axis=1)[:, -few:]
        order = np.argsort(-np.take_along_axis(near, found, axis=1), axis=1, kind="stable")
        nearest[block] = np.take_along_axis(found, order, axis=1)
        cosines[block] = np.take_along_axis(near, nearest[block], axis=1)
    return Kinship(nearest, cosines)


def is_double(label: str, name: str, cosine: float) -> bool:
    """Whether a label may be of the same thing as a known name.

    Not where it is the name and some words more, which make it a narrower thing: neural machine
    translation is a machine translation.
    """
    own, known = normalize_name(label).split(), normalize_name(name).split()
    if set(known) < set(own) or len("".join(own)) < _STEM:
        return False
    return cosine >= SAME or (cosine >= AKIN and _same_stems(own, known))


def _same_stems(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether the words of two names are the same, or begin so."""
    return len(some) == len(others) and all(
        one == other or (len(one) >= _STEM and one[:_STEM] == other[:_STEM])
        for one, other in zip(some, others, strict=True)
    )


def _encoded(encoder: Encoder, names: Sequence[str]) -> Vectors:
    blocks = [encoder.encode(names[s : s + BLOCK_SIZE]) for s in range(0, len(names), BLOCK_SIZE)]
    return np.concatenate(blocks)
