"""Word vectors out of a file: word2vec's text and binary, fastText's .vec, GloVe's text.

What a file is, its content says, whatever its name: a first line of two whole numbers, how many
words and how many numbers a word, is word2vec's (and fastText's) header. Behind it lies text where
the first line is mostly spelled numbers, and binary otherwise. Without a header it is GloVe's. Any
of them may be packed with gzip.

A file is read from end to end in small pieces, and only the wanted words' numbers are looked at, so
the largest needs no more memory than what is asked of it. What is wrong with it is found whatever
is asked, but for numbers that cannot be used: those only in the vectors that are kept.
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

MOST_DIMENSIONS = 20_000
MOST_WORD_BYTES = 4_000
_PIECE = 1 << 20
_SAMPLE_LINES = 20

_GZIP = b"\x1f\x8b"
_PACKED = "is a packed file; unpack it, and give the file of vectors that is inside"
_NO_VECTORS = (
    "is no file of word vectors; give word2vec's text or binary, fastText's .vec or GloVe's text"
)
_PICKLED = (
    "is a file of gensim's own, a pickle, which is not opened since it could run any program; "
    "write the vectors with gensim's save_word2vec_format, and give that file"
)
_OTHER_KINDS = {
    b"PK\x03\x04": _PACKED,
    b"BZh91AY&SY": _PACKED,
    b"\xfd7zXZ\0": _PACKED,
    b"7z\xbc\xaf\x27\x1c": _PACKED,
    b"\x28\xb5\x2f\xfd": _PACKED,
    (793712314).to_bytes(4, "little"): "is a fastText model; give the .vec file that belongs to it",
    b"\x93NUMPY": f"is a numpy array, without any words, and so {_NO_VECTORS}",
    codecs.BOM_UTF16_LE: "is UTF-16; save it as UTF-8",
    codecs.BOM_UTF16_BE: "is UTF-16; save it as UTF-8",
    **{bytes([0x80, protocol]): _PICKLED for protocol in range(2, 6)},
}

_HEADER = re.compile(rb"\s*(\d{1,18})[ \t]+(\d{1,18})\s*")
_NUMBER = re.compile(rb"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)", re.I)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_GAP = re.compile(r"[ \t\n\r\x0b\x0c]+")


@dataclass(frozen=True)
class WordVectors:
    """Words, and the row of each in a matrix [n, D]."""

    words: dict[str, int]
    matrix: Vectors


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file holds its vectors; `words` is None where no header counts them."""

    binary: bool
    words: int | None
    dimension: int

    @property
    def has_header(self) -> bool:
        """Whether the first line declares how many words and numbers follow."""
        return self.words is not None


def read_vectors(path: Path, wanted: Collection[str] | None = None) -> WordVectors:
    """The vectors of the wanted words that the file has, or of all its words.

    A wanted word is found where it is spelled just so, or else where the file has it in other
    case: *paris* is "paris", or else the first of "Paris" and "PARIS" in the file. It is known by
    the spelling in which it was wanted. Of words that come more than once the first counts.
    """
    layout = recognised(path)
    harvest = _Harvest(wanted)
    with _opened(path) as stream:
        if layout.binary:
            _read_binary(path, stream, layout, harvest)
        else:
            _read_text(path, stream, layout, harvest)
    return harvest.vectors(layout.dimension)


def recognised(path: Path) -> Layout:
    """How this file holds its vectors, by its beginning."""
    with _opened(path) as stream:
        start = stream.read(_PIECE)
    if not start.strip():
        raise FormatError(path, "the file is empty; it needs at least one word and its vector")
    if path.suffix.lower() == ".npz":
        raise FormatError(path, "is numpy's, without words; write the vectors as .vec")
    for mark, message in _OTHER_KINDS.items():
        if start.startswith(mark):
            raise FormatError(path, message)
    first, _, rest = start.partition(b"\n")
    header = _HEADER.fullmatch(first)
    if header is None:
        return _without_header(path, start)
    words, dimension = int(header[1]), int(header[2])
    _refuse_sizes(path, words, dimension)
    lines = _sample(rest)
    binary = not lines or not _mostly_numbers(lines[0])
    if not binary:
        _refuse_other_dimension(path, dimension, lines)
    return Layout(binary, words, dimension)


def _without_header(path: Path, start: bytes) -> Layout:
    """GloVe's: as many numbers a word as most of the first lines end in."""
    lines = _sample(start)
    if not lines or not _mostly_numbers(lines[0]):
        raise FormatError(path, _NO_VECTORS, 1)
    lengths = Counter(_numbers_at_end(fields) for fields in lines)
    dimension = max(lengths, key=lambda length: (lengths[length], length))
    _refuse_sizes(path, 1, dimension)
    return Layout(False, None, dimension)


def _sample(start: bytes) -> list[list[bytes]]:
    """The fields of the first lines that are not blank."""
    lines = start.split(b"\n", _SAMPLE_LINES)[:_SAMPLE_LINES]
    return [line.split() for line in lines if line.strip()]


def _mostly_numbers(fields: Sequence[bytes]) -> bool:
    """Whether a line may be a word and its vector, spelled out, be it with some mistakes."""
    numbers = sum(_NUMBER.fullmatch(field) is not None for field in fields[1:])
    return numbers > 0 and 2 * numbers >= len(fields) - 1


def _numbers_at_end(fields: Sequence[bytes]) -> int:
    """How many numbers end a line; its first field is the word, even where that is a number."""
    numbers = 0
    while numbers < len(fields) - 1 and _NUMBER.fullmatch(fields[-1 - numbers]):
        numbers += 1
    return numbers


def _refuse_sizes(path: Path, words: int, dimension: int) -> None:
    """A file without any word, or with vectors of no size that makes sense."""
    if not words:
        raise FormatError(path, "the header declares no words; give a file with some", 1)
    if not 0 < dimension <= MOST_DIMENSIONS:
        message = f"vectors of {dimension} numbers; from 1 to {MOST_DIMENSIONS:,} can be used"
        raise FormatError(path, f"{message}, so correct the header or give another file", 1)


def _refuse_other_dimension(path: Path, declared: int, lines: list[list[bytes]]) -> None:
    """A header that none of the first lines agrees with."""
    if any(declared in (len(fields) - 1, _numbers_at_end(fields)) for fields in lines):
        return
    message = f"the header declares {declared} numbers a word"
    found = f"the first word has {_numbers_at_end(lines[0])}"
    raise FormatError(path, f"{message}, but {found}; correct the header or get the file again", 1)


@contextmanager
def _on_disk(path: Path) -> Iterator[io.FileIO]:
    """The file's bytes as they lie on disk; what fails while they are read is ours."""
    try:
        if path.exists() and not path.is_file():
            raise FormatError(path, "is not an ordinary file; give the name of one")
        with path.open("rb", buffering=0) as file:
            yield file
    except FileNotFoundError:
        raise FormatError(path, "there is no such file; check the path") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        message = "the packed file is cut off or damaged; get it again"
        raise FormatError(path, message) from None
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror}") from None


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file's content: unpacked, and without a byte order mark."""
    with _on_disk(path) as file:
        packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        raw = gzip.GzipFile(fileobj=file) if packed else file
        with io.BufferedReader(cast("io.RawIOBase", raw), _PIECE) as stream:
            if stream.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
                stream.read(len(codecs.BOM_UTF8))
            yield stream


class _Harvest:
    """The vectors of wanted words, gathered as they turn up."""

    def __init__(self, wanted: Collection[str] | None) -> None:
        self._all = wanted is None
        self._wanted: dict[str, list[str]] = {}
        for word in dict.fromkeys(wanted or ()):
            self._wanted.setdefault(word.lower(), []).append(word)
        self._beginnings = {_GAP.split(word, maxsplit=1)[0] for word in self._wanted}
        self._rows: dict[str, int] = {}
        self._exact: set[str] = set()
        # One growing block: a list of rows would need the room twice when it is put together.
        self._numbers = bytearray()

    def may_want(self, beginning: bytes) -> bool:
        """Whether a word that begins so, up to its first space, may be wanted."""
        return self._all or _decoded(beginning).lower() in self._beginnings

    def names(self, word: str) -> list[str]:
        """The wanted words that this word of the file is the best so far for."""
        if self._all:
            return [] if word in self._rows else [word]
        return [
            name
            for name in self._wanted.get(word.lower(), ())
            if name not in self._exact and (name == word or name not in self._rows)
        ]

    def keep(self, word: str, vector: Vectors) -> None:
        """Keep a word's vector under all its names, in place of one in other case."""
        for name in self.names(word):
            row = self._rows.setdefault(name, len(self._rows))
            self._numbers[row * vector.nbytes : (row + 1) * vector.nbytes] = vector.tobytes()
            if name == word:
                self._exact.add(name)

    def vectors(self, dimension: int) -> WordVectors:
        """All that was kept."""
        matrix = np.frombuffer(self._numbers, dtype=np.float32).reshape(-1, dimension)
        return WordVectors(self._rows, matrix)


def _read_text(path: Path, stream: BinaryIO, layout: Layout, harvest: _Harvest) -> None:
    for number, line in _text_lines(path, stream, layout):
        if not harvest.may_want(line.split(None, 1)[0]):
            continue
        word, fields = _split(path, number, line, layout.dimension)
        if harvest.names(word):
            harvest.keep(word, _parsed(path, number, word, fields))


def _text_lines(path: Path, stream: BinaryIO, layout: Layout) -> Iterator[tuple[int, bytes]]:
    """Every line with a word, with its number; each has the fields that it must have."""
    words = number = 0
    most = MOST_WORD_BYTES + 64 * layout.dimension
    for number, line in enumerate(iter(partial(stream.readline, most), b""), start=1):
        if len(line) == most:
            message = f"a line too long for a word and {layout.dimension} numbers"
            raise FormatError(path, f"{message}; get the file again", number)
        line = line.rstrip()
        if not line or (number == 1 and layout.has_header):
            continue
        words += 1
        if layout.words is not None and words > layout.words:
            message = f"here is a word more than the {layout.words} that the header declares"
            raise FormatError(path, f"{message}; correct the header, or get the file again", number)
        # Nearly every line passes this cheap test; the others are looked at field by field.
        if line.count(b" ") != layout.dimension:
            _refuse_fields(path, number, line, layout.dimension)
        yield number, line
    if layout.words is not None and words < layout.words:
        message = (
            f"the file ends after {words} of the {layout.words} words that its header declares"
        )
        raise FormatError(path, f"{message}; it is cut off, so get it again", number)


def _split(path: Path, number: int, line: bytes, dimension: int) -> tuple[str, list[bytes]]:
    """A word, which may hold spaces or be blank, and the fields of its vector."""
    fields = line.rsplit(None, dimension)
    if len(fields) == dimension and line[:1].isspace():
        return "", fields
    if len(fields) <= dimension:
        _refuse_fields(path, number, line, dimension)
    return _decoded(fields[0].strip()), fields[1:]


def _refuse_fields(path: Path, number: int, line: bytes, dimension: int) -> None:
    """A line with too few numbers, or with too many to be a word of several parts."""
    fields = [b""] * line[:1].isspace() + line.split()
    if len(fields) == dimension + 1:
        return
    numbers = _numbers_at_end(fields)
    if numbers < dimension:
        message = f"a vector has {dimension} numbers here, but this line ends in {numbers}"
        raise FormatError(path, f"{message}; the file is damaged, so get it again", number)
    # In a name a whole number may stand alone, windows 95, but hardly a fraction.
    for field in fields[1 : len(fields) - dimension]:
        if _NUMBER.fullmatch(field) and not field.isdigit():
            message = f"more than the {dimension} numbers that belong to a word"
            mend = f"get the file again, or if {_decoded(field)} is part of the word, put _ before"
            raise FormatError(path, f"{message}; {mend} it instead of the space", number)


def _parsed(path: Path, number: int, word: str, fields: list[bytes]) -> Vectors:
    try:
        numbers = np.array(fields, dtype=np.float64)
    except ValueError:
        wrong = next(field for field in fields if not _NUMBER.fullmatch(field))
        message = f"{_decoded(wrong)!r} in the vector of {word!r} is not a number"
        raise FormatError(path, f"{message}; correct it, or get the file again", number) from None
    with np.errstate(over="ignore"):
        vector = numbers.astype(np.float32)
    if not np.isfinite(vector).all():
        wrong = fields[int(np.flatnonzero(~np.isfinite(vector))[0])]
        message = f"{_decoded(wrong)} in the vector of {word!r} cannot be used as a number"
        raise FormatError(path, f"{message}; take the line out, or get the file again", number)
    return vector


def _read_binary(path: Path, stream: BinaryIO, layout: Layout, harvest: _Harvest) -> None:
    for row, offset, name, content in _binary_records(path, stream, layout):
        word = _decoded(name)
        if not harvest.names(word):
            continue
        vector = np.frombuffer(content, dtype="<f4").astype(np.float32, copy=False)
        if not np.isfinite(vector).all():
            wrong = vector[~np.isfinite(vector)][0]
            message = f"{wrong} in the vector of {word!r} cannot be used as a number"
            raise _damaged(path, row, offset, layout, message)
        harvest.keep(word, vector)


def _binary_records(
    path: Path, stream: BinaryIO, layout: Layout
) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Every word with its row, the byte where it begins, and the bytes of its vector."""
    size = 4 * layout.dimension
    offset = len(stream.readline())
    buffer, at = b"", 0
    closed: bool | None = None
    for row in range(1, (layout.words or 0) + 1):
        if len(buffer) - at < MOST_WORD_BYTES + size + 2:
            offset += at
            buffer, at = buffer[at:] + stream.read(_PIECE + 2 * size), 0
        while buffer.startswith(b"\n", at):
            at += 1
        space = _word_end(buffer, at, size, bool(closed))
        problem = _problem(buffer, at, space, size)
        if problem:
            raise _damaged(path, row, offset + at, layout, problem)
        if closed is None:
            closed = buffer.startswith(b"\n", space + 1 + size)
        yield row, offset + at, buffer[at:space], buffer[space + 1 : space + 1 + size]
        at = space + 1 + size
    if (buffer[at:] + stream.read(_PIECE)).strip():
        message = f"after the {layout.words} words that the header declares there is more"
        place = f"from byte {offset + at} on"
        raise FormatError(path, f"{message}, {place}; correct the header, or get the file again")


def _word_end(buffer: bytes, start: int, size: int, closed: bool) -> int:
    """The place of the space behind a word, or -1.

    Where every vector is closed by a line end, as word2vec itself writes them, that tells the space
    behind a word from one inside it; without that the first space ends the word.
    """
    most = start + MOST_WORD_BYTES + 1
    space = buffer.find(b" ", start, most)
    while closed and space >= 0:
        behind = space + 1 + size
        if behind >= len(buffer) or buffer.startswith(b"\n", behind):
            break
        space = buffer.find(b" ", space + 1, most)
    return space


def _problem(buffer: bytes, start: int, space: int, size: int) -> str:
    """What is wrong with a record, or nothing."""
    if start >= len(buffer):
        return "the file ends here"
    if space < 0 and len(buffer) - start <= MOST_WORD_BYTES and b" " not in buffer[start:]:
        return "the file ends in the middle of a word"
    if space < 0 or _CONTROL.search(buffer, start, space):
        return "no word stands here"
    if space + 1 + size > len(buffer):
        return "the file ends in the middle of a vector"
    return ""


def _damaged(path: Path, row: int, offset: int, layout: Layout, problem: str) -> FormatError:
    place = f"taken as binary, word {row} of {layout.words}, at byte {offset}"
    header = f"{layout.words} words of {layout.dimension} numbers"
    mend = f"get the file again, or correct its header ({header})"
    return FormatError(path, f"{place}: {problem}; {mend}")


def _decoded(word: bytes) -> str:
    """A word as text; word2vec cuts long ones in mid-letter, which is no reason to fail."""
    return word.decode("utf-8", "replace")
