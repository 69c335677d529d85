"""A concept's vectors: one of its names and its definition, and one of its head words."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from taxoexpan.errors import ModelError
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy import Concept

BLOCK = 50_000
"""Texts encoded at a time, so that a million names need no room for all their tokens."""

UNKNOWN_SHARE = 0.1
"""The share of concepts without a vector from which on the user is told."""


def names_of(concepts: Iterable[Concept]) -> list[str]:
    """All labels and synonyms."""
    return [name for concept in concepts for name in (concept.label, *concept.synonyms)]


def embed_concepts(
    encoder: Encoder,
    concepts: Iterable[Concept],
    name_weight: float = 1.0,
    definition_weight: float = 1.0,
    joined: bool = False,
) -> Vectors:
    """Two unit vectors a concept, [2, N, D].

    The first is the mean of its names plus its definition, each with its weight (Section 5.2.1 of
    the paper); where one of them is missing the other stands alone. Where they are `joined`, a
    concept that has a definition is one text instead, `label: definition`. The second is the mean
    of the names' last words, which say what kind of thing it is: oat milk is a milk.
    """
    concepts = list(concepts)
    names = [(row, name) for row, c in enumerate(concepts) for name in (c.label, *c.synonyms)]
    definitions = [(row, c.definition) for row, c in enumerate(concepts) if c.definition]
    heads = [(row, head_word(name)) for row, name in names]
    if joined:
        definitions = [(row, f"{concepts[row].label}: {text}") for row, text in definitions]
        names = [(row, name) for row, name in names if not concepts[row].definition]
    elif not definition_weight:
        definitions = []
    size = len(concepts)
    encoder.prepare([text for texts in (names, definitions, heads) for _, text in texts])
    named = _mean_by_row(encoder, names, size)
    defined = _mean_by_row(encoder, definitions, size)
    alone = ~defined.any(axis=1, keepdims=True)
    weights = (0.0, 1.0) if joined else (name_weight, definition_weight)
    both = np.where(alone, named, weights[0] * named + weights[1] * defined)
    return np.stack([normalize_rows(both), _mean_by_row(encoder, heads, size)])


def refuse_unknown(both: Vectors, features: str) -> None:
    """Refuse vectors [2, N, D] that know nothing of a taxonomy, and say where they know little."""
    unknown, size = int((~both[0].any(axis=1)).sum()), both.shape[1]
    if unknown == size:
        message = f"{features!r} has no vector for any name of the taxonomy"
        raise ModelError(f"{message}; is it of another language, or about other things?")
    if unknown >= UNKNOWN_SHARE * size:
        message = f"{unknown:,} of {size:,} concepts have no vector by {features!r}"
        warnings.warn(f"{message}; another one beside it, as static+…, may know them", stacklevel=3)


def warn_of_unknown(both: Vectors, concepts: Sequence[Concept]) -> None:
    """Say which concepts nothing is known of, so that what is made of them means nothing."""
    unknown = np.flatnonzero(~both[0].any(axis=1)).tolist()
    if unknown:
        message = f"nothing is known of {concepts[unknown[0]].label!r}"
        others = f" and {pluralize(len(unknown) - 1, 'other')}" if unknown[1:] else ""
        mend = "what is found for it means nothing, so give a definition"
        warnings.warn(f"{message}{others}; {mend}", stacklevel=3)


def head_word(name: str) -> str:
    """The last word of a name."""
    return name.split()[-1] if name.strip() else ""


def _mean_by_row(encoder: Encoder, texts: list[tuple[int, str]], rows: int) -> Vectors:
    """The mean, at unit length, of the vectors of each row's texts, which are in order of rows."""
    sums = np.zeros((rows, encoder.dimension), dtype=np.float32)
    for start in range(0, len(texts), BLOCK):
        block = texts[start : start + BLOCK]
        owners, starts = np.unique([row for row, _ in block], return_index=True)
        sums[owners] += np.add.reduceat(encoder.encode([text for _, text in block]), starts)
    return normalize_rows(sums)
