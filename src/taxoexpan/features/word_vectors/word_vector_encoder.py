"""Vectors of texts from a file of word vectors: the name as one entry, or the mean of its words."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.features.word_vectors.vector_file import read_vectors, recognised
from taxoexpan.files import file_digest

Unknown = Literal["skip", "zero"]
"""What a word without a vector counts: nothing at all, or a vector of zeros."""

_HYPHENS = re.compile(r"[-\u2010-\u2015/]+")
_PUNCTUATION = string.punctuation + "«»‘’‚“”„…¡¿、。，；：！？（）「」"


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many texts there are, and how many of them the file knows how well."""

    texts: int
    some: int
    """Texts with at least one known word, or known as a whole."""
    every: int
    """Texts of which every word is known, or known as a whole."""
    whole: int
    """Texts that are one entry of the file, as *oat_milk* may be."""


@dataclass(frozen=True, slots=True)
class _Word:
    """How a word may be spelled in the file, and the parts that stand for it otherwise."""

    spellings: tuple[str, ...]
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Match:
    """The rows that make a text's vector, how many words it has, and if one row is all of it."""

    rows: list[int]
    words: int
    whole: bool = False


class WordVectorEncoder(Encoder):
    """The vector of a name that the file has as one entry, or else the mean of its words'.

    The file is read when texts come, for their words only, and again when others bring new words;
    `prepare` reads it once for all.
    """

    def __init__(self, path: Path, oov: str = "skip") -> None:
        if oov not in get_args(Unknown):
            choices = " or ".join(get_args(Unknown))
            raise ConfigurationError(f"unknown words (oov) are {oov!r}; choose {choices}")
        self.path = path
        self.oov = oov
        self.name = f"vectors:{path}"
        self.dimension = recognised(path).dimension
        self._rows: dict[str, int] = {}
        self._missing: set[str] = set()
        self._matrix: Vectors = np.zeros((0, self.dimension), dtype=np.float32)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text, whatever its case; a text without known words is a row of zeros.

        A row has unit length. With `oov="zero"` its length is the share of its words that are
        known, so that a name known in part counts less beside one that is known in full.
        """
        self.prepare(texts)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            match = self._match(text)
            if match.rows:
                share = len(match.rows) / match.words if self.oov == "zero" else 1.0
                vectors[row] = share * _direction(self._matrix[match.rows])
        return vectors

    def coverage(self, texts: Sequence[str]) -> Coverage:
        """How many of these texts the file knows, and how well."""
        self.prepare(texts)
        matches = [self._match(text) for text in texts]
        return Coverage(
            len(texts),
            some=sum(bool(match.rows) for match in matches),
            every=sum(0 < match.words == len(match.rows) for match in matches),
            whole=sum(match.whole for match in matches),
        )

    def prepare(self, texts: Iterable[str]) -> None:
        """Read what these texts need, in one pass over the file, if it was not looked for yet."""
        words = {word for text in texts for word in _needed(text)}
        needed = {word for word in words if word not in self._rows and word not in self._missing}
        if not needed:
            return
        found = read_vectors(self.path, needed)
        if found.matrix.shape[1] != self.dimension:
            message = "the file has changed while it was in use; begin again with the new one"
            raise FormatError(self.path, message)
        before = len(self._rows)
        self._rows.update((word, before + row) for word, row in found.words.items())
        self._missing |= needed - found.words.keys()
        self._matrix = np.concatenate([self._matrix, found.matrix])

    def fingerprint(self) -> str:
        """A digest of the file, and how words are taken that it lacks."""
        return file_digest(self.path) + (" zero" if self.oov == "zero" else "")

    def _match(self, text: str) -> _Match:
        for name in _whole_names(text):
            if name in self._rows:
                return _Match([self._rows[name]], 1, whole=True)
        rows: list[int] = []
        words = 0
        for word in _words(text):
            spellings = [name for name in word.spellings if name in self._rows][:1]
            rows += [self._rows[name] for name in spellings or word.parts if name in self._rows]
            words += 1 if spellings else len(word.parts)
        return _Match(rows, words)


def _needed(text: str) -> Iterator[str]:
    """Everything that may have to be looked up for a text."""
    yield from _whole_names(text)
    for word in _words(text):
        yield from word.spellings
        yield from word.parts


def _whole_names(text: str) -> list[str]:
    """A name as one entry of a file: with its spaces as `_`, or as they are."""
    words = text.lower().split()
    return list(dict.fromkeys(["_".join(words), " ".join(words)])) if words else []


def _words(text: str) -> list[_Word]:
    """A text's words as they are, or without outer punctuation, or else in their parts.

    Oat-based, (in a sentence) is "oat-based,", or "oat-based", or else "oat" and "based".
    """
    words = []
    for word in text.lower().split():
        bare = word.strip(_PUNCTUATION)
        parts = (part.strip(_PUNCTUATION) for part in _HYPHENS.split(bare))
        spellings = dict.fromkeys(filter(None, (word, bare)))
        words.append(_Word(tuple(spellings), tuple(filter(None, parts))))
    return words


def _direction(vectors: Vectors) -> NDArray[np.float64]:
    """The mean of some vectors at unit length; in double precision, where nothing overflows."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    length = np.linalg.norm(mean)
    return cast("NDArray[np.float64]", mean / length if length else mean)
