"""The encoder `vectors:FILE`, which encodes texts with the word vectors of a file."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.features.word_vectors.vector_file import read_layout, read_vectors
from taxoexpan.files import file_digest

OovPolicy = Literal["skip", "zero"]
"""What a word without a vector counts as: nothing at all, or a vector of zeros."""

_HYPHENS = re.compile(r"[-\u2010-\u2015/]+")
_PUNCTUATION = string.punctuation + "«»‘’‚“”„…¡¿、。，；：！？（）「」"


@dataclass(frozen=True, slots=True)
class _Word:
    """The possible spellings of a word in the file, and the parts to use if there is none."""

    spellings: tuple[str, ...]
    parts: tuple[str, ...]


class WordVectorEncoder(Encoder):
    """The vector of a name that is an entry of the file, or else the mean vector of its words.

    The file is read for the words of the given texts only, and again when other texts bring new
    words. `prepare` reads it once for many texts.
    """

    def __init__(self, path: Path, oov: str = "skip") -> None:
        if oov not in get_args(OovPolicy):
            choices = " or ".join(get_args(OovPolicy))
            raise ConfigurationError(f"oov (unknown words) is {oov!r}; choose {choices}")
        self.path = path
        self.oov = oov
        self.name = f"vectors:{path}"
        self.dimension = read_layout(path).dimension
        self._rows: dict[str, int] = {}
        self._missing: set[str] = set()
        self._matrix: Vectors = np.zeros((0, self.dimension), dtype=np.float32)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, of unit length, or zeros for a text without known words.

        Upper and lower case are the same. With `oov="zero"` the length of a row is the fraction
        of its words that are known, so that a partly known name counts less than a fully known one.
        """
        self.prepare(texts)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            found, words = self._find(text)
            if found:
                length = len(found) / words if self.oov == "zero" else 1.0
                vectors[row] = length * _direction(self._matrix[found])
        return vectors

    def prepare(self, texts: Sequence[str]) -> None:
        """Read the vectors that these texts need, in one pass over the file."""
        words = {word for text in texts for word in _lookups(text)}
        needed = {word for word in words if word not in self._rows and word not in self._missing}
        if not needed:
            return
        found = read_vectors(self.path, needed)
        if found.matrix.shape[1] != self.dimension:
            message = "the file changed while it was in use; start again with the new file"
            raise FormatError(self.path, message)
        count = len(self._rows)
        self._rows.update((word, count + row) for word, row in found.words.items())
        self._missing |= needed - found.words.keys()
        self._matrix = np.concatenate([self._matrix, found.matrix])

    def fingerprint(self) -> str:
        """A digest of the file, and the policy for unknown words."""
        return file_digest(self.path) + (" zero" if self.oov == "zero" else "")

    def _find(self, text: str) -> tuple[list[int], int]:
        """The rows of the known words of a text, and the number of all its words."""
        for entry in _entries(text):
            if entry in self._rows:
                return [self._rows[entry]], 1
        rows: list[int] = []
        count = 0
        for word in _words(text):
            spellings = [name for name in word.spellings if name in self._rows][:1]
            rows += [self._rows[name] for name in spellings or word.parts if name in self._rows]
            count += 1 if spellings else len(word.parts)
        return rows, count


def _lookups(text: str) -> Iterator[str]:
    """Yield every entry of the file that a text may need."""
    yield from _entries(text)
    for word in _words(text):
        yield from word.spellings
        yield from word.parts


def _entries(text: str) -> list[str]:
    """A whole name as an entry of a file: with `_` for spaces, or with spaces."""
    words = text.lower().split()
    return list(dict.fromkeys(["_".join(words), " ".join(words)])) if words else []


def _words(text: str) -> list[_Word]:
    """The words of a text: as written, without outer punctuation, or else split at hyphens.

    For example, *oat-based,* is "oat-based,", or "oat-based", or else "oat" and "based".
    """
    words = []
    for word in text.lower().split():
        bare = word.strip(_PUNCTUATION)
        parts = (part.strip(_PUNCTUATION) for part in _HYPHENS.split(bare))
        spellings = dict.fromkeys(filter(None, (word, bare)))
        words.append(_Word(tuple(spellings), tuple(filter(None, parts))))
    return words


def _direction(vectors: Vectors) -> NDArray[np.float64]:
    """The mean of some vectors at unit length, in double precision to avoid overflow."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    length = np.linalg.norm(mean)
    return cast("NDArray[np.float64]", mean / length if length else mean)
