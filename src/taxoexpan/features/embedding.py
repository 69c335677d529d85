"""Two vectors per concept: for its names and definition, and for its head words."""

from __future__ import annotations

import re
import unicodedata
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
"""The number of concepts, and of texts, that are encoded at a time, which limits the memory."""

UNKNOWN_WARNING_FRACTION = 0.1
"""A warning is given if at least this fraction of the concepts has no vector."""
MAX_FOREIGN_FRACTION = 0.1
"""Labels with a larger fraction of foreign ones are not English.

Measured on 3,000 product categories of Shopify in each of 30 languages: Dutch 23 %, Finnish 28 %,
Italian 31 %, German 41 %, French 77 %, Czech 89 %, Russian, Japanese and Chinese over 99 %; only
Indonesian, with 7 %, is missed. Labels of one word show less: Czech 47 %, German 30 %, French 21 %,
Italian and Dutch 1 % at most. English stays far below: product categories, computer science and the
nouns of WordNet 0.3 % at most, names of chemicals 0.6 %, and names of species and genera, most of
them Latin, none. The words below were chosen on these lists too. WordNet and the chemicals are in
ASCII, so accents in English labels were measured on the product categories and computer science.
"""


def names_of(concepts: Iterable[Concept]) -> list[str]:
    """Return all labels and synonyms of the concepts."""
    return [name for concept in concepts for name in (concept.label, *concept.synonyms)]


def embed_concepts(
    encoder: Encoder,
    concepts: Iterable[Concept],
    name_weight: float = 1.0,
    definition_weight: float = 1.0,
    joined: bool = False,
) -> Vectors:
    """Return two unit vectors per concept, [2, N, D].

    The first is the weighted sum of its definition and the mean of its names (Section 5.2.1). If
    `joined`, the definition is read as `label: definition`. The second is the mean of the last
    words of its names, which name its kind: oat milk is a milk.
    """
    if not isinstance(concepts, Sequence):
        concepts = list(concepts)
    weights = name_weight, definition_weight
    every = _texts_of(concepts, weights, joined)
    encoder.prepare([text for texts in every for _, text in texts])
    del every  # many texts take much memory
    both = np.empty((2, len(concepts), encoder.dimension), dtype=np.float32)
    for start in range(0, len(concepts), BLOCK_SIZE):
        block = concepts[start : start + BLOCK_SIZE]
        both[:, start : start + len(block)] = _embed_block(encoder, block, weights, joined)
    return both


def refuse_unknown(both: Vectors, features: str) -> None:
    """Raise an error if all vectors [2, N, D] are unknown, and warn if many are."""
    unknown = int((~both[0].any(axis=1)).sum())
    size = both.shape[1]
    if unknown == size:
        message = f"{features!r} has no vector for any name of the taxonomy"
        raise ModelError(message, fix="use vectors of the same language and subject")
    if unknown >= UNKNOWN_WARNING_FRACTION * size:
        message = f"{unknown:,} of {size:,} concepts have no vector in {features!r}"
        warnings.warn(f"{message}; add a second encoder, for example static+…", stacklevel=3)


def warn_of_weak_texts(both: Vectors, concepts: Sequence[Concept]) -> None:
    """Warn about concepts without a vector in [2, N, D], and about concepts without a word."""
    _warn_of_unknown(both, concepts)
    warn_of_wordless(concepts)


def _warn_of_unknown(both: Vectors, concepts: Sequence[Concept]) -> None:
    """Warn about concepts without a vector, whose results are meaningless."""
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
    """Return the last word of a name."""
    return name.split()[-1] if name.strip() else ""


_Texts = list[tuple[int, str]]
"""Texts, each with the row of its concept."""


def _texts_of(
    concepts: Sequence[Concept], weights: tuple[float, float], joined: bool
) -> tuple[_Texts, _Texts, _Texts]:
    """Return the names, the definitions and the head words; leave out unused texts."""
    names = [(row, name) for row, c in enumerate(concepts) for name in (c.label, *c.synonyms)]
    definitions = [(row, c.definition) for row, c in enumerate(concepts) if c.definition]
    heads = [(row, head_word(name)) for row, name in names]
    if joined:
        definitions = [(row, f"{concepts[row].label}: {text}") for row, text in definitions]
    if not weights[0]:
        names = [(row, name) for row, name in names if not concepts[row].definition]
    if not weights[1]:
        definitions = []
    return names, definitions, heads


def _embed_block(
    encoder: Encoder, concepts: Sequence[Concept], weights: tuple[float, float], joined: bool
) -> Vectors:
    """Return the two vectors of each of a few concepts: [2, B, D]."""
    names, definitions, heads = _texts_of(concepts, weights, joined)
    of_names = _mean_by_row(encoder, names, len(concepts))
    first = of_names
    if definitions:
        of_definitions = _mean_by_row(encoder, definitions, len(concepts))
        undefined = ~of_definitions.any(axis=1, keepdims=True)
        weighted = weights[0] * of_names + weights[1] * of_definitions
        first = np.where(undefined, of_names, weighted)
    return np.stack([normalize_rows(first), _mean_by_row(encoder, heads, len(concepts))])


def _mean_by_row(encoder: Encoder, texts: list[tuple[int, str]], rows: int) -> Vectors:
    """Return the mean vector of each row's texts, at unit length; texts are sorted by row."""
    sums = np.zeros((rows, encoder.dimension), dtype=np.float32)
    for start in range(0, len(texts), BLOCK_SIZE):
        block = texts[start : start + BLOCK_SIZE]
        owners, starts = np.unique([row for row, _ in block], return_index=True)
        sums[owners] += np.add.reduceat(encoder.encode([text for _, text in block]), starts)
    return normalize_rows(sums)


_FUNCTION_WORDS = {
    "auf", "aus", "aux", "avec", "con", "da", "dan", "de", "degli", "del", "della",
    "delle", "dei", "der", "di", "dla", "du", "een", "für", "för", "het", 
    "için", "les", "los", "mit", "og", "och", "oder", "para", "pentru",
    "por", "pour", "senza", "sur", "til", "till", "una", "und", "une", "untuk", "ve",
    "von", "voor", "za", "zum", "zur",
}  # fmt: skip
"""Frequent short words of other languages that are neither English nor Latin."""

_WORD = re.compile(r"[^\W\d_]+")


def warn_of_language(features: str, labels: Sequence[str]) -> None:
    """Warn if an English-only encoder gets labels in another language."""
    if not all(_is_english(part.strip().lower()) for part in features.split("+")):
        return
    foreign = sum(map(_is_foreign, labels))
    if foreign > MAX_FOREIGN_FRACTION * len(labels):
        warnings.warn(
            f"the labels do not seem to be English, but the encoder {features!r} knows only "
            "English; set features to a multilingual one: transformer:NAME_OR_PATH",
            stacklevel=3,
        )


def _is_english(encoder: str) -> bool:
    """Return whether an encoder is known to be for English only."""
    is_transformer = encoder.startswith("transformer:")
    return encoder in ("large", "pretrained", "static") or (
        is_transformer and encoder.endswith("all-minilm-l6-v2")
    )


def _is_foreign(label: str) -> bool:
    """Return whether a label has a non-English letter or function word."""
    words = _WORD.findall(unicodedata.normalize("NFKC", label).lower())
    # A single Greek letter is English too, as in α-pinene.
    others = (word for word in words if len(word) > 1 or not "α" <= word <= "ω")
    return any(word in _FUNCTION_WORDS or not word.isascii() for word in others)
