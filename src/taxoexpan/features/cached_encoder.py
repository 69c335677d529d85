"""An encoder that keeps the vectors of another one in an SQLite file, by digests of the texts.

There is one file per encoder. It grows with every new text and never shrinks; users may delete it.
"""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from platformdirs import user_cache_path

from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.progress import Progress

if TYPE_CHECKING:
    from taxoexpan.features.sentence_model import SentenceModel

BLOCK_SIZE = 1_024
"""The number of texts that are encoded and stored at a time; a killed run loses at most these."""

MIN_TEXTS_FOR_PROGRESS = 2_000
"""The number of texts at or above which a progress bar is shown."""

VERSION = 3
"""The version of the file layout; it is part of the file name."""

STORED_TYPE = np.dtype("<f4")
"""The type of the numbers of a stored vector."""

WRITE_WAIT = 30.0
"""The seconds to wait for another process that is writing; a block takes far less."""

_MAX_PARAMETERS = 900
"""The number of texts per SQL query; some builds of SQLite allow only 999 parameters."""

# With pages of 16 kB the files are a fifth smaller than with the default of 4 kB.
_LAYOUT = """
    PRAGMA page_size = 16384;
    CREATE TABLE IF NOT EXISTS vectors (digest BLOB PRIMARY KEY, vector BLOB NOT NULL);
"""

T = TypeVar("T")


def cache_folder() -> Path | None:
    """Return `$TAXOEXPAN_CACHE`, or the platform's cache directory; None for no cache."""
    chosen = os.environ.get("TAXOEXPAN_CACHE")
    if chosen is not None:
        return Path(chosen).expanduser().absolute() if chosen else None
    try:
        folder = user_cache_path("taxoexpan", appauthor=False)
    except RuntimeError:  # older versions of platformdirs return a relative path instead
        return None
    return folder if folder.is_absolute() else None


class CachedEncoder(Encoder):
    """An encoder that encodes only texts without a cached vector; cache errors only warn."""

    def __init__(self, inner: Encoder, folder: Path | None = None) -> None:
        self.inner = inner
        self.name = inner.name
        self.dimension = inner.dimension
        self._progress = False
        self._path: Path | None = None
        if folder := folder or cache_folder():
            settings = repr((VERSION, self.dimension, inner.fingerprint()))
            self._path = folder / f"{_digest(settings).hex()}.sqlite"

    def show_progress(self, shown: bool) -> None:
        """Show or hide a progress bar when there are many texts to encode."""
        self._progress = shown

    def prepare(self, texts: Sequence[str]) -> None:
        """Prepare the encoder for the texts that are not cached."""
        text_of = {_digest(text): text for text in texts}
        cached = self._find(list(text_of))
        missing = [text for digest, text in text_of.items() if digest not in cached]
        if missing:
            self.inner.prepare(missing)

    def part_with_model(self) -> Encoder | None:
        """Return this encoder if it caches the vectors of a sentence model."""
        return None if self.inner.part_with_model() is None else self

    def copy_model(self) -> SentenceModel:
        """Return a copy of the sentence model."""
        return self.inner.copy_model()

    def keep_states(self, texts: Sequence[str], tuned_layers: int) -> None:
        """Compute what a fine-tuning of the upper layers does not change."""
        self.inner.keep_states(texts, tuned_layers)

    def unload(self) -> None:
        """Free the memory of the encoder."""
        self.inner.unload()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, which is bitwise identical each time."""
        distinct = list(dict.fromkeys(texts))
        digests = [_digest(text) for text in distinct]
        vectors = np.zeros((len(distinct), self.dimension), dtype=np.float32)
        cached = self._read(digests)
        missing = []
        for index, digest in enumerate(digests):
            if digest in cached:
                vectors[index] = np.frombuffer(cached[digest], STORED_TYPE)
            else:
                missing.append(index)
        if missing:
            self.inner.prepare([distinct[index] for index in missing])
        shown = self._progress and len(missing) >= MIN_TEXTS_FOR_PROGRESS
        with Progress("encoding", len(missing), "texts", shown=shown, collects=True):
            for start in range(0, len(missing), BLOCK_SIZE):
                block = missing[start : start + BLOCK_SIZE]
                vectors[block] = self.inner.encode([distinct[index] for index in block])
                self._write([digests[index] for index in block], vectors[block])
        index_of = {text: index for index, text in enumerate(distinct)}
        return vectors[np.array([index_of[text] for text in texts], dtype=np.intp)]

    def fingerprint(self) -> str:
        """Return the fingerprint of the encoder."""
        return self.inner.fingerprint()

    @property
    def _vector_bytes(self) -> int:
        """The size of a stored vector; a vector of another size is damaged, so not cached."""
        return STORED_TYPE.itemsize * self.dimension

    def _find(self, digests: Sequence[bytes]) -> set[bytes]:
        """Return those of these digests that have a stored vector."""
        size = self._vector_bytes
        return self._attempt(lambda path: _find_vectors(path, digests, size), set[bytes]())

    def _read(self, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the stored vectors of these digests."""
        size = self._vector_bytes
        return self._attempt(lambda path: _read_vectors(path, digests, size), dict[bytes, bytes]())

    def _write(self, digests: Sequence[bytes], vectors: Vectors) -> None:
        """Store the vectors of texts, given by their digests."""
        stored = [vector.astype(STORED_TYPE).tobytes() for vector in vectors]
        rows = list(zip(digests, stored, strict=True))
        self._attempt(lambda path: _write_vectors(path, rows), None)

    def _attempt(self, step: Callable[[Path], T], default: T) -> T:
        """Return the result of a step with the file; if it fails, warn and stop caching."""
        if self._path is None:
            return default
        try:
            return step(self._path)
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            fix = "delete this file, or set TAXOEXPAN_CACHE to another folder or to nothing"
            message = f"{self._path}: vectors are not cached ({reason}); {fix}"
            warnings.warn(message, stacklevel=4)  # in the caller of `prepare` or `encode`
            self._path = None
            return default


@contextmanager
def _transaction(path: Path) -> Iterator[sqlite3.Connection]:
    """Connect for one transaction, so that threads and forked processes share no connection.

    The write-ahead log would be faster, but needs shared memory, which network file systems lack.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=WRITE_WAIT)) as connection:
        connection.executescript(_LAYOUT)
        yield connection
        connection.commit()


def _find_vectors(path: Path, digests: Sequence[bytes], size: int) -> set[bytes]:
    """Return the digests that the file has a vector of `size` bytes for, without reading it."""
    return {digest for (digest,) in _select(path, "digest", digests, size)}


def _read_vectors(path: Path, digests: Sequence[bytes], size: int) -> dict[bytes, bytes]:
    """Return the vectors of `size` bytes of these digests that the file contains."""
    return dict(_select(path, "digest, vector", digests, size))


def _select(path: Path, columns: str, digests: Sequence[bytes], size: int) -> Iterator[Any]:
    """Yield the columns of the rows with these digests and a vector of `size` bytes."""
    with _transaction(path) as connection:
        for start in range(0, len(digests), _MAX_PARAMETERS):
            block = digests[start : start + _MAX_PARAMETERS]
            marks = ", ".join("?" * len(block))
            query = f"SELECT {columns} FROM vectors WHERE digest IN ({marks})"
            yield from connection.execute(f"{query} AND length(vector) = {size:d}", block)


def _write_vectors(path: Path, rows: Sequence[tuple[bytes, bytes]]) -> None:
    """Add all vectors in one transaction; another process may have stored some of them."""
    with _transaction(path) as connection:
        connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)


def _digest(text: str) -> bytes:
    """Return a digest of a string, which may contain lone surrogates."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
