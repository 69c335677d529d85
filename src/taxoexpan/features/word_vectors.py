"""The encoder `vectors:FILE`, which looks up names and words in a file of word vectors.

The strings that a file has vectors of are its keys. They are compared in lower case.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.features.vector_file import read_layout, read_vectors
from taxoexpan.files import file_digest

if TYPE_CHECKING:
    from taxoexpan.config import UnknownWords

_HYPHENS = re.compile(r"[-\u2010-\u2015/]+")
_PUNCTUATION = string.punctuation + "«»‘’‚“”„…¡¿、。，；：！？（）「」"


class WordVectorEncoder(Encoder):
    """An encoder by the vector of a name in the file, or else the mean vector of its words.

    With `oov="zero"`, a word without a vector counts as zeros, and with `skip` not at all.
    """

    def __init__(self, path: Path, oov: UnknownWords = "skip") -> None:
        self.path = path
        self.oov = oov
        self.name = f"vectors:{path}"
        self.dimension = read_layout(path).dimension
        self._vectors: dict[str, Vectors] = {}
        self._missing: set[str] = set()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, of unit length, or zeros for a text without known words.

        With `oov="zero"` the length of a row is the fraction of its words that are known.
        """
        self.prepare(texts)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            known, count = self._find(text)
            if known:
                length = len(known) / count if self.oov == "zero" else 1.0
                vectors[row] = length * _mean_direction(known)
        return vectors

    def prepare(self, texts: Sequence[str]) -> None:
        """Read the vectors for these texts in one pass over the file."""
        keys = {key for text in texts for key in _all_keys(text)}
        needed = keys - self._vectors.keys() - self._missing
        if needed:
            vectors = read_vectors(self.path, needed)
            self._vectors |= vectors
            self._missing |= needed - vectors.keys()

    def fingerprint(self) -> str:
        """Return a digest of the file, and the policy for unknown words."""
        return file_digest(self.path) + (" zero" if self.oov == "zero" else "")

    def _find(self, text: str) -> tuple[list[Vectors], int]:
        """Return the vectors of the known words of a text, and the number of its words.

        A name that is a key counts as one word, and a hyphenated word without a vector as several.
        """
        vector = self._first_vector(_name_keys(text))
        if vector is not None:
            return [vector], 1
        known: list[Vectors] = []
        count = 0
        for word in _words(text):
            vector = self._first_vector(word.keys)
            if vector is not None:
                known.append(vector)
                count += 1
            else:
                known += [self._vectors[part] for part in word.parts if part in self._vectors]
                count += len(word.parts)
        return known, count

    def _first_vector(self, keys: Sequence[str]) -> Vectors | None:
        """Return the vector of the first key that the file has."""
        return next((self._vectors[key] for key in keys if key in self._vectors), None)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a text: its keys, best first, and those of its parts if the file has none of them.

    The word *oat-based,* is also "oat-based", or "oat" and "based".
    """

    keys: list[str]
    parts: list[str]


def _all_keys(text: str) -> Iterator[str]:
    """Yield every key that a text may need."""
    yield from _name_keys(text)
    for word in _words(text):
        yield from word.keys
        yield from word.parts


def _name_keys(text: str) -> list[str]:
    """Return the keys of a whole text as one name: with `_` for spaces, or with spaces."""
    words = text.lower().split()
    return list(dict.fromkeys(["_".join(words), " ".join(words)])) if words else []


def _words(text: str) -> Iterator[_Word]:
    """Split a text into words."""
    for word in text.lower().split():
        bare = word.strip(_PUNCTUATION)
        parts = (part.strip(_PUNCTUATION) for part in _HYPHENS.split(bare))
        yield _Word(list(dict.fromkeys(filter(None, (word, bare)))), list(filter(None, parts)))


def _mean_direction(vectors: Sequence[Vectors]) -> NDArray[np.float64]:
    """Return the mean of some vectors at unit length.

    Unlike `normalize_rows`, this is in double precision, as the numbers of a file may be so large
    that their squares overflow.
    """
    mean = np.stack(vectors).mean(axis=0, dtype=np.float64)
    length = np.linalg.norm(mean)
    return cast("NDArray[np.float64]", mean / length if length else mean)
