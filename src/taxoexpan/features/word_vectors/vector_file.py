"""Reads word vectors from word2vec text and binary files, fastText .vec files and GloVe text files.

The content of a file decides its format, not its name. A first line of two whole numbers, the
number of words and the dimension, is the header of word2vec and fastText. If the next line is
mostly numbers, the file is text; otherwise it is binary. A file without a header is GloVe text.
Any of them may be compressed with gzip.

A file is read in small pieces, and only the vectors of the wanted words are parsed and kept in
memory. Errors are found whichever words are wanted, except for unusable numbers in other vectors.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from taxoexpan.errors import FormatError
from taxoexpan.features.encoder import Vectors

MAX_DIMENSION = 20_000
MAX_WORD_BYTES = 4_000
_CHUNK_BYTES = 1 << 20
_SAMPLE_LINES = 20

_GZIP = b"\x1f\x8b"
_SUPPORTED = "use a word2vec text or binary file, a fastText .vec file or a GloVe text file"
_ARCHIVE = "is a compressed archive; unpack it, and use the vector file inside"
_PICKLE = (
    "is a gensim file in pickle format, which is not opened because it could run any program; "
    "write the vectors with gensim's save_word2vec_format, and use that file"
)
_OTHER_FORMATS = {
    b"PK\x03\x04": _ARCHIVE,
    b"BZh91AY&SY": _ARCHIVE,
    b"\xfd7zXZ\0": _ARCHIVE,
    b"7z\xbc\xaf\x27\x1c": _ARCHIVE,
    b"\x28\xb5\x2f\xfd": _ARCHIVE,
    (793712314).to_bytes(4, "little"): "is a fastText model; use the .vec file that belongs to it",
    b"\x93NUMPY": f"is a numpy array without words; {_SUPPORTED}",
    codecs.BOM_UTF16_LE: "is encoded in UTF-16; save it as UTF-8",
    codecs.BOM_UTF16_BE: "is encoded in UTF-16; save it as UTF-8",
    **{bytes([0x80, protocol]): _PICKLE for protocol in range(2, 6)},
}

_HEADER = re.compile(rb"\s*(\d{1,18})[ \t]+(\d{1,18})\s*")
_NUMBER = re.compile(rb"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)", re.I)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_SPACES = re.compile(r"[ \t\n\r\x0b\x0c]+")


@dataclass(frozen=True)
class WordVectors:
    """Words, and the row of each word in a matrix [n, D]."""

    words: dict[str, int]
    matrix: Vectors


@dataclass(frozen=True, slots=True)
class VectorLayout:
    """The layout of a vector file; `words` is None for a file without a header."""

    binary: bool
    words: int | None
    dimension: int


def read_vectors(path: Path, wanted: Collection[str] | None = None) -> WordVectors:
    """Read the vectors of the wanted words, or of all words.

    A wanted word matches the same spelling in the file, or else its first spelling in another
    case: *paris* matches "paris", or else the first of "Paris" and "PARIS". The result has the
    spelling of `wanted`. If the file repeats a word, its first vector is used.
    """
    layout = read_layout(path)
    collector = _VectorCollector(wanted)
    with _open(path) as stream:
        if layout.binary:
            _read_binary(path, stream, layout, collector)
        else:
            _read_text(path, stream, layout, collector)
    return collector.vectors(layout.dimension)


def read_layout(path: Path) -> VectorLayout:
    """Recognize the layout of a file by its first bytes."""
    with _open(path) as stream:
        start = stream.read(_CHUNK_BYTES)
    if not start.strip():
        raise FormatError(path, "the file is empty; it needs at least one word and its vector")
    if path.suffix.lower() == ".npz":
        raise FormatError(path, "is a numpy file without words; write the vectors as .vec")
    for prefix, message in _OTHER_FORMATS.items():
        if start.startswith(prefix):
            raise FormatError(path, message)
    first, _, rest = start.partition(b"\n")
    header = _HEADER.fullmatch(first)
    lines = (rest if header else start).split(b"\n", _SAMPLE_LINES)[:_SAMPLE_LINES]
    sample = [line.split() for line in lines if line.strip()]
    is_text = bool(sample) and _is_mostly_numbers(sample[0])
    if header:
        words, dimension = int(header[1]), int(header[2])
    elif is_text:
        words, dimension = None, Counter(len(fields) - 1 for fields in sample).most_common(1)[0][0]
    else:
        raise FormatError(path, f"is not a file of word vectors; {_SUPPORTED}", 1)
    if words == 0:
        raise FormatError(path, "the header declares no words; use a file with words", 1)
    if not 0 < dimension <= MAX_DIMENSION:
        message = f"the vectors have {dimension} numbers, but 1 to {MAX_DIMENSION:,} are supported"
        raise FormatError(path, f"{message}; correct the header or use another file", 1)
    if is_text and not any(dimension in (len(f) - 1, _count_numbers(f)) for f in sample):
        message = f"the header declares {dimension} numbers per word"
        found = f"the first word has {_count_numbers(sample[0])}"
        raise FormatError(path, f"{message}, but {found}; correct the header", 1)
    return VectorLayout(not is_text, words, dimension)


def _is_mostly_numbers(fields: Sequence[bytes]) -> bool:
    """Whether a line looks like a word and the numbers of its vector, with some mistakes."""
    numbers = sum(_NUMBER.fullmatch(field) is not None for field in fields[1:])
    return numbers > 0 and 2 * numbers >= len(fields) - 1


def _count_numbers(fields: Sequence[bytes]) -> int:
    """Count the numbers at the end of a line; the first field is the word, and is not counted."""
    numbers = [_NUMBER.fullmatch(field) is not None for field in fields[1:]]
    return next((i for i, is_number in enumerate(reversed(numbers)) if not is_number), len(numbers))


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    """Open the content of a file, decompressed and without a byte order mark."""
    try:
        if path.exists() and not path.is_file():
            raise FormatError(path, "is not a regular file; use the name of a file")
        with path.open("rb", buffering=0) as file:
            compressed = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            raw = gzip.GzipFile(fileobj=file) if compressed else file
            with io.BufferedReader(cast("io.RawIOBase", raw), _CHUNK_BYTES) as stream:
                if stream.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
                    stream.read(len(codecs.BOM_UTF8))
                yield stream
    except FileNotFoundError:
        raise FormatError(path, "there is no such file; check the path") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        message = "the compressed file is truncated or damaged; get it again"
        raise FormatError(path, message) from None
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror}") from None


class _VectorCollector:
    """Collects the vectors of the wanted words, or of all words if `wanted` is None."""

    def __init__(self, wanted: Collection[str] | None) -> None:
        self._all = wanted is None
        self._spellings: dict[str, list[str]] = {}
        for word in dict.fromkeys(wanted or ()):
            self._spellings.setdefault(word.lower(), []).append(word)
        self._first_parts = {_SPACES.split(word, maxsplit=1)[0] for word in self._spellings}
        self._rows: dict[str, int] = {}
        self._exact: set[str] = set()
        # One growing buffer; a list of rows would need the memory twice when it is joined.
        self._buffer = bytearray()

    def may_want(self, first_part: bytes) -> bool:
        """Whether a wanted word starts with this part, up to its first space."""
        return self._all or _decode(first_part).lower() in self._first_parts

    def matches(self, word: str) -> list[str]:
        """The wanted words for which this word of the file is the best match so far."""
        if self._all:
            return [] if word in self._rows else [word]
        return [
            name
            for name in self._spellings.get(word.lower(), ())
            if name not in self._exact and (name == word or name not in self._rows)
        ]

    def add(self, word: str, vector: Vectors) -> None:
        """Store a vector for every wanted spelling that matches the word.

        An exact match replaces one that differs in upper and lower case.
        """
        for name in self.matches(word):
            row = self._rows.setdefault(name, len(self._rows))
            self._buffer[row * vector.nbytes : (row + 1) * vector.nbytes] = vector.tobytes()
            if name == word:
                self._exact.add(name)

    def vectors(self, dimension: int) -> WordVectors:
        """All collected vectors."""
        matrix = np.frombuffer(self._buffer, dtype=np.float32).reshape(-1, dimension)
        return WordVectors(self._rows, matrix)


def _read_text(
    path: Path, stream: BinaryIO, layout: VectorLayout, collector: _VectorCollector
) -> None:
    count = number = 0
    dimension, limit = layout.dimension, MAX_WORD_BYTES + 64 * layout.dimension
    for number, line in enumerate(iter(partial(stream.readline, limit), b""), start=1):
        if len(line) == limit:
            message = f"the line is too long for a word and {dimension} numbers"
            raise FormatError(path, f"{message}; get the file again", number)
        line = line.rstrip()
        if not line or (number == 1 and layout.words is not None):
            continue
        count += 1
        if layout.words is not None and count > layout.words:
            message = f"the file has more than the {layout.words} words that its header declares"
            raise FormatError(path, f"{message}; correct the header or get the file again", number)
        # Nearly every line passes this fast check, so that only lines of wanted words are split.
        if line.count(b" ") == dimension and not collector.may_want(line.split(None, 1)[0]):
            continue
        word, fields = _split_line(path, number, line, dimension)
        if collector.matches(word):
            collector.add(word, _parse_vector(path, number, word, fields))
    if layout.words is not None and count < layout.words:
        message = (
            f"the file ends after {count} of the {layout.words} words that its header declares"
        )
        raise FormatError(path, f"{message}; it is truncated, so get it again", number)


def _split_line(path: Path, number: int, line: bytes, dimension: int) -> tuple[str, list[bytes]]:
    """A word, which may contain spaces or be empty, and the fields of its vector.

    A whole number may be part of a word, as in *windows 95*, but a fraction is part of a vector.
    """
    fields = line.split()
    if len(fields) == dimension and line[:1].isspace():
        fields.insert(0, b"")
    word, vector = fields[:-dimension], fields[-dimension:]
    numbers = [field for field in fields[1:] if _NUMBER.fullmatch(field)]
    has_spaces = len(word) > 1 and all(map(_NUMBER.fullmatch, vector))
    if len(word) == 1 or (has_spaces and all(f.isdigit() or f not in numbers for f in word[1:])):
        return _decode(b" ".join(word)), vector
    message = f"the line needs a word and {dimension} numbers, but has {len(numbers)} numbers"
    fix = "get the file again, correct its header, or write _ instead of spaces in the word"
    raise FormatError(path, f"{message}; {fix}", number)


def _parse_vector(path: Path, number: int, word: str, fields: list[bytes]) -> Vectors:
    try:
        with np.errstate(over="ignore"):
            vector = np.array(fields, dtype=np.float64).astype(np.float32)
        if np.isfinite(vector).all():
            return vector
    except ValueError:
        pass
    limit = float(np.finfo(np.float32).max)
    wrong = next(f for f in fields if not (_NUMBER.fullmatch(f) and abs(float(f)) <= limit))
    message = f"{_decode(wrong)!r} in the vector of {word!r} is not a usable number"
    raise FormatError(path, f"{message}; correct it, remove the line or get the file again", number)


def _read_binary(
    path: Path, stream: BinaryIO, layout: VectorLayout, collector: _VectorCollector
) -> None:
    for number, offset, word, content in _binary_records(path, stream, layout):
        if collector.matches(word):
            vector = np.frombuffer(content, dtype="<f4").astype(np.float32)
            if not np.isfinite(vector).all():
                problem = f"the vector of {word!r} contains NaN or infinity"
                raise _binary_error(path, layout, number, offset, problem)
            collector.add(word, vector)


def _binary_records(
    path: Path, stream: BinaryIO, layout: VectorLayout
) -> Iterator[tuple[int, int, str, bytes]]:
    """Yield the number of each word, its offset in the file, the word, and its vector."""
    size, words = 4 * layout.dimension, layout.words or 0
    offset = len(stream.readline())
    buffer, start = b"", 0
    has_line_ends = False
    for number in range(1, words + 1):
        if len(buffer) - start < MAX_WORD_BYTES + size + 2:
            offset += start
            buffer, start = buffer[start:] + stream.read(_CHUNK_BYTES + 2 * size), 0
        while buffer.startswith(b"\n", start):
            start += 1
        space = _find_word_end(buffer, start, size, has_line_ends)
        end = space + 1 + size
        is_too_long = space < 0 and len(buffer) - start > MAX_WORD_BYTES
        if is_too_long or _CONTROL.search(buffer, start, max(space, start)):
            raise _binary_error(path, layout, number, offset + start, "no word was found")
        if space < 0 or end > len(buffer):
            raise _binary_error(path, layout, number, offset + start, "the file ends too early")
        if number == 1:
            # word2vec writes a line end after every vector, and gensim writes none.
            has_line_ends = buffer.startswith(b"\n", end)
        yield number, offset + start, _decode(buffer[start:space]), buffer[space + 1 : end]
        start = end
    if (buffer[start:] + stream.read(_CHUNK_BYTES)).strip():
        raise _binary_error(path, layout, words, offset + start, "more words follow")


def _binary_error(
    path: Path, layout: VectorLayout, number: int, offset: int, problem: str
) -> FormatError:
    where = f"read as binary, word {number} of {layout.words}, byte {offset}"
    header = f"{layout.words} words of {layout.dimension} numbers"
    fix = f"get the file again, or correct its header ({header})"
    return FormatError(path, f"{where}: {problem}; {fix}")


def _find_word_end(buffer: bytes, start: int, size: int, has_line_ends: bool) -> int:
    """The index of the space after a word, or -1.

    If vectors end with a newline, the word ends at the first space whose vector is followed by
    one, so that words may contain spaces. Otherwise the first space ends the word.
    """
    limit = start + MAX_WORD_BYTES + 1
    space = buffer.find(b" ", start, limit)
    while has_line_ends and space >= 0:
        end = space + 1 + size
        if end >= len(buffer) or buffer.startswith(b"\n", end):
            break
        space = buffer.find(b" ", space + 1, limit)
    return space


def _decode(word: bytes) -> str:
    """Decode a word; invalid bytes are replaced, as word2vec may cut a word inside a character."""
    return word.decode("utf-8", "replace")
