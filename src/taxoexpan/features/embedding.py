"""Makes two vectors per concept: one of its names and definition, and one of its head words."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from taxoexpan.errors import ModelError
from taxoexpan.features.encoder import Encoder, Vectors, normalize_rows
from taxoexpan.phrasing import join_words, pluralize
from taxoexpan.taxonomy import Concept

MAX_NAMED = 5
"""The number of concepts that a warning names."""

BLOCK_SIZE = 50_000
"""The number of texts that are encoded at a time, which limits the memory for their tokens."""

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
    concepts = list(concepts)
    names = [(row, name) for row, c in enumerate(concepts) for name in (c.label, *c.synonyms)]
    definitions = [(row, c.definition) for row, c in enumerate(concepts) if c.definition]
    heads = [(row, head_word(name)) for row, name in names]
    if joined:
        definitions = [(row, f"{concepts[row].label}: {text}") for row, text in definitions]
        names = [(row, name) for row, name in names if not concepts[row].definition]
        name_weight, definition_weight = 0.0, 1.0
    elif not definition_weight:
        definitions = []
    size = len(concepts)
    encoder.prepare([text for texts in (names, definitions, heads) for _, text in texts])
    of_names = _mean_by_row(encoder, names, size)
    of_definitions = _mean_by_row(encoder, definitions, size)
    undefined = ~of_definitions.any(axis=1, keepdims=True)
    weighted = name_weight * of_names + definition_weight * of_definitions
    first = normalize_rows(np.where(undefined, of_names, weighted))
    return np.stack([first, _mean_by_row(encoder, heads, size)])


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


def _mean_by_row(encoder: Encoder, texts: list[tuple[int, str]], rows: int) -> Vectors:
    """The mean vector of the texts of each row, at unit length; the texts are sorted by row."""
    sums = np.zeros((rows, encoder.dimension), dtype=np.float32)
    for start in range(0, len(texts), BLOCK_SIZE):
        block = texts[start : start + BLOCK_SIZE]
        owners, starts = np.unique([row for row, _ in block], return_index=True)
        sums[owners] += np.add.reduceat(encoder.encode([text for _, text in block]), starts)
    return normalize_rows(sums)
