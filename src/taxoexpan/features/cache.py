"""Caches vectors on disk, so that no text is encoded twice.

There is one SQLite file per encoder, with one row per text: a digest of the text (never the text
itself), the vector, and a checksum of both. SQLite only notices damage to the structure of a file.
The checksum finds a changed vector, and a vector that belongs to another text.
"""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from taxoexpan.errors import TaxoExpanError
from taxoexpan.features.encoder import Encoder, Vectors

BLOCK_SIZE = 1_024
"""The number of texts that are encoded and stored at a time; a killed run loses at most these."""

VERSION = 1
"""The version of the file layout; it is part of the file name."""

_MAX_PARAMETERS = 900
"""The number of texts per SQL query; some builds of SQLite allow only 999 parameters."""

# With pages of 16 kB the files are a fifth smaller than with the default of 4 kB.
_LAYOUT = f"""
    PRAGMA page_size = 16384;
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS vectors
        (digest BLOB PRIMARY KEY, checksum INTEGER NOT NULL, vector BLOB NOT NULL);
    PRAGMA user_version = {VERSION};
    COMMIT;
"""

T = TypeVar("T")


def cache_folder() -> Path | None:
    """The folder `$TAXOEXPAN_CACHE`, or else the usual cache folder of the platform.

    None, for no cache, if that variable is set but empty, or if there is no home directory.
    """
    chosen = os.environ.get("TAXOEXPAN_CACHE")
    if chosen is not None:
        return Path(chosen).expanduser().absolute() if chosen else None
    try:
        folder = user_cache_path("taxoexpan", appauthor=False)
    except RuntimeError:  # older versions of platformdirs return a relative path instead
        return None
    return folder if folder.is_absolute() else None


class CachedEncoder(Encoder):
    """Wraps an encoder and encodes only the texts whose vectors are not in the cache yet.

    A problem with the cache costs a warning and time, but never causes an error or a wrong vector.
    Encoders with the same fingerprint share their vectors. `folder` defaults to `cache_folder()`.
    `timeout` is how many seconds to wait while another process locks the file.
    """

    def __init__(self, inner: Encoder, folder: Path | None = None, timeout: float = 30.0) -> None:
        self.inner = inner
        self.name = inner.name
        self.dimension = inner.dimension
        self._folder = folder or cache_folder()
        self._timeout = timeout
        self._replaced = False
        self._choose_store()

    def _choose_store(self) -> None:
        """Choose the file that belongs to the current fingerprint of the encoder."""
        self._fingerprint = self.inner.fingerprint()
        self._writable = True
        self._store: _VectorStore | None = None
        if self._folder:
            key = _digest(repr((VERSION, self.dimension, self._fingerprint))).hex()
            path = self._folder / f"{key}.sqlite"
            self._store = _VectorStore(path, self.dimension, self._timeout)

    def show_progress(self, shown: bool) -> None:
        """Show or hide the progress bars of the encoder."""
        self.inner.show_progress(shown)

    def learn(self, names: Collection[str]) -> None:
        """Let the encoder learn the names; then use the cache file of its new fingerprint."""
        self.inner.learn(names)
        self._choose_store()

    def prepare(self, texts: Sequence[str]) -> None:
        """Prepare the encoder for the texts that are not cached."""
        digests = {text: _digest(text) for text in texts}
        cached = self._attempt(lambda store: store.known(list(digests.values())), set[bytes]())
        missing = [text for text, digest in digests.items() if digest not in cached]
        if missing:
            self.inner.prepare(missing)

    def unload(self) -> None:
        """Free the memory of the encoder."""
        self.inner.unload()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, identical to the last bit each time."""
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        distinct = list(rows)
        digests = [_digest(text) for text in distinct]
        vectors = np.zeros((len(rows), self.dimension), dtype=np.float32)
        none_cached = np.zeros(len(rows), dtype=bool)
        cached = self._attempt(lambda store: store.read(digests, vectors), none_cached)
        missing = np.flatnonzero(~cached)
        if len(missing):
            self.inner.prepare([distinct[row] for row in missing])
        for start in range(0, len(missing), BLOCK_SIZE):
            block = missing[start : start + BLOCK_SIZE]
            fresh = self.inner.encode([distinct[row] for row in block])
            vectors[block] = self._add([digests[row] for row in block], fresh)
        return vectors[np.array([rows[text] for text in texts], dtype=np.intp)]

    def fingerprint(self) -> str:
        """The fingerprint of the encoder."""
        return self.inner.fingerprint()

    def save(self, folder: Path) -> None:
        """Save what the encoder has learned."""
        self.inner.save(folder)

    def _add(self, digests: Sequence[bytes], fresh: Vectors) -> Vectors:
        """Store new vectors, and return the stored ones."""
        if not self._writable or self._store is None:
            return fresh
        if not self._is_unchanged():
            self._writable = False
            _warn(f"{self.name} changed while it was in use; its vectors are not cached")
            return fresh
        return self._attempt(lambda store: store.write(digests, fresh), fresh, writing=True)

    def _is_unchanged(self) -> bool:
        """Whether the file belongs to the encoder; a vector file may be replaced during a run."""
        try:
            return self.inner.fingerprint() == self._fingerprint
        except (OSError, TaxoExpanError):
            return False

    def _attempt(self, step: Callable[[_VectorStore], T], default: T, writing: bool = False) -> T:
        """The result of a step with the file; if it fails, warn and return the default."""
        store = self._store
        if store is None:
            return default
        try:
            return step(store)
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            damaged = _is_damage(error)
            if damaged and not self._replaced:
                self._replaced = True
                store.delete()
                _warn(f"{store.path}: the cached vectors are damaged; the texts are encoded again")
                return default
            # A file that cannot be written, for example on a full disk, can often still be read.
            readable = writing and not damaged
            self._store = store if readable else None
            self._writable = False
            lost = "new vectors are not cached" if readable else "vectors are not cached"
            reason = getattr(error, "strerror", None) or str(error)
            fix = "set TAXOEXPAN_CACHE to another folder, or to nothing for no cache"
            _warn(f"{store.path.parent}: {lost} ({reason}); {fix}")
            return default


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=4)


def _is_damage(error: Exception) -> bool:
    """Whether an error is about the content of a file, and not about access to it.

    SQLite reports a missing table with the same exception class as a locked file, and bytes that
    are not UTF-8 without any code.
    """
    if isinstance(error, OSError):
        return False
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    return not isinstance(error, sqlite3.OperationalError) or code == sqlite3.SQLITE_ERROR


class _VectorStore:
    """The SQLite file with the vectors of one encoder."""

    def __init__(self, path: Path, dimension: int, timeout: float) -> None:
        self.path = path
        self._dimension = dimension
        self._timeout = timeout

    def known(self, digests: Sequence[bytes]) -> set[bytes]:
        """The digests that the file contains."""
        with self._connection() as connection:
            return {row[0] for rows in _select(connection, "digest", digests) for row in rows}

    def read(self, digests: Sequence[bytes], vectors: Vectors) -> NDArray[np.bool_]:
        """Fill in the vectors that the file contains, and return which ones they are."""
        with self._connection() as connection:
            return self._fill(connection, digests, vectors)

    def write(self, digests: Sequence[bytes], fresh: Vectors) -> Vectors:
        """Add all vectors in one transaction, and return the vectors in the file.

        Another process may have stored its own vectors first, which may differ in the last bits.
        Vectors with NaN or infinity are not stored, because they would look like damage.
        """
        vectors = np.array(fresh, dtype=np.float32)
        rows = []
        for digest, row in zip(digests, vectors.astype("<f4"), strict=True):
            if np.isfinite(row).all():
                rows.append((digest, _checksum(digest, row.tobytes()), row.tobytes()))
        with self._connection() as connection:
            added = connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)
            if added.rowcount < len(rows):
                self._fill(connection, digests, vectors)
        return vectors

    def delete(self) -> None:
        """Delete the file and its journal if possible."""
        for path in (self.path, Path(f"{self.path}-journal")):
            with suppress(OSError):
                path.unlink()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Connect for one step, so that threads and forked processes never share a connection.

        The journal mode stays the default: the faster write-ahead log needs shared memory, which
        network file systems do not have.
        """
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        connecting = sqlite3.connect(self.path, timeout=self._timeout, isolation_level="IMMEDIATE")
        with closing(connecting) as connection, connection:
            if not connection.execute("PRAGMA user_version").fetchone()[0]:
                connection.executescript(_LAYOUT)
            yield connection

    def _fill(
        self, connection: sqlite3.Connection, digests: Sequence[bytes], vectors: Vectors
    ) -> NDArray[np.bool_]:
        index = {digest: position for position, digest in enumerate(digests)}
        known = np.zeros(len(digests), dtype=bool)
        for rows in _select(connection, "digest, checksum, vector", digests):
            if not all(row[0] in index and self._is_valid(*row) for row in rows):
                raise sqlite3.DatabaseError("a row does not match its checksum")
            numbers = np.frombuffer(b"".join(vector for _, _, vector in rows), dtype="<f4")
            if not np.isfinite(numbers).all():
                raise sqlite3.DatabaseError("a vector contains NaN or infinity")
            positions = [index[digest] for digest, _, _ in rows]
            vectors[positions] = numbers.reshape(len(rows), self._dimension)
            known[positions] = True
        return known

    def _is_valid(self, digest: bytes, checksum: object, vector: object) -> bool:
        return (
            isinstance(vector, bytes)
            and len(vector) == 4 * self._dimension
            and _checksum(digest, vector) == checksum
        )


def _select(
    connection: sqlite3.Connection, columns: str, digests: Sequence[bytes]
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of these digests in several lists."""
    for start in range(0, len(digests), _MAX_PARAMETERS):
        some = digests[start : start + _MAX_PARAMETERS]
        placeholders = ", ".join("?" * len(some))
        query = f"SELECT {columns} FROM vectors WHERE digest IN ({placeholders})"
        yield connection.execute(query, some).fetchall()


def _digest(text: str) -> bytes:
    """A digest of a text, which may contain lone surrogates."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _checksum(digest: bytes, vector: bytes) -> int:
    return crc32(vector, crc32(digest))
