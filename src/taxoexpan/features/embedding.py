"""Makes two vectors per concept: one of its names and definition, and one of its head words."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from taxoexpan.errors import ModelError
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.phrasing import join_words, pluralize
from taxoexpan.taxonomy import Concept

MAX_NAMED = 5
"""The number of concepts that a warning names."""

BLOCK_SIZE = 50_000
"""The number of concepts, and of texts, that are encoded at a time, which limits the memory."""

UNKNOWN_WARNING_FRACTION = 0.1
"""A warning is given if at least this fraction of the concepts has no vector."""


def names_of(concepts: Iterable[Concept]) -> list[str]:
    """All labels and synonyms of the concepts."""
    return [name for concept in concepts for name in (concept.label, *concept.synonyms)]


def embed_concepts(
    encoder: Encoder,
    concepts: Iterable[Concept],
    name_weight: float = 1.0,
    definition_weight: float = 1.0,
    joined: bool = False,
) -> Vectors:
    """Return two unit vectors per concept, [2, N, D].

    The first is the weighted sum of the mean of its names and its definition (Section 5.2.1 of the
    paper); if one of them is missing, it is the other. If `joined` is set, a concept with a
    definition is encoded as one text instead, `label: definition`. The second is the mean of the
    last words of its names, which say what kind of thing it is: oat milk is a milk.
    """
    if not isinstance(concepts, Sequence):
        concepts = list(concepts)
    weights = (0.0, 1.0) if joined else (name_weight, definition_weight)
    encoder.prepare(_all_texts(concepts, weights[1], joined))
    both = np.empty((2, len(concepts), encoder.dimension), dtype=np.float32)
    for start in range(0, len(concepts), BLOCK_SIZE):
        block = concepts[start : start + BLOCK_SIZE]
        texts = _Texts.of(block, weights[1], joined)
        both[:, start : start + len(block)] = _embed_block(encoder, texts, weights, len(block))
    return both


def refuse_unknown(both: Vectors, features: str) -> None:
    """Raise an error if no vector of [2, N, D] is known, and warn if many are unknown."""
    unknown, size = int((~both[0].any(axis=1)).sum()), both.shape[1]
    if unknown == size:
        message = f"{features!r} has no vector for any name of the taxonomy"
        raise ModelError(f"{message}; use vectors of the same language and subject")
    if unknown >= UNKNOWN_WARNING_FRACTION * size:
        message = f"{unknown:,} of {size:,} concepts have no vector in {features!r}"
        warnings.warn(f"{message}; add a second encoder, for example static+…", stacklevel=3)


def warn_of_weak_texts(both: Vectors, concepts: Sequence[Concept]) -> None:
    """Warn about concepts without a vector in [2, N, D], and about those without a word."""
    warn_of_unknown(both, concepts)
    warn_of_wordless(concepts)


def warn_of_unknown(both: Vectors, concepts: Sequence[Concept]) -> None:
    """Warn about concepts without a vector, whose results mean nothing."""
    unknown = np.flatnonzero(~both[0].any(axis=1)).tolist()
    if unknown:
        message = f"there is no vector for {concepts[unknown[0]].label!r}"
        others = f" and {pluralize(len(unknown) - 1, 'other concept')}" if unknown[1:] else ""
        fix = "results without a vector mean nothing, so add a definition"
        warnings.warn(f"{message}{others}; {fix}", stacklevel=3)


def warn_of_wordless(concepts: Sequence[Concept]) -> None:
    """Warn about concepts without a letter or digit in any text, such as an emoji or a dash."""
    wordless = [
        concept.label
        for concept in concepts
        if not any(map(str.isalnum, "".join((*names_of([concept]), concept.definition))))
    ]
    if wordless:
        named = [*map(repr, wordless[:MAX_NAMED])]
        if wordless[MAX_NAMED:]:
            named.append(pluralize(len(wordless) - MAX_NAMED, "other"))
        verb = "has" if len(wordless) == 1 else "have"
        fix = "results without words mean little, so add a definition"
        warnings.warn(f"{join_words(named)} {verb} no letter or digit; {fix}", stacklevel=3)


def head_word(name: str) -> str:
    """The last word of a name."""
    return name.split()[-1] if name.strip() else ""


@dataclass(frozen=True)
class _Texts:
    """The texts of some concepts, each with the row of its concept."""

    names: list[tuple[int, str]]
    definitions: list[tuple[int, str]]
    heads: list[tuple[int, str]]

    @classmethod
    def of(cls, concepts: Sequence[Concept], definition_weight: float, joined: bool) -> _Texts:
        """Collect the texts; definitions without a weight are left out."""
        names = [(row, name) for row, c in enumerate(concepts) for name in (c.label, *c.synonyms)]
        definitions = [(row, c.definition) for row, c in enumerate(concepts) if c.definition]
        heads = [(row, head_word(name)) for row, name in names]
        if joined:
            definitions = [(row, f"{concepts[row].label}: {text}") for row, text in definitions]
            names = [(row, name) for row, name in names if not concepts[row].definition]
        elif not definition_weight:
            definitions = []
        return cls(names, definitions, heads)

    def all(self) -> tuple[list[tuple[int, str]], ...]:
        """Return the three lists."""
        return self.names, self.definitions, self.heads


def _all_texts(concepts: Sequence[Concept], definition_weight: float, joined: bool) -> list[str]:
    """Return all texts that are encoded."""
    blocks = (concepts[s : s + BLOCK_SIZE] for s in range(0, len(concepts), BLOCK_SIZE))
    parts = (_Texts.of(block, definition_weight, joined) for block in blocks)
    return [text for part in parts for texts in part.all() for _, text in texts]


def _embed_block(
    encoder: Encoder, texts: _Texts, weights: tuple[float, float], size: int
) -> Vectors:
    """Return the two vectors of each of a few concepts: [2, size, D]."""
    name_weight, definition_weight = weights
    of_names = _mean_by_row(encoder, texts.names, size)
    first = of_names
    if texts.definitions:
        of_definitions = _mean_by_row(encoder, texts.definitions, size)
        undefined = ~of_definitions.any(axis=1, keepdims=True)
        weighted = name_weight * of_names + definition_weight * of_definitions
        first = np.where(undefined, of_names, weighted)
    return np.stack([normalize_rows(first), _mean_by_row(encoder, texts.heads, size)])


def _mean_by_row(encoder: Encoder, texts: list[tuple[int, str]], rows: int) -> Vectors:
    """The mean vector of the texts of each row, at unit length; the texts are sorted by row."""
    sums = np.zeros((rows, encoder.dimension), dtype=np.float32)
    for start in range(0, len(texts), BLOCK_SIZE):
        block = texts[start : start + BLOCK_SIZE]
        owners, starts = np.unique([row for row, _ in block], return_index=True)
        sums[owners] += np.add.reduceat(encoder.encode([text for _, text in block]), starts)
    return normalize_rows(sums)
