"""Database connections: SQLite by path, PostgreSQL by URL."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from taxoexpan.desk.store.decisions import BusyError, StoredValueError, StoreError

BUSY_SECONDS = 30
"""How long a writer waits for another one."""
CONNECT_SECONDS = 10
_LOCK = 0x7461786F
"""The number of the advisory lock by which writers to one PostgreSQL database take turns."""
_DAMAGED = (
    "is damaged; restore it from a backup, or export what can be read with sqlite3 FILE .recover"
)
_LOCKED = "database is locked"
_EXPLANATIONS = {
    "file is not a database": "is not a decision store; give another name",
    "malformed": _DAMAGED,
    "database or disk is full": "the disk is full; free some space, and decide again",
    "readonly database": "is read-only; make it and its folder writable",
    "unable to open database file": "cannot be opened; make it and its folder writable",
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
    identity: tuple[int, int] | None = None
    """The device and the number of the file, as soon as it is open."""
    _changed: int = 0
    """The time of the last change of the file, as of the last transaction."""
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
        raise StoreError(f"{message}; give a file, or postgresql://USER:PASSWORD@HOST/DATABASE")

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is SQLite, not PostgreSQL."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction for reading."""
        self._refuse_other_file()
        with self._translated_errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that excludes other writers; it is on disk when the block ends."""
        self._refuse_other_file()
        if not self._is_unchanged():  # by another program, perhaps a restored backup
            self.engine.dispose()  # this forgets cached pages
        with self._translated_errors(), self._writing, self.engine.connect() as connection:
            connection = connection.execution_options(writes=True)
            with connection.begin():
                if not self.is_sqlite:
                    connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
                yield connection
        self._refuse_other_file()  # before the decision is acknowledged
        self._is_unchanged()

    def _is_unchanged(self) -> bool:
        """Return whether the SQLite file is as it was at the last call, and remember its time."""
        before, found = self._changed, self.file and _status(self.file)
        self._changed = found.st_mtime_ns if found else 0
        return before == self._changed

    def _refuse_other_file(self) -> None:
        """Raise an error if the file of a SQLite store was deleted, moved or replaced."""
        if self.file is None or self.identity in (None, _identity(self.file)):
            return
        self.engine.dispose()  # this ends the journal, which would damage another file
        message = "was deleted, moved or replaced while it was in use, so no decision is taken"
        fix = "put the file back, or stop this program and start it again"
        raise StoreError(f"{self.name}: {message}; {fix}")

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
        for found, explanation in _EXPLANATIONS.items():
            if found in reason:
                return explanation
        if not self.is_sqlite and error.statement is None:
            return f"PostgreSQL cannot be reached ({reason}); is it running, and the URL right?"
        return f"the database refused: {reason}"


def _open_sqlite(path: Path, must_exist: bool) -> Database:
    folder = path.absolute().parent
    if path.is_dir():
        raise StoreError(f"{path}: is a folder; give the name of a file in it")
    if must_exist and not path.exists():
        raise StoreError(f"{path}: does not exist; taxoexpan review creates a store")
    if not os.access(folder, os.W_OK):
        raise StoreError(f"{path}: the folder {folder} does not exist, or is not writable")
    if not path.exists() and path.with_name(f"{path.name}-wal").exists():
        fix = f"put it back, or remove {path}-wal to begin anew"
        raise StoreError(f"{path}: is missing, but its journal is there; {fix}")
    url = URL.create("sqlite", database=str(path.absolute()))
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    database = Database(engine, str(path), file=path.absolute())

    def remember(*_: object) -> None:
        database.identity = database.identity or _identity(path)

    event.listen(engine, "connect", remember)
    return database


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and the number of a file, or None if there is no file."""
    found = _status(path)
    return found and (found.st_dev, found.st_ino)


def _status(path: Path) -> os.stat_result | None:
    with suppress(OSError):
        return path.stat()
    return None


def _configure_sqlite(connection: sqlite3.Connection, _: object) -> None:
    """Write every commit to the disk, and allow reading during a write."""
    connection.isolation_level = None
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:  # SQLite itself does not wait for this lock
            if _LOCKED not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
    for setting in ("synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")


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
        raise StoreError(f"{message}; {fix}") from None
    except (NoSuchModuleError, ModuleNotFoundError):
        raise StoreError("PostgreSQL needs psycopg; pip install 'taxoexpan[postgresql]'") from None
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
