"""Words of running text: which belong to phrases, which stand between them, and their keys."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator

from taxoexpan.features.corpus.phrases import split_sentences
from taxoexpan.taxonomy.english import STOP_WORDS, singular
from taxoexpan.taxonomy.names import normalize_name

LONGEST = 4
"""Words in a phrase."""

MOST_KEYS = 500_000

_PIECE = re.compile(
    r"\\[A-Za-z]+|https?://\S+"  # commands of LaTeX and addresses, which are no words
    r"|[^\W_]++(?:(?:[-'\u2019\u2010\u2011]|(?<=\d)\.(?=\d))[^\W_]++)*+|[^\s\w]"
)
_NO_WORD = re.compile(r"\\|https?://")
_SIGNS = str.maketrans({"\u2019": "'", "\u2010": "-", "\u2011": "-"})
_PLURAL_LETTERS = re.compile(r"(?=.*[A-Z].*[A-Z])[A-Za-z\d-]*[A-Z\d]s")
_SPELLINGS = (("z", "s"), ("our", "or"), ("elling", "eling"), ("elled", "eled"), ("ogue", "og"))
_SHORTEST_RESPELT = 6
"""In shorter words such letters tell words apart: tour and tor, prize and prise."""


class Keys(dict[str, str | None]):
    """The key of every written word, the same for all its forms; None for what bounds phrases.

    Bounds are stop words, signs, numbers, and words in -ly, unless they are among `kept`.
    """

    def __init__(self, kept: Collection[str] = ()) -> None:
        super().__init__()
        self._kept = frozenset(kept)

    def __missing__(self, piece: str) -> str | None:
        """Work it out once; a text has far fewer words than places."""
        if len(self) >= MOST_KEYS:
            self.clear()  # a large corpus has no end of misspelt words
        key = self[piece] = self.key_of(piece)
        return key

    def key_of(self, piece: str) -> str | None:
        """The key of a word, not kept."""
        word = _plain(piece)
        if word in STOP_WORDS or "'" in word or _NO_WORD.match(piece):
            return None
        if not any(map(str.isalpha, word)):
            return None
        key = word_key(piece)
        return None if word.endswith("ly") and key not in self._kept else key


def word_key(piece: str) -> str:
    """A word in lower case, without a plural or a genitive."""
    if _PLURAL_LETTERS.fullmatch(piece):  # LLMs
        return piece[:-1].lower()
    return singular(_plain(piece))


def _plain(piece: str) -> str:
    """A word in lower case, without a genitive."""
    signs = piece if piece.isascii() else piece.translate(_SIGNS)
    return signs.lower().removesuffix("'s")


def pieces_of(text: str) -> Iterator[tuple[str, list[str]]]:
    """Every sentence with its words and signs, in order."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    for sentence in split_sentences(text):
        yield sentence, _PIECE.findall(sentence)


def runs_of(keys: list[str | None]) -> Iterator[tuple[int, int]]:
    """Start and end of every run of words without a bound inside."""
    start = None
    for place, key in enumerate(keys):
        if key is None:
            if start is not None:
                yield start, place
            start = None
        elif start is None:
            start = place
    if start is not None:
        yield start, len(keys)


def name_key(name: str) -> str:
    """What is left of a name without case, spaces, hyphens and plurals."""
    return "".join(map(singular, normalize_name(name).split()))


def spelling_key(name: str) -> str:
    """The key of a name in any of the spellings of English: labelling, labeling."""
    return "".join(_respelt(singular(word)) for word in normalize_name(name).split())


def _respelt(word: str) -> str:
    if len(word) >= _SHORTEST_RESPELT:
        for one, other in _SPELLINGS:
            word = word.replace(one, other)
    return word
