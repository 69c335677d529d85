"""Database connections: SQLite by path, PostgreSQL by URL."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from taxoexpan.desk.store.decisions import BusyError, StoredValueError, StoreError

BUSY_SECONDS = 30
"""How long a reader or a writer waits for others."""
CONNECT_SECONDS = 10
CONVERT_SECONDS = 3
"""How long to wait for another program that has a store of an earlier version open."""
_LOCK = 0x7461786F
"""The number of the advisory lock by which writers to one PostgreSQL database take turns."""
_STOP = "stop all programs that use it"
_DAMAGED = (
    "is damaged, or another program is just copying a file over it; try again in a few seconds. "
    f"If it stays so, {_STOP}, and restore it from a backup, "
    "or export what can be read with sqlite3 FILE .recover"
)
REPLACED = (
    "was replaced while this program used it, for example by an older backup, so no decision is "
    f"taken; {_STOP}, put the right store back, and start again"
)
_GONE = "was deleted or moved, so no decision is taken; put it back, or stop this program"
_OLD_PROGRAM = (
    "is open in an earlier version of taxoexpan or in another program; close that, and start again"
)
_LOCKED = "database is locked"
_EXPLANATIONS = {
    "file is not a database": "is not a decision store; give another name",
    "malformed": _DAMAGED,
    "database or disk is full": "the disk is full; free some space, and decide again",
    "disk I/O error": "the disk failed (disk I/O error), or the connection to it; check its space, "
    "its quota and its connection, and try again",
    "readonly database": "is read-only; make it and its folder writable",
    "unable to open database file": "cannot be opened; make it and its folder writable",
    "no such table": REPLACED,
    'relation "taxoexpan_store" does not exist': REPLACED,
    _OLD_PROGRAM: _OLD_PROGRAM,
    _LOCKED: f"another program has used it for {BUSY_SECONDS} seconds; close it",
}


@dataclass
class Database:
    """An open database; its name is shown in messages, and never contains the password."""

    engine: Engine
    name: str
    secret: str | None = None
    file: Path | None = None
    """The path of a SQLite file."""
    _writing: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def connect(cls, url: str, must_exist: bool = False) -> Database:
        """Open a database; without `must_exist`, a missing SQLite file is created."""
        scheme = re.match(r"([A-Za-z][\w+.-]*)://", url)
        if scheme is None:
            return _open_sqlite(Path(url), must_exist)
        if scheme[1] in ("postgresql", "postgres"):
            return _open_postgresql(url)
        message = f"decisions cannot be stored at {scheme[1]}://…"
        raise StoreError(message, fix="give a file, or postgresql://USER:PASSWORD@HOST/DATABASE")

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is SQLite, not PostgreSQL."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction for reading; writers to SQLite wait for its end, so keep it short."""
        with self._translated_errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that excludes other writers; it is on disk when the block ends."""
        with self._translated_errors(), self._writing, self.engine.connect() as connection:
            connection = connection.execution_options(writes=True)
            with connection.begin():
                if not self.is_sqlite:
                    connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
                before = self._stamp()
                yield connection
                if before != self._stamp():  # a commit would mix the pages of two files
                    raise StoreError(f"{self.name}: {REPLACED if self._stamp() else _GONE}")

    def _stamp(self) -> tuple[int, ...] | None:
        """Return what differs if a SQLite file is replaced or overwritten; None without a file."""
        if self.file is None:
            return None
        with suppress(OSError):
            status = self.file.stat()
            return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
        return None

    def check(self) -> None:
        """Raise an error if the file of a SQLite store is damaged."""
        if self.is_sqlite:
            with self.reading() as connection:
                if connection.scalar(text("PRAGMA quick_check(1)")) != "ok":
                    raise StoreError(f"{self.name}: {_DAMAGED}")

    def back_up(self, path: Path) -> None:
        """Copy a SQLite store to a file while other programs may use it."""
        if not self.is_sqlite:
            fix = "make a dump with pg_dump"
            raise StoreError(f"{self.name}: only a SQLite store is copied to a file", fix=fix)
        with self.reading() as connection, closing(sqlite3.connect(path)) as copy:
            source = connection.connection.driver_connection
            assert isinstance(source, sqlite3.Connection)
            copy.execute("PRAGMA journal_mode = OFF")  # the caller flushes and renames the file
            source.backup(copy)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Turn database errors into a StoreError."""
        try:
            yield
        except DBAPIError as error:
            kind = BusyError if _LOCKED in str(error.orig) else StoreError
            raise kind(f"{self.name}: {self._explained(error)}") from None
        except (StoredValueError, UnicodeDecodeError) as error:
            raise StoreError(f"{self.name}: {_DAMAGED}") from error

    def _explained(self, error: DBAPIError) -> str:
        reason = " ".join(str(error.orig).split())
        if self.secret:
            reason = reason.replace(self.secret, "***")
        if self.file and not self.file.exists():
            return _GONE
        if self.file and "readonly database" in reason and _is_writable(self.file):
            return REPLACED  # SQLite has noticed that the file has another name
        for found, explanation in _EXPLANATIONS.items():
            if found in reason:
                return explanation
        if not self.is_sqlite and error.statement is None:
            return f"PostgreSQL cannot be reached ({reason}); is it running, and the URL right?"
        return f"the database refused: {reason}"


def _open_sqlite(path: Path, must_exist: bool) -> Database:
    folder = path.absolute().parent
    if path.is_dir():
        raise StoreError(f"{path}: is a folder", fix="give the name of a file in it")
    if must_exist and not path.exists():
        raise StoreError(f"{path}: does not exist", fix="taxoexpan review creates a store")
    if not os.access(folder, os.W_OK):
        raise StoreError(f"{path}: the folder {folder} does not exist, or is not writable")
    journals = (path.with_name(f"{path.name}-{ending}") for ending in ("journal", "wal"))
    journal = next((each for each in journals if each.exists()), None)
    if not path.exists() and journal:
        fix = f"put it back, or remove {journal} to begin anew"
        raise StoreError(f"{path}: is missing, but its journal is there", fix=fix)
    if not path.exists():
        try:
            path.touch()
        except OSError as error:
            message = f"cannot be created ({error.strerror}); make its folder writable"
            raise StoreError(f"{path}: {message}") from None
    # Every transaction opens the file by its name, so that no cached page hides another file.
    connect = partial(_connect_sqlite, path.absolute())
    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    event.listen(engine, "begin", _begin_sqlite)
    return Database(engine, str(path), file=path.absolute())


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _connect_sqlite(path: Path) -> sqlite3.Connection:
    """Open an existing file, with a rollback journal and every commit on the disk.

    A write-ahead log would have the latest decisions outside of the file, so that they are lost if
    it is deleted or replaced.
    """
    uri = f"{path.as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, BUSY_SECONDS, isolation_level=None, uri=True)
    try:
        _leave_write_ahead_log(connection)
        # With EXTRA, also the deletion of the journal, which ends a commit, is on the disk.
        # Without cache_spill, a transaction writes to the file only when it commits.
        for setting in ("synchronous = EXTRA", "foreign_keys = ON", "cache_spill = OFF"):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def _leave_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Convert a store of an earlier version, unless another program has it open."""
    end = time.monotonic() + CONVERT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
            return
        except sqlite3.OperationalError as error:  # SQLite itself does not wait for this lock
            if _LOCKED not in str(error):
                raise
            if time.monotonic() > end:
                if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                    raise
                raise sqlite3.OperationalError(_OLD_PROGRAM) from None
            time.sleep(0.01)


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction; a writer locks out other writers from its start."""
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _open_postgresql(url: str) -> Database:
    try:
        if url.count("@") > 1:  # a part of the password would be taken for the host
            raise ValueError
        parsed = make_url(url).set(drivername="postgresql+psycopg")
        waiting = {"connect_timeout": CONNECT_SECONDS}
        engine = create_engine(parsed, pool_pre_ping=True, pool_size=10, connect_args=waiting)
    except (ArgumentError, ValueError):
        # The library's message would repeat parts of the URL, perhaps of the password.
        message = "the URL of the database is malformed"
        fix = "it must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with %-codes for @ : / %"
        raise StoreError(message, fix=fix) from None
    except (NoSuchModuleError, ModuleNotFoundError):
        raise StoreError(
            "PostgreSQL needs psycopg", fix="pip install 'taxoexpan[postgresql]'"
        ) from None
    place = parsed.host or str(parsed.query.get("host", "localhost"))
    port = f":{parsed.port}" if parsed.port else ""
    name = f"postgresql://{place}{port}/{parsed.database or ''}"
    return Database(engine, name, split_password(url)[1])


def split_password(url: str) -> tuple[str, str | None]:
    """Return a URL without its password, and the password; the path of a file stays as it is."""
    if "://" not in url:
        return url, None
    parsed = make_url(url)
    secret = parsed.password or parsed.query.get("password")
    bare = parsed._replace(password=None).difference_update_query(["password"])
    return bare.render_as_string(), str(secret) if secret else None
