"""Vectors kept on disk, so that no text is encoded twice.

One SQLite file an encoder, with a row a text: a digest of the text, never the text itself, its
vector, and a checksum of both. SQLite notices damage to its own pages only, not to what they hold;
the checksum finds a changed vector, and a vector that is found under another text's digest.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import TaxoExpanError
from taxoexpan.features.encoder import Encoder, Vectors

BLOCK = 1_024
"""Texts encoded at a time; a run that is killed loses no more than these."""

VERSION = 1
"""Of the files' layout; a file of another version is never opened, as its name differs."""

_AT_ONCE = 900
"""Texts looked up by one statement: more are no quicker, and some SQLites allow only 999."""

# Pages of 16 kB hold vectors with less waste than the usual 4 kB, in files a fifth smaller.
_LAYOUT = f"""
    PRAGMA page_size = 16384;
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS vectors
        (digest BLOB PRIMARY KEY, checksum INTEGER NOT NULL, vector BLOB NOT NULL);
    PRAGMA user_version = {VERSION};
    COMMIT;
"""

_NOT_DAMAGE = {
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOLFS,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_READONLY,
}

T = TypeVar("T")


def cache_folder(
    environment: Mapping[str, str] = os.environ, platform: str = sys.platform
) -> Path | None:
    """Where vectors are kept: `$TAXOEXPAN_CACHE`, or else the platform's usual place.

    None where that variable is set but empty, or where there is no home: nothing is kept.
    """
    chosen = environment.get("TAXOEXPAN_CACHE")
    if chosen is not None:
        return Path(chosen).expanduser().absolute() if chosen else None
    try:
        home = Path(environment["HOME"]) if environment.get("HOME") else Path.home()
    except RuntimeError:
        return None
    if platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return Path(local or home / "AppData" / "Local") / "taxoexpan" / "Cache"
    if platform == "darwin":
        return home / "Library" / "Caches" / "taxoexpan"
    return Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "taxoexpan"


class CachedEncoder(Encoder):
    """An encoder that is asked only for texts whose vectors are not on disk yet.

    Whatever is wrong with the disk costs a warning and time, never an error or a wrong vector.
    Vectors are shared by encoders of one fingerprint. Without a folder they are kept where
    `cache_folder` says. `patience` is how many seconds another process may hold the file.
    """

    def __init__(self, inner: Encoder, folder: Path | None = None, patience: float = 30.0) -> None:
        self.inner = inner
        self.name = inner.name
        self.dimension = inner.dimension
        self._folder = folder or cache_folder()
        self._patience = patience
        self._replaced = False
        self._begin()

    def _begin(self) -> None:
        """Find the file that belongs to the encoder as it is now."""
        # Taken before anything is encoded: a file of vectors may be exchanged under our feet.
        self._fingerprint = self.inner.fingerprint()
        stem = _digest(repr((VERSION, self.dimension, self._fingerprint))).hex()
        folder = self._folder
        self._store = _Store(folder, stem, self.dimension, self._patience) if folder else None
        self._keeping = True

    def show_progress(self, shown: bool) -> None:
        """Whether the encoder is to show its bars."""
        self.inner.show_progress(shown)

    def learn(self, names: Collection[str]) -> None:
        """Let the encoder learn; what it was before is kept apart."""
        self.inner.learn(names)
        self._begin()

    def prepare(self, texts: Sequence[str]) -> None:
        """Let the encoder get ready for those of these texts that are not kept yet."""
        distinct = list(dict.fromkeys(texts))
        digests = [_digest(text) for text in distinct]
        known = self._attempt(lambda store: store.known(digests), set[bytes]())
        missing = [t for t, digest in zip(distinct, digests, strict=True) if digest not in known]
        if missing:
            self.inner.prepare(missing)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text, the same to the last bit each time."""
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        distinct = list(rows)
        digests = [_digest(text) for text in distinct]
        vectors = np.zeros((len(rows), self.dimension), dtype=np.float32)
        nothing = np.zeros(len(rows), dtype=bool)
        known = self._attempt(lambda store: store.read(digests, vectors), nothing)
        missing = np.flatnonzero(~known)
        if len(missing):
            self.inner.prepare([distinct[row] for row in missing])
        for start in range(0, len(missing), BLOCK):
            block = missing[start : start + BLOCK]
            fresh = self.inner.encode([distinct[row] for row in block])
            vectors[block] = self._keep([digests[row] for row in block], fresh)
        return vectors[np.array([rows[text] for text in texts], dtype=np.intp)]

    def fingerprint(self) -> str:
        """The encoder's own."""
        return self.inner.fingerprint()

    def save(self, folder: Path) -> None:
        """Let the encoder keep what it has learned."""
        self.inner.save(folder)

    def _keep(self, digests: Sequence[bytes], fresh: Vectors) -> Vectors:
        """Put new vectors on disk, and give those that are there now."""
        if not self._keeping or self._store is None:
            return fresh
        if not self._is_the_same():
            self._keeping = False
            _warn(f"{self.name} has changed while it was in use; its vectors are not kept")
            return fresh
        return self._attempt(lambda store: store.write(digests, fresh), fresh, writes=True)

    def _is_the_same(self) -> bool:
        """Whether the encoder is still the one that the file on disk belongs to."""
        try:
            return self.inner.fingerprint() == self._fingerprint
        except (OSError, TaxoExpanError):
            return False

    def _attempt(self, step: Callable[[_Store], T], otherwise: T, writes: bool = False) -> T:
        """What a step with the file gives; where it fails, a warning, and go on without."""
        store = self._store
        if store is None:
            return otherwise
        try:
            return step(store)
        except _DamagedError as error:
            self._replace(store, error.path)
        except _UnusableError as error:
            # What cannot be written, on a full disk say, can often still be read.
            self._store = store if writes else None
            self._keeping = False
            lost = "new vectors are not kept" if writes else "no vectors are kept"
            _warn(f"{store.folder}: {lost} ({error}); {_MEND}")
        return otherwise

    def _replace(self, store: _Store, path: Path) -> None:
        """Begin a new file in place of a damaged one; where that is damaged too, go without."""
        try:
            if self._replaced:
                raise OSError(None, "damaged again and again")
            store.replace(path)
        except OSError as error:
            self._store = None
            _warn(f"{path}: is damaged, and not replaced ({error.strerror}); {_MEND}")
        else:
            self._replaced = True
            _warn(f"{path}: the vectors kept here were damaged; texts are encoded anew")


_MEND = "set TAXOEXPAN_CACHE to another folder, or to nothing for none"


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=4)


class _DamagedError(Exception):
    """A file that holds something else than what was written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(str(path))


class _UnusableError(Exception):
    """A file that cannot be used now, whatever it holds."""


class _Store:
    """The file of one encoder's vectors."""

    def __init__(self, folder: Path, stem: str, dimension: int, patience: float) -> None:
        self.folder = folder
        self._stem = stem
        self._dimension = dimension
        self._patience = patience

    def known(self, digests: Sequence[bytes]) -> set[bytes]:
        """Those of these texts that are in the file."""
        with self._opened() as (connection, _):
            return {row[0] for rows in _selected(connection, "digest", digests) for row in rows}

    def read(self, digests: Sequence[bytes], vectors: Vectors) -> NDArray[np.bool_]:
        """Fill in the vectors of those texts that are in the file, and say which these are."""
        with self._opened() as (connection, path):
            return self._fill(connection, path, digests, vectors)

    def write(self, digests: Sequence[bytes], fresh: Vectors) -> Vectors:
        """Add vectors, all at once or none, and give those that the file has now.

        A process that was quicker may have written its own, other in the last bits. What is no
        number is not written: it would be taken for damage.
        """
        vectors = np.array(fresh, dtype=np.float32)
        rows = []
        for digest, row in zip(digests, vectors.astype("<f4"), strict=True):
            if np.isfinite(row).all():
                rows.append((digest, _checksum(digest, row.tobytes()), row.tobytes()))
        with self._opened() as (connection, path), connection:
            added = connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)
            if added.rowcount < len(rows):
                self._fill(connection, path, digests, vectors)
        return vectors

    def replace(self, damaged: Path) -> None:
        """Begin the next file.

        Under a name of its own: another process may still write into the old one, and its journal
        must not be taken for the new one's. Whoever else finds the damage begins the same file.
        """
        self._path(self._number(damaged) + 1).touch()
        self._remove(damaged)

    def _remove(self, path: Path) -> None:
        for leftover in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                Path(f"{path}{leftover}").unlink()

    def _path(self, number: int) -> Path:
        return self.folder / f"{self._stem}-{number}.sqlite"

    def _number(self, path: Path) -> int:
        found = re.fullmatch(rf"{self._stem}-(\d+)\.sqlite", path.name)
        return int(found[1]) if found else 0

    def _newest(self) -> Path:
        """The file in use; those with lower numbers were damaged."""
        return self._path(max(map(self._number, self.folder.iterdir()), default=0))

    @contextmanager
    def _opened(self) -> Iterator[tuple[sqlite3.Connection, Path]]:
        """A connection to the file, for one step: none outlives a fork or meets another thread.

        The journal stays the usual one, as the faster write-ahead log needs memory that processes
        share, which a network's file system does not have.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._newest()
        except OSError as error:
            raise _UnusableError(error.strerror) from None
        try:
            with closing(self._connected(path)) as connection:
                yield connection, path
            if path != self._newest():  # removed as damaged meanwhile, and made anew by connecting
                self._remove(path)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            # A code's lowest byte is its kind; an error without a code is about the content, as
            # where SQLite's message quotes damaged names.
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if code in _NOT_DAMAGE:
                raise _UnusableError(str(error)) from None
            raise _DamagedError(path) from None

    def _connected(self, path: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=self._patience, isolation_level="IMMEDIATE")
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if not version:
                connection.executescript(_LAYOUT)
            elif version != VERSION:
                raise _DamagedError(path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _fill(
        self,
        connection: sqlite3.Connection,
        path: Path,
        digests: Sequence[bytes],
        vectors: Vectors,
    ) -> NDArray[np.bool_]:
        places = {digest: place for place, digest in enumerate(digests)}
        known = np.zeros(len(digests), dtype=bool)
        for rows in _selected(connection, "digest, checksum, vector", digests):
            if not all(row[0] in places and self._is_whole(*row) for row in rows):
                raise _DamagedError(path)
            found = [places[digest] for digest, _, _ in rows]
            numbers = np.frombuffer(b"".join(vector for _, _, vector in rows), dtype="<f4")
            if not np.isfinite(numbers).all():
                raise _DamagedError(path)
            vectors[found] = numbers.reshape(len(rows), self._dimension)
            known[found] = True
        return known

    def _is_whole(self, digest: bytes, checksum: object, vector: object) -> bool:
        return (
            isinstance(vector, bytes)
            and len(vector) == 4 * self._dimension
            and _checksum(digest, vector) == checksum
        )


def _selected(
    connection: sqlite3.Connection, columns: str, digests: Sequence[bytes]
) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of these digests, some at a time."""
    for start in range(0, len(digests), _AT_ONCE):
        wanted = digests[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(wanted))
        query = f"SELECT {columns} FROM vectors WHERE digest IN ({marks})"
        yield connection.execute(query, wanted).fetchall()


def _digest(text: str) -> bytes:
    """A short name for a text, also for one with half a surrogate pair, which UTF-8 has not."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _checksum(digest: bytes, vector: bytes) -> int:
    return crc32(vector, crc32(digest))
