"""The first pass over the corpus: word keys, and counts of all phrases in bounded memory."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

import numpy as np

from taxoexpan.features.corpus.parallel import map_blocks
from taxoexpan.features.corpus.phrases import split_sentences
from taxoexpan.taxonomy.english import STOP_WORDS, singular
from taxoexpan.taxonomy.names import normalize_name

MAX_PHRASE_WORDS = 4
MAX_CACHED_WORDS = 500_000

CAPACITY = 2_000_000
"""Phrases that are counted at the same time; they take about 400 MB."""

BATCH_SIZE = 1 << 16
"""Phrases that are collected before they are counted; a text may be a whole book."""

_TOKEN = re.compile(
    r"\\[A-Za-z]+|https?://\S+"  # LaTeX commands and URLs, which are not words
    r"|[^\W_]++(?:(?:[-'\u2019\u2010\u2011]|(?<=\d)\.(?=\d))[^\W_]++)*+|[^\s\w]"
)
_NOT_A_WORD = re.compile(r"\\|https?://")
_SIGNS = str.maketrans({"\u2019": "'", "\u2010": "-", "\u2011": "-"})
_PLURAL_LETTERS = re.compile(r"(?=.*[A-Z].*[A-Z])[A-Za-z\d-]*[A-Z\d]s")
_SPELLINGS = (("z", "s"), ("our", "or"), ("elling", "eling"), ("elled", "eled"), ("ogue", "og"))
_MIN_RESPELLED_LENGTH = 6
"""In shorter words these letters distinguish words: tour and tor, prize and prise."""


class WordKeys(dict[str, str | None]):
    """A cache of word keys: the same key for all forms of a word, None for a phrase boundary.

    Boundaries are stop words, punctuation, numbers, and words with -ly that are not in `kept`.
    """

    def __init__(self, kept: Collection[str] = ()) -> None:
        super().__init__()
        self._kept = frozenset(kept)

    def __missing__(self, token: str) -> str | None:
        """Compute the key of a token and cache it."""
        if len(self) >= MAX_CACHED_WORDS:
            self.clear()  # a large corpus has an unlimited number of misspelled words
        word = _plain(token)
        is_bound = word in STOP_WORDS or "'" in word or _NOT_A_WORD.match(token)
        if is_bound or not any(map(str.isalpha, word)):
            key = None
        else:
            key = word_key(token)
            if word.endswith("ly") and key not in self._kept:
                key = None
        self[token] = key
        return key


def word_key(token: str) -> str:
    """Return a token in lower case and singular, without a genitive ending."""
    if _PLURAL_LETTERS.fullmatch(token):  # LLMs
        return token[:-1].lower()
    return singular(_plain(token))


def _plain(token: str) -> str:
    """Return a token in lower case, without a genitive ending."""
    signs = token if token.isascii() else token.translate(_SIGNS)
    return signs.lower().removesuffix("'s")


def tokenized_sentences(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield every sentence of a text with its tokens, which are words and punctuation."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    for sentence in split_sentences(text):
        yield sentence, _TOKEN.findall(sentence)


def phrase_key(name: str) -> str:
    """Return a name in lower case without spaces and hyphens, with all words in the singular."""
    return "".join(map(singular, normalize_name(name).split()))


def spelling_key(name: str) -> str:
    """Return a `phrase_key` that is the same for British and American spelling."""
    return "".join(_respelled(singular(word)) for word in normalize_name(name).split())


def _respelled(word: str) -> str:
    if len(word) >= _MIN_RESPELLED_LENGTH:
        for one, other in _SPELLINGS:
            word = word.replace(one, other)
    return word


class PhraseCounts:
    """Counts of phrases, too low by at most `max_error`, because rare phrases are dropped."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.counts: dict[str, int] = {}
        self.max_error = 0
        self._capacity = capacity

    def add(self, counts: Mapping[str, int]) -> None:
        """Add counts, and drop rare phrases if the capacity is exceeded."""
        own = self.counts
        for phrase, count in counts.items():
            own[phrase] = own.get(phrase, 0) + count
        if len(own) > self._capacity:
            self._drop_rare()

    def _drop_rare(self) -> None:
        """Keep only the most frequent phrases, at most half of the capacity."""
        counts = np.fromiter(self.counts.values(), np.int64, count=len(self.counts))
        position = len(counts) - max(1, self._capacity // 2)
        threshold = int(np.partition(counts, position)[position])
        self.counts = {phrase: n for phrase, n in self.counts.items() if n > threshold}
        self.max_error += threshold


def count_phrases(
    texts: Iterator[str], keys: WordKeys, workers: int | None = None, capacity: int = CAPACITY
) -> PhraseCounts:
    """Count the phrases of a corpus by key, including phrases one word longer than candidates."""

    def count(block: list[str]) -> Counter[str]:
        counts: Counter[str] = Counter()
        phrases: list[str] = []
        for text in block:
            for _, tokens in tokenized_sentences(text):
                phrases += _phrases_in(tokens, keys)
                if len(phrases) >= BATCH_SIZE:
                    counts.update(phrases)
                    phrases.clear()
        counts.update(phrases)
        return counts

    total = PhraseCounts(capacity)
    for counts in map_blocks(count, texts, workers):
        total.add(counts)
    return total


def _phrases_in(tokens: list[str], keys: WordKeys) -> list[str]:
    """Return every phrase of a sentence, once per mention."""
    phrases = []
    words = [keys[token] for token in tokens]
    for second, phrase in enumerate(words, 1):
        if phrase is not None:
            phrases.append(phrase)
            for word in words[second : second + MAX_PHRASE_WORDS]:
                if word is None:
                    break
                phrase = f"{phrase} {word}"
                phrases.append(phrase)
    return phrases
