"""Words of running text: their keys, and the boundaries between phrases."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator

from taxoexpan.features.corpus.phrases import split_sentences
from taxoexpan.taxonomy.english import STOP_WORDS, singular
from taxoexpan.taxonomy.names import normalize_name

MAX_PHRASE_WORDS = 4
MAX_CACHED_WORDS = 500_000

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

    Boundaries are stop words, punctuation, numbers, and words in -ly that are not in `kept`.
    """

    def __init__(self, kept: Collection[str] = ()) -> None:
        super().__init__()
        self._kept = frozenset(kept)

    def __missing__(self, token: str) -> str | None:
        """Compute the key of a token and cache it."""
        if len(self) >= MAX_CACHED_WORDS:
            self.clear()  # a large corpus has an unlimited number of misspelled words
        key = self[token] = self.compute(token)
        return key

    def compute(self, token: str) -> str | None:
        """Compute the key of a token without caching it."""
        word = _plain(token)
        if word in STOP_WORDS or "'" in word or _NOT_A_WORD.match(token):
            return None
        if not any(map(str.isalpha, word)):
            return None
        key = word_key(token)
        return None if word.endswith("ly") and key not in self._kept else key


def word_key(token: str) -> str:
    """A token in lower case and singular, without a genitive ending."""
    if _PLURAL_LETTERS.fullmatch(token):  # LLMs
        return token[:-1].lower()
    return singular(_plain(token))


def _plain(token: str) -> str:
    """A token in lower case, without a genitive ending."""
    signs = token if token.isascii() else token.translate(_SIGNS)
    return signs.lower().removesuffix("'s")


def tokenized_sentences(text: str) -> Iterator[tuple[str, list[str]]]:
    """Every sentence of a text with its tokens: words and punctuation."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    for sentence in split_sentences(text):
        yield sentence, _TOKEN.findall(sentence)


def word_runs(keys: list[str | None]) -> Iterator[tuple[int, int]]:
    """Start and end of every run of words between phrase boundaries."""
    start = None
    for position, key in enumerate(keys):
        if key is None:
            if start is not None:
                yield start, position
            start = None
        elif start is None:
            start = position
    if start is not None:
        yield start, len(keys)


def phrase_key(name: str) -> str:
    """A name in lower case without spaces and hyphens, with all words in the singular."""
    return "".join(map(singular, normalize_name(name).split()))


def spelling_key(name: str) -> str:
    """A `phrase_key` that is the same for British and American spelling: labelling, labeling."""
    return "".join(_respelled(singular(word)) for word in normalize_name(name).split())


def _respelled(word: str) -> str:
    if len(word) >= _MIN_RESPELLED_LENGTH:
        for one, other in _SPELLINGS:
            word = word.replace(one, other)
    return word
