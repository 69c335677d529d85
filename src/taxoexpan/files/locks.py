"""Locks of outputs, and temporary folders with a lock.

A lock belongs to one thread of one process. The system releases it when the process ends, even if
it is killed.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from threading import get_ident

from taxoexpan.errors import FormatError

_HOLDERS: dict[Path, int] = {}
"""The locks of this process, each with the thread that holds it."""

if sys.platform != "win32":
    import fcntl

    os.register_at_fork(after_in_child=_HOLDERS.clear)  # the parent process keeps its locks

_TEMPORARY = ".taxoexpan-"
# A lock or a folder that is a symbolic link is not followed, and a pipe does not block.
_GUARDS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def has_lock(lock: Path) -> bool:
    """Return whether this thread holds a lock."""
    return _HOLDERS.get(lock) == get_ident()


def take_lock(lock: Path) -> int | None:
    """Lock a new file; return its descriptor, or None if another thread or process has it."""
    thread = get_ident()
    if _HOLDERS.setdefault(lock, thread) != thread:
        return None
    descriptor = None
    try:
        descriptor = _locked_file(lock)
    finally:
        if descriptor is None:
            del _HOLDERS[lock]
    return descriptor


def release_lock(lock: Path, descriptor: int) -> None:
    """Remove and release a lock; in a process that was forked meanwhile, the parent keeps it."""
    if _HOLDERS.pop(lock, None) is not None:
        with suppress(OSError):
            lock.unlink()
    os.close(descriptor)


def _locked_file(lock: Path) -> int | None:
    while True:
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(lock.lstat().st_mode):
                message = "is not a regular file, but has the name of a lock"
                raise FormatError(lock, message, fix="remove it, or choose another output")
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | _GUARDS, 0o666)
        if not _locked(descriptor):
            return None
        if _is_at(descriptor, lock):
            return descriptor
        os.close(descriptor)


@contextmanager
def temporary_folder(place: Path | None = None) -> Iterator[Path]:
    """Yield a temporary directory; it is removed at the end, or by the next run after a crash."""
    place = place or Path(gettempdir())
    for leftover in place.glob(f"{_TEMPORARY}*"):
        with suppress(OSError):
            if (descriptor := _lock_folder(leftover)) is not None:
                shutil.rmtree(leftover, ignore_errors=True)
                os.close(descriptor)
    folder, descriptor = _new_folder(place)
    try:
        with folder:
            yield Path(folder.name)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _new_folder(place: Path) -> tuple[TemporaryDirectory[str], int | None]:
    """Return a new temporary directory and the descriptor of its lock, if the system has locks."""
    while True:
        folder = TemporaryDirectory(prefix=_TEMPORARY, dir=place, ignore_cleanup_errors=True)
        descriptor = _lock_folder(Path(folder.name))
        if descriptor is not None or sys.platform == "win32":
            return folder, descriptor
        folder.cleanup()  # another process took it for a leftover before it had its lock


def _lock_folder(folder: Path) -> int | None:
    """Lock a directory; return its descriptor, or None if it is gone or another process has it."""
    if sys.platform == "win32":
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _GUARDS)
    except FileNotFoundError:
        return None
    if not _locked(descriptor):
        return None
    if _is_at(descriptor, folder):
        return descriptor
    os.close(descriptor)
    return None


def _locked(descriptor: int) -> bool:
    """Lock an open file or directory; close it if that fails, as when another process has it."""
    if sys.platform != "win32":
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            if isinstance(error, BlockingIOError):
                return False
            raise
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Return whether a path still leads to an open file, which another process may have removed."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False
