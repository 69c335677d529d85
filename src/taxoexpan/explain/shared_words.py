"""The words that a query shares with names in the taxonomy."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.english import STOP_WORDS, singular
from taxoexpan.taxonomy.names import normalize_name


def words_of(concept: Concept) -> dict[str, str]:
    """The words of a concept's names and definition as they are read, each by its key."""
    return _keyed([concept.label, *concept.synonyms, concept.definition])


def name_words(concept: Concept) -> frozenset[str]:
    """The keys of the words of a concept's names."""
    return frozenset(_keyed([concept.label, *concept.synonyms]))


def shared(words: dict[str, str], keys: frozenset[str]) -> tuple[str, ...]:
    """Those of the words whose keys are among others, in their own order."""
    return tuple(word for key, word in words.items() if key in keys)


def _keyed(texts: Iterable[str]) -> dict[str, str]:
    """The words that say something, each by what is left of it without a plural."""
    keyed: dict[str, str] = {}
    for text in texts:
        for word in _pieces(text):
            # A single letter is what is left of a genitive; a single sign of Chinese is a word.
            if word not in STOP_WORDS and (len(word) > 1 or not word.isascii()):
                keyed.setdefault(singular(word), word)
    return keyed


def _pieces(text: str) -> list[str]:
    """The runs of letters, digits and the marks on them, which in Hindi are vowels."""
    kept = (c if unicodedata.category(c)[0] in "LMN" else " " for c in normalize_name(text))
    return "".join(kept).split()
