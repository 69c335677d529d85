"""Names that are nearly the same: singular and plural, spelling variants and misspellings."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from taxoexpan.taxonomy.english import MIN_PLURAL_LENGTH
from taxoexpan.taxonomy.names import normalize_name, words_key

MIN_LENGTH = 6
MIN_LENGTH_OF_MISSPELLINGS = 8
"""Shorter names often differ in one letter: shirts, shorts, skirts."""

SPELLINGS = ({"s", "z"}, {"c", "k"}, {"i", "y"})
"""Letters that differ between spellings of the same word: disc and disk, tyre and tire."""

VOWELS = "aeiou"

MAX_LETTERS = 50
"""The most frequent letters of the names, which replace letters to find misspellings."""


class NameDifference(NamedTuple):
    """How two names differ, and whether they are certainly the same name."""

    text: str
    same_name: bool


def compact_key(normalized: str) -> str:
    """Return a normalized name without spaces, with its last word in the singular."""
    return words_key(normalized.split(" ")).replace(" ", "")


def form_difference(one: str, other: str) -> NameDifference:
    """Return how two normalized names with the same compact key differ."""
    same_letters = one.replace(" ", "") == other.replace(" ", "")
    what = "case, spaces or hyphens" if same_letters else "singular and plural"
    return NameDifference(f"differ only in {what}", True)


def first_difference(longer: str, shorter: str) -> int:
    """Return the position of the first character that differs."""
    same = (a == b for a, b in zip(longer, shorter, strict=False))
    return next((at for at, is_same in enumerate(same) if not is_same), len(shorter))


def letter_difference(
    longer: str, shorter: str, position: int, word_counts: Mapping[str, int]
) -> NameDifference | None:
    """Return how two normalized names differ in one letter; None if that is no mistake.

    `word_counts` counts the names with each word; a word that is in no name may be missing.
    """
    words = _word_at(longer, position), _word_at(shorter, position)
    if min(map(len, words)) < MIN_PLURAL_LENGTH or any(map(_is_number, words)):
        return None
    if _is_spelling_variant(longer, shorter, position):
        return NameDifference("look like two spellings of the same name", True)
    # Misspellings rarely affect the first letter of a word. Endings make other words: exchange and
    # exchanger, nitrate and nitrite. A misspelled word is rare: if the taxonomy uses both words
    # elsewhere, as in memory bank and memory rank, both are intended.
    start = longer.rfind(" ", 0, position) + 1
    end = longer.find(" ", position) % (len(longer) + 1)
    ending = 3 if len(longer) == len(shorter) else 1
    is_inside = start < position < end - ending
    both_used = min(word_counts.get(word, 0) for word in words) > 1
    if not is_inside or len(shorter) < MIN_LENGTH_OF_MISSPELLINGS or both_used:
        return None
    return NameDifference("differ in one letter", False)


def _is_spelling_variant(longer: str, shorter: str, position: int) -> bool:
    """Return whether an edit is typical of spelling variants, such as colour or travelling."""
    letter = longer[position]
    before = longer[position - 1 : position]
    if len(longer) == len(shorter):
        pair = {letter, shorter[position]}
        return pair in SPELLINGS or all(map(_is_sign, pair))
    doubled = letter == before and letter not in VOWELS
    return doubled or (before, letter) == ("o", "u") or _is_sign(letter)


def _word_at(name: str, position: int) -> str:
    """Return the word of a name that contains a position, or ends there."""
    end = name.find(" ", position)
    return name[name.rfind(" ", 0, position) + 1 : end if end >= 0 else None]


def _is_sign(character: str) -> bool:
    """Return whether a character is not a letter, a digit or a combining mark (as in Hindi)."""
    return unicodedata.category(character)[0] not in "LMN"


def _is_number(word: str) -> bool:
    """Return whether a word has a digit, or may be a Roman numeral."""
    return any(map(str.isdigit, word)) or set(word) <= set("ivxl")


class SimilarName(NamedTuple):
    """A known name that a new one resembles, its concept, and how they differ."""

    name: str
    concept: int
    difference: NameDifference


class SimilarNames:
    """An index of the names of concepts, which finds similar names.

    It stores hashes of the names to save memory, and all words. A misspelled word is usually not in
    the taxonomy: its letters are changed one by one until it is, and so is the whole name.
    """

    def __init__(
        self,
        labels: Sequence[str],
        synonyms: Mapping[int, Sequence[str]],
        left_out: Collection[int] = (),
    ) -> None:
        """Index the label of each concept, and its synonyms, except for concepts left out."""
        self._labels = labels
        self._synonyms = synonyms
        self._word_counts: Counter[str] = Counter()
        hashes = []
        owners = []
        for concept, label in enumerate(labels):
            if concept in left_out:
                continue
            for name in map(normalize_name, (label, *synonyms.get(concept, ()))):
                hashes.append(hash(compact_key(name)))
                owners.append(concept)
                self._word_counts.update(set(name.split(" ")))
        order = np.argsort(np.array(hashes, dtype=np.int64), kind="stable")
        self._hashes = np.array(hashes, dtype=np.int64)[order]
        self._owners = np.array(owners, dtype=np.int32)[order]
        letters = Counter(chain.from_iterable(self._word_counts)).most_common()
        self._letters = [letter for letter, _ in letters if not letter.isdigit()][:MAX_LETTERS]

    def find(self, label: str) -> SimilarName | None:
        """Return a known name that resembles a new label, unless the label is known itself."""
        name = normalize_name(label)
        if not name:
            return None
        same = self._with_key(name)
        if same:
            known, named = next(iter(same.items()))
            return None if name in same else SimilarName(*named, form_difference(name, known))
        if len(name) < MIN_LENGTH:
            return None
        start = 0
        for word in name.split(" "):
            if len(word) >= MIN_PLURAL_LENGTH and word not in self._word_counts:
                for other in self._known_words(word):
                    known = name[:start] + other + name[start + len(word) :]
                    owner = self._with_key(known).get(known)
                    shorter, longer = sorted((name, known), key=len)
                    at = first_difference(longer, shorter)
                    if owner and (d := letter_difference(longer, shorter, at, self._word_counts)):
                        return SimilarName(*owner, d)
            start += len(word) + 1
        return None

    def _with_key(self, name: str) -> dict[str, tuple[str, int]]:
        """Return the known names with the same compact key, and their concepts."""
        key = compact_key(name)
        first, last = (np.searchsorted(self._hashes, hash(key), side) for side in ("left", "right"))
        same: dict[str, tuple[str, int]] = {}
        for concept in self._owners[first:last].tolist():
            for each in (self._labels[concept], *self._synonyms.get(concept, ())):
                if compact_key(normalize_name(each)) == key:
                    same.setdefault(normalize_name(each), (each, concept))
        return same

    def _known_words(self, word: str) -> Iterator[str]:
        """Yield the words of the taxonomy with one letter less, more or replaced."""
        for position in range(len(word) + 1):
            before = word[:position]
            after = word[position + 1 :]
            changed = [before + letter + word[position:] for letter in self._letters]
            if position < len(word):
                changed += [before + after, *(before + each + after for each in self._letters)]
            yield from (each for each in changed if each in self._word_counts)
