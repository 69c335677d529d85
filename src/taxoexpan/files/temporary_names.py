"""Temporary files and folders, and the removal of those that a killed process has left.

A process locks what it creates here. The system releases a lock when the process ends, however it
ends. So what has a name of this module and no lock belongs to nobody. Where there are no locks,
nothing is removed.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from taxoexpan.files.atomic_rename import rename_new
from taxoexpan.files.deferred_signals import signals_deferred

if sys.platform != "win32":
    import fcntl

NEW, OLD = "taxoexpan-new", "taxoexpan-old"
"""The endings of names: of what is being written, and of what is being replaced."""
FOLDER_PREFIX = "taxoexpan-"
"""How the name of a temporary folder starts, in the folder of the system for such ones."""
MAX_NAME_BYTES = 200
_ANY = "[0-9a-f]{8}"
_ATTEMPTS = 100
_RESERVED = "0" * 8
"""In the name of the file that stands for its target while a process works on that."""
_RESERVING_ATTEMPTS, _RESERVING_PAUSE = 5, 0.05


class _Lock(Enum):
    """Whether a file or folder could be locked."""

    OWN = "locked by this process"
    OTHER = "locked by another process"
    NONE = "gone, or on a file system without locks"


@dataclass(frozen=True)
class Temporary:
    """A temporary file or folder; `descriptor` holds its lock, if there are locks."""

    path: Path
    descriptor: int | None

    def release(self) -> None:
        """Release the lock."""
        if self.descriptor is not None:
            with suppress(OSError):
                os.close(self.descriptor)


def new_file(target: Path) -> Temporary:
    """Create an empty file next to a target."""
    return _create(lambda: temporary_name(target, NEW), lambda path: path.touch(0o600, False))


def new_folder(target: Path) -> Temporary:
    """Create an empty folder next to a target."""
    return _create(lambda: temporary_name(target, NEW), lambda path: path.mkdir(0o700))


def reserve(target: Path) -> Temporary | None:
    """Create and lock the file that stands for a target; None if another process has locked it."""
    path = target.with_name(f".{_short(target.name)}.{_RESERVED}.{NEW}")
    for _ in range(_RESERVING_ATTEMPTS):
        with suppress(FileExistsError):
            path.touch(0o600, exist_ok=False)
        descriptor, lock = _lock(path)
        # Another process may have removed it, as its own file or as a leftover, before the lock.
        if lock is not _Lock.OTHER and _is_open_at(path, descriptor):
            return Temporary(path, descriptor)
        Temporary(path, descriptor).release()
        time.sleep(_RESERVING_PAUSE)
    return None


def temporary_name(target: Path, ending: str) -> Path:
    """Return an unused name next to a target."""
    return target.with_name(f".{_short(target.name)}.{secrets.token_hex(4)}.{ending}")


def locked(path: Path) -> Temporary:
    """Lock an existing file or folder, so that no other process takes it for a leftover."""
    return Temporary(path, _lock(path)[0])


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """Yield a folder that is removed at the end, or else by a later process of the same user."""
    place = Path(tempfile.gettempdir()) if parent is None else parent
    _remove_old_folders(place)
    with signals_deferred():
        created = _create(
            lambda: place / f"{FOLDER_PREFIX}{secrets.token_hex(4)}", lambda path: path.mkdir(0o700)
        )
    try:
        yield created.path
    finally:
        shutil.rmtree(created.path, ignore_errors=True)
        created.release()


def remove_leftovers(target: Path) -> None:
    """Remove what killed processes have left next to a target.

    If such a process has moved the old target away and not yet the new one in, it is moved back.
    """
    pattern = re.compile(rf"\.{re.escape(_short(target.name))}\.{_ANY}\.({NEW}|{OLD})")
    with suppress(OSError), os.scandir(target.parent) as entries:
        for name in [entry.name for entry in entries if pattern.fullmatch(entry.name)]:
            _take_over(target.with_name(name), lambda path: _restore_or_remove(path, target))


def _restore_or_remove(path: Path, target: Path) -> None:
    if path.name.endswith(OLD):
        with suppress(OSError):
            rename_new(path, target)
            return
    _remove(path)


def _remove_old_folders(place: Path) -> None:
    if sys.platform == "win32":
        return
    pattern = re.compile(FOLDER_PREFIX + _ANY)
    with suppress(OSError), os.scandir(place) as entries:
        for name in [entry.name for entry in entries if pattern.fullmatch(entry.name)]:
            with suppress(OSError):
                status = (place / name).lstat()
                if status.st_uid == os.getuid() and stat.S_IMODE(status.st_mode) == 0o700:
                    _take_over(place / name, _remove)


def _take_over(path: Path, action: Callable[[Path], None]) -> None:
    """Act on a file or folder that nobody has locked."""
    descriptor, lock = _lock(path)
    if lock is _Lock.OWN:
        with suppress(OSError):
            action(path)
    if descriptor is not None:
        os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _create(name: Callable[[], Path], create: Callable[[Path], None]) -> Temporary:
    """Create and lock something under a new name."""
    for _ in range(_ATTEMPTS):
        path = name()
        try:
            create(path)
        except FileExistsError:
            continue
        descriptor, lock = _lock(path)
        # Another process may have taken it for a leftover before it was locked.
        if lock is not _Lock.OTHER and path.exists():
            return Temporary(path, descriptor)
        Temporary(path, descriptor).release()
    raise FileExistsError(f"no free temporary name like {path}")


def _lock(path: Path) -> tuple[int | None, _Lock]:
    """Open and lock a file or folder; return the descriptor that holds the lock."""
    if sys.platform == "win32":
        return None, _Lock.NONE
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None, _Lock.NONE
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        return None, _Lock.OTHER if isinstance(error, BlockingIOError) else _Lock.NONE
    return descriptor, _Lock.OWN


def _is_open_at(path: Path, descriptor: int | None) -> bool:
    """Return whether a descriptor is that of the file with this name; without one, it exists."""
    try:
        return descriptor is None or os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def _short(name: str) -> str:
    """Return a name, or its digest if a longer one could not be created."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= MAX_NAME_BYTES else hashlib.sha256(encoded).hexdigest()[:32]
