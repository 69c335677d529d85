"""Files of word vectors: word2vec text or binary, fastText .vec or GloVe text, also packed.

They may be packed with gzip or bzip2. The content decides the format: word2vec and fastText have a
header with the number of words and the dimension. If only numbers follow the next word, the file is
text, otherwise binary. Only the vectors of the wanted words are kept in memory.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

import numpy as np

from taxoexpan.errors import FormatError
from taxoexpan.features.corpus.documents import open_unpacked
from taxoexpan.features.encoder import Vectors

MAX_DIMENSION = 20_000
"""The most numbers of a vector: many more than any has, and a limit for damaged headers."""
MAX_WORD_BYTES = 4_000
"""The longest word; without a limit, a file without spaces would be read as one word."""
MAX_NUMBER_BYTES = 64
"""The longest number of a text, with the space before it; for the same reason."""
_CHUNK_BYTES = 1 << 20
"""The bytes that are read at a time; the first two lines must be among them."""

_HEADER = re.compile(rb"\s*(\d{1,18})[ \t]+(\d{1,18})\s*")


@dataclass(frozen=True, slots=True)
class VectorLayout:
    """The layout of a vector file; `word_count` is None for a file without a header."""

    is_binary: bool
    word_count: int | None
    dimension: int


def read_layout(path: Path) -> VectorLayout:
    """Recognize the layout of a file by its first two lines."""
    with open_unpacked(path) as (stream, _):
        first, _, rest = stream.read(_CHUNK_BYTES).removeprefix(BOM_UTF8).partition(b"\n")
    header = _HEADER.fullmatch(first)
    line = rest.partition(b"\n")[0] if header else first
    numbers = line.split()[1:]
    is_text = bool(numbers) and all(map(_is_number, numbers))
    if not header and not is_text:
        choices = "a word2vec text or binary file, a fastText .vec file or a GloVe text file"
        raise FormatError(path, "is not a file of word vectors", fix=f"use {choices}", line=1)
    word_count = int(header[1]) if header else None
    dimension = int(header[2]) if header else len(numbers)
    if not 0 < dimension <= MAX_DIMENSION:
        message = f"the vectors have {dimension} numbers, but 1 to {MAX_DIMENSION:,} are supported"
        raise FormatError(path, message, fix="use another file", line=1)
    if is_text and len(numbers) != dimension:
        message = f"the header declares {dimension} numbers per word, but the first word has"
        raise FormatError(path, f"{message} {len(numbers)}", fix="correct the header", line=1)
    return VectorLayout(not is_text, word_count, dimension)


def read_vectors(path: Path, wanted: Collection[str]) -> dict[str, Vectors]:
    """Read the vectors of lower-case words; an exact spelling comes before other cases."""
    layout = read_layout(path)
    read = _read_binary if layout.is_binary else _read_text
    exact: dict[str, Vectors] = {}
    other: dict[str, Vectors] = {}
    with open_unpacked(path) as (stream, _):
        for record in read(path, stream, layout, frozenset(wanted)):
            if not np.isfinite(record.vector).all():
                message = f"the vector of {record.word!r} has NaN or a number that is too large"
                raise FormatError(path, message, fix="get the file again", line=record.line)
            lowered = record.word.lower()
            vectors = exact if record.word == lowered else other
            vectors.setdefault(lowered, record.vector)
    return {**other, **exact}


@dataclass(frozen=True, slots=True)
class _Record:
    """A word and its vector, and its line in a text file."""

    line: int | None
    word: str
    vector: Vectors


def _read_text(
    path: Path, stream: BufferedReader, layout: VectorLayout, wanted: frozenset[str]
) -> Iterator[_Record]:
    """Yield the wanted words of a text file; a word may have spaces, and may be empty."""
    max_line_bytes = MAX_WORD_BYTES + MAX_NUMBER_BYTES * layout.dimension
    starts = {word.split(" ", 1)[0] for word in wanted}
    line_number = 0
    word_count = 0
    while line := stream.readline(max_line_bytes):
        line_number += 1
        if line_number == 1:
            line = line.removeprefix(BOM_UTF8)
        is_header = line_number == 1 and layout.word_count is not None
        if is_header or not line.strip():
            continue
        word_count += 1
        line = line.rstrip()
        # Nearly every line passes this fast check, so that only lines of wanted words are split.
        has_one_word = line.count(b" ") == layout.dimension
        if has_one_word and _decode(line.split(None, 1)[0]).lower() not in starts:
            continue
        word, numbers = _split_line(path, line_number, line, layout.dimension)
        if word.lower() in wanted:
            yield _Record(line_number, word, _parse_vector(path, line_number, word, numbers))
    if layout.word_count is not None and word_count < layout.word_count:
        message = f"the file ends after {word_count} of {layout.word_count} words"
        raise FormatError(path, message, fix="it is truncated, so get it again", line=line_number)


def _split_line(
    path: Path, line_number: int, line: bytes, dimension: int
) -> tuple[str, list[bytes]]:
    """Split a line into a word and its numbers, from the end, as the word may have spaces."""
    # The dot stands before the word, which would be missing in the result if it were empty.
    first, *numbers = (b"." + line).rsplit(None, dimension)
    if len(numbers) < dimension or not _is_number(numbers[0]):
        message = f"the line needs a word and {dimension} numbers"
        raise FormatError(path, message, fix="get the file again", line=line_number)
    return _decode(first[1:]), numbers


def _parse_vector(path: Path, line_number: int, word: str, numbers: Sequence[bytes]) -> Vectors:
    try:
        with np.errstate(over="ignore"):
            return np.array(numbers, dtype=np.float64).astype(np.float32)
    except ValueError as error:
        message = f"the vector of {word!r} has a wrong number ({error})"
        raise FormatError(path, message, fix="get the file again", line=line_number) from None


def _read_binary(
    path: Path, stream: BufferedReader, layout: VectorLayout, wanted: frozenset[str]
) -> Iterator[_Record]:
    """Yield the wanted words of a binary file; word2vec writes a line end after every vector."""
    vector_bytes = np.dtype("<f4").itemsize * layout.dimension
    word_count = layout.word_count or 0
    stream.readline()  # the header
    buffer = b""
    start = 0
    for position in range(1, word_count + 1):
        if len(buffer) - start < MAX_WORD_BYTES + vector_bytes:
            buffer = buffer[start:] + stream.read(_CHUNK_BYTES + vector_bytes)
            start = 0
        space = buffer.find(b" ", start, start + MAX_WORD_BYTES)
        end = space + 1 + vector_bytes
        if space < 0 or end > len(buffer):
            message = f"word {position} of {word_count}, with {layout.dimension} numbers,"
            fix = "the file is damaged, so get it again"
            raise FormatError(path, f"{message} was not found", fix=fix)
        word = _decode(buffer[start:space].lstrip(b"\n"))
        if word.lower() in wanted:
            vector = np.frombuffer(buffer[space + 1 : end], "<f4").astype(np.float32)
            yield _Record(None, word, vector)
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
