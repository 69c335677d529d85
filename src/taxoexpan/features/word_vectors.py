"""The encoder `vectors:FILE`, and the reader of its file.

A file is word2vec text or binary, fastText .vec or GloVe text, and may be packed with gzip or
bzip2. Its content decides the format: word2vec and fastText have a header with the number of words
and the dimension. If only numbers follow the next word, the file is text, otherwise binary. Only
the vectors of the wanted words are kept in memory.
"""

from __future__ import annotations

import re
import string
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import FormatError
from taxoexpan.features.corpus.documents import open_unpacked
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.files import file_digest

MAX_DIMENSION = 20_000
MAX_WORD_BYTES = 4_000
_CHUNK_BYTES = 1 << 20

_HYPHENS = re.compile(r"[-\u2010-\u2015/]+")
_PUNCTUATION = string.punctuation + "«»‘’‚“”„…¡¿、。，；：！？（）「」"
_HEADER = re.compile(rb"\s*(\d{1,18})[ \t]+(\d{1,18})\s*")


class WordVectorEncoder(Encoder):
    """An encoder by the vector of a name in the file, or else the mean vector of its words.

    With `oov="zero"`, a word without a vector counts as zeros, and with `skip` not at all.
    """

    def __init__(self, path: Path, oov: str = "skip") -> None:
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
            found, words = self._find(text)
            if found:
                length = len(found) / words if self.oov == "zero" else 1.0
                vectors[row] = length * _direction(found)
        return vectors

    def prepare(self, texts: Sequence[str]) -> None:
        """Read the vectors for these texts in one pass over the file."""
        words = {word for text in texts for word in _lookups(text)}
        needed = words - self._vectors.keys() - self._missing
        if needed:
            found = read_vectors(self.path, needed)
            self._vectors |= found
            self._missing |= needed - found.keys()

    def fingerprint(self) -> str:
        """Return a digest of the file, and the policy for unknown words."""
        return file_digest(self.path) + (" zero" if self.oov == "zero" else "")

    def _find(self, text: str) -> tuple[list[Vectors], int]:
        """Return the vectors of the known words of a text, and the number of its words."""
        for entry in _entries(text):
            if entry in self._vectors:
                return [self._vectors[entry]], 1
        known: list[str] = []
        count = 0
        for spellings, parts in _words(text):
            found = [name for name in spellings if name in self._vectors][:1]
            known += found or [name for name in parts if name in self._vectors]
            count += 1 if found else len(parts)
        return [self._vectors[name] for name in known], count


def _lookups(text: str) -> Iterator[str]:
    """Yield every entry of the file that a text may need."""
    yield from _entries(text)
    for spellings, parts in _words(text):
        yield from spellings
        yield from parts


def _entries(text: str) -> list[str]:
    """Return a whole name as an entry of a file: with `_` for spaces, or with spaces."""
    words = text.lower().split()
    return list(dict.fromkeys(["_".join(words), " ".join(words)])) if words else []


def _words(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the spellings of each word, and the parts to use if the file has none of them.

    The word *oat-based,* is also "oat-based", or "oat" and "based".
    """
    for word in text.lower().split():
        bare = word.strip(_PUNCTUATION)
        parts = (part.strip(_PUNCTUATION) for part in _HYPHENS.split(bare))
        yield list(dict.fromkeys(filter(None, (word, bare)))), list(filter(None, parts))


def _direction(vectors: Sequence[Vectors]) -> NDArray[np.float64]:
    """Return the mean of some vectors at unit length, in double precision to avoid overflow."""
    mean = np.stack(vectors).mean(axis=0, dtype=np.float64)
    length = np.linalg.norm(mean)
    return cast("NDArray[np.float64]", mean / length if length else mean)


@dataclass(frozen=True, slots=True)
class VectorLayout:
    """The layout of a vector file; `words` is None for a file without a header."""

    is_binary: bool
    words: int | None
    dimension: int


def read_layout(path: Path) -> VectorLayout:
    """Recognize the layout of a file by its first two lines."""
    with open_unpacked(path) as (stream, _):
        first, _, rest = stream.read(_CHUNK_BYTES).removeprefix(BOM_UTF8).partition(b"\n")
    header = _HEADER.fullmatch(first)
    numbers = (rest.partition(b"\n")[0] if header else first).split()[1:]
    is_text = bool(numbers) and all(map(_is_number, numbers))
    if not header and not is_text:
        choices = "a word2vec text or binary file, a fastText .vec file or a GloVe text file"
        raise FormatError(path, "is not a file of word vectors", fix=f"use {choices}", line=1)
    words = int(header[1]) if header else None
    dimension = int(header[2]) if header else len(numbers)
    if not 0 < dimension <= MAX_DIMENSION:
        message = f"the vectors have {dimension} numbers, but 1 to {MAX_DIMENSION:,} are supported"
        raise FormatError(path, message, fix="use another file", line=1)
    if is_text and len(numbers) != dimension:
        message = f"the header declares {dimension} numbers per word, but the first word has"
        raise FormatError(path, f"{message} {len(numbers)}", fix="correct the header", line=1)
    return VectorLayout(not is_text, words, dimension)


def read_vectors(path: Path, wanted: Collection[str]) -> dict[str, Vectors]:
    """Read the vectors of lower-case words; an exact spelling comes before other cases."""
    layout = read_layout(path)
    read = _read_binary if layout.is_binary else _read_text
    exact: dict[str, Vectors] = {}
    other: dict[str, Vectors] = {}
    with open_unpacked(path) as (stream, _):
        for number, word, vector in read(path, stream, layout, frozenset(wanted)):
            if not np.isfinite(vector).all():
                message = f"the vector of {word!r} has NaN or a number that is too large"
                raise FormatError(path, message, fix="get the file again", line=number)
            lowered = word.lower()
            (exact if word == lowered else other).setdefault(lowered, vector)
    return {**other, **exact}


Record = tuple[int | None, str, Vectors]
"""The line of a text file, a word, and its vector."""


def _read_text(
    path: Path, stream: BufferedReader, layout: VectorLayout, wanted: frozenset[str]
) -> Iterator[Record]:
    """Yield the wanted words of a text file; a word may have spaces, and may be empty."""
    dimension = layout.dimension
    limit = MAX_WORD_BYTES + 64 * layout.dimension
    starts = {word.split(" ", 1)[0] for word in wanted}
    number = words = 0
    while line := stream.readline(limit):
        number += 1
        if number == 1:
            line = line.removeprefix(BOM_UTF8)
        if not line.strip() or (number == 1 and layout.words is not None):
            continue
        words += 1
        line = line.rstrip()
        # Nearly every line passes this fast check, so that only lines of wanted words are split.
        if line.count(b" ") == dimension and _decode(line.split(None, 1)[0]).lower() not in starts:
            continue
        first, *fields = (b"." + line).rsplit(None, dimension)  # the dot stands before the word
        if len(fields) < dimension or not _is_number(fields[0]):
            message = f"the line needs a word and {dimension} numbers"
            raise FormatError(path, message, fix="get the file again", line=number)
        word = _decode(first[1:])
        if word.lower() in wanted:
            yield number, word, _parse(path, number, word, fields)
    if layout.words is not None and words < layout.words:
        message = f"the file ends after {words} of {layout.words} words"
        raise FormatError(path, message, fix="it is truncated, so get it again", line=number)


def _parse(path: Path, number: int, word: str, fields: Sequence[bytes]) -> Vectors:
    try:
        with np.errstate(over="ignore"):
            return np.array(fields, dtype=np.float64).astype(np.float32)
    except ValueError as error:
        message = f"the vector of {word!r} has a wrong number ({error})"
        raise FormatError(path, message, fix="get the file again", line=number) from None


def _read_binary(
    path: Path, stream: BufferedReader, layout: VectorLayout, wanted: frozenset[str]
) -> Iterator[Record]:
    """Yield the wanted words of a binary file; word2vec writes a line end after every vector."""
    size = 4 * layout.dimension
    words = layout.words or 0
    stream.readline()
    buffer = b""
    start = 0
    for number in range(1, words + 1):
        if len(buffer) - start < MAX_WORD_BYTES + size:
            buffer = buffer[start:] + stream.read(_CHUNK_BYTES + size)
            start = 0
        space = buffer.find(b" ", start, start + MAX_WORD_BYTES)
        end = space + 1 + size
        if space < 0 or end > len(buffer):
            message = f"word {number} of {words}, with {layout.dimension} numbers, was not found"
            raise FormatError(path, message, fix="the file is damaged, so get it again")
        word = _decode(buffer[start:space].lstrip(b"\n"))
        if word.lower() in wanted:
            yield None, word, np.frombuffer(buffer[space + 1 : end], "<f4").astype(np.float32)
        start = end


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _decode(word: bytes) -> str:
    """Decode a word; invalid bytes are replaced, as word2vec may cut a word inside a character."""
    return word.decode("utf-8", "replace")
