"""A PostgreSQL server for one run of the tests, in a temporary folder, reached by a socket."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

import pytest

_USERS = ("postgres", "nobody")


@dataclass
class PostgresqlServer:
    """A running server; every test gets an empty schema of its own."""

    url: str
    """The URL with the name of the database left out."""
    query: str = ""
    crash: Callable[[], None] = lambda: pytest.skip("the server is not ours to crash")
    """End the server as a loss of power would, and start it again."""

    def __post_init__(self) -> None:
        self._numbers = count(1)

    def new_schema(self) -> str:
        """Create an empty schema and return its URL; a database would have 300 files of its own."""
        import psycopg

        name = f"desk_{os.getpid()}_{next(self._numbers)}"
        database = f"{self.url}postgres{self.query}"
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")  # type: ignore[call-overload]
        return f"{database}{'&' if self.query else '?'}options=-csearch_path%3D{name}"


def find_programs() -> Path | None:
    """Return the folder with initdb and pg_ctl, or None."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    if on_path:
        folders.append(Path(on_path).resolve().parent)
    return next((each for each in folders if (each / "pg_ctl").exists()), None)


@contextmanager
def running_server(programs: Path) -> Iterator[PostgresqlServer]:
    """Start a server as an unprivileged user, and stop it at the end."""
    # A socket's path has at most 107 characters, which pytest's folders may exceed.
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        prefix = _unprivileged(folder)
        data = folder / "data"
        initdb = [programs / "initdb", "-D", data, "-U", "desk", "-A", "trust", "-E", "UTF8"]
        _run(prefix, [*initdb, "--locale=C.UTF-8", "--no-sync"])
        # Nothing outlives the machine, so what a commit wrote need not reach the disk.
        options = f"-k {folder} -c listen_addresses='' -c max_connections=100 -c fsync=off"
        control = [programs / "pg_ctl", "-D", data, "-w", "-t", "300"]
        _run(prefix, [*control, "-l", folder / "log", "-o", options, "start"])
        try:
            restart = [*control, "-l", folder / "log", "-m", "immediate", "restart"]
            crash = partial(_run, prefix, restart)
            yield PostgresqlServer("postgresql://desk@/", f"?host={folder}", crash)
        finally:
            _run(prefix, [*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged(folder: Path) -> list[str]:
    """Return how to run a command as another user than root, who owns the folder."""
    if os.geteuid() != 0:
        return []
    import pwd

    names = {user.pw_name for user in pwd.getpwall()}
    user = next(name for name in _USERS if name in names)
    shutil.chown(folder, user)
    group = str(pwd.getpwnam(user).pw_gid)
    return ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--"]


def _run(prefix: Sequence[str], command: Sequence[str | Path]) -> None:
    full = [*prefix, *map(str, command)]
    done = subprocess.run(full, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace"))
