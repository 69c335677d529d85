"""A cache of vectors in one SQLite file per encoder, by digests of the texts."""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

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
            key = _digest(repr((VERSION, self.dimension, inner.fingerprint()))).hex()
            self._path = folder / f"{key}.sqlite"

    def show_progress(self, shown: bool) -> None:
        """Show or hide a progress bar when there are many texts to encode."""
        self._progress = shown

    def prepare(self, texts: Sequence[str]) -> None:
        """Prepare the encoder for the texts that are not cached."""
        digests = {_digest(text): text for text in texts}
        cached = self._attempt(lambda file: _read(file, list(digests)), dict[bytes, bytes]())
        missing = [text for digest, text in digests.items() if digest not in cached]
        if missing:
            self.inner.prepare(missing)

    def part_with_model(self) -> Encoder | None:
        """Return this encoder if it caches the vectors of a sentence model."""
        return None if self.inner.part_with_model() is None else self

    def copy_model(self) -> SentenceModel:
        """Return a copy of the sentence model."""
        return self.inner.copy_model()

    def unload(self) -> None:
        """Free the memory of the encoder."""
        self.inner.unload()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, which is bitwise identical each time."""
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        distinct = list(rows)
        digests = [_digest(text) for text in distinct]
        vectors = np.zeros((len(rows), self.dimension), dtype=np.float32)
        cached = self._attempt(lambda file: _read(file, digests), dict[bytes, bytes]())
        missing = []
        for row, digest in enumerate(digests):
            if len(vector := cached.get(digest, b"")) == 4 * self.dimension:
                vectors[row] = np.frombuffer(vector, "<f4")
            else:
                missing.append(row)
        if missing:
            self.inner.prepare([distinct[row] for row in missing])
        shown = self._progress and len(missing) >= MIN_TEXTS_FOR_PROGRESS
        with Progress("encoding", len(missing), "texts", shown=shown, collects=True):
            for start in range(0, len(missing), BLOCK_SIZE):
                block = missing[start : start + BLOCK_SIZE]
                vectors[block] = self.inner.encode([distinct[row] for row in block])
                fresh = [(digests[row], vectors[row].astype("<f4").tobytes()) for row in block]
                self._attempt(lambda file, fresh=fresh: _write(file, fresh), None)  # type: ignore[misc]
        return vectors[np.array([rows[text] for text in texts], dtype=np.intp)]

    def fingerprint(self) -> str:
        """Return the fingerprint of the encoder."""
        return self.inner.fingerprint()

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
            warnings.warn(message, stacklevel=3)
            self._path = None
            return default


@contextmanager
def _connection(path: Path) -> Iterator[sqlite3.Connection]:
    """Connect for one step, so that threads and forked processes never share a connection.

    The write-ahead log would be faster, but needs shared memory, which network file systems lack.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
        connection.executescript(_LAYOUT)
        yield connection


def _read(path: Path, digests: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the vectors of these digests that the file contains."""
    found: dict[bytes, bytes] = {}
    with _connection(path) as connection:
        for start in range(0, len(digests), _MAX_PARAMETERS):
            some = digests[start : start + _MAX_PARAMETERS]
            query = "SELECT digest, vector FROM vectors WHERE digest IN "
            found.update(connection.execute(f"{query}({', '.join('?' * len(some))})", some))
    return found


def _write(path: Path, rows: Sequence[tuple[bytes, bytes]]) -> None:
    """Add all vectors in one transaction; another process may have stored some of them."""
    with _connection(path) as connection:
        connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)


def _digest(text: str) -> bytes:
    """Return a digest of a text, which may contain lone surrogates."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
