"""Renaming in one step: without replacing, and two names exchanged.

Linux and macOS have system calls for both, but not every file system supports them. What replaces
them here is as safe as that file system allows.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
_NO_LINKS = _UNSUPPORTED | {errno.EPERM, errno.EMLINK}
_AT_CWD = -100
_LINUX_NO_REPLACE, _LINUX_EXCHANGE = 1, 2
_MACOS_NO_REPLACE, _MACOS_EXCHANGE = 4, 2


class UnsupportedError(OSError):
    """The system or the file system has no such operation."""


def rename_new(source: Path, target: Path) -> None:
    """Rename a file or directory; raise `FileExistsError` if the target exists."""
    try:
        _rename(source, target, _LINUX_NO_REPLACE, _MACOS_NO_REPLACE)
    except UnsupportedError:
        _reserve_and_rename(source, target)


def exchange(one: Path, other: Path) -> None:
    """Exchange two existing files or directories; `UnsupportedError` if that is impossible."""
    _rename(one, other, _LINUX_EXCHANGE, _MACOS_EXCHANGE)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power failure, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Make all files below a folder survive a power failure."""
    for parent, _, names in os.walk(folder):
        for name in names:
            with (Path(parent) / name).open("r+b") as file:
                os.fsync(file.fileno())
        sync_folder(Path(parent))


def _rename(source: Path, target: Path, linux: int, macos: int) -> None:
    function, flags = _system_call(), macos if sys.platform == "darwin" else linux
    if function is None:
        raise UnsupportedError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if function(os.fsencode(source), os.fsencode(target), flags):
        number = ctypes.get_errno()
        error = UnsupportedError if number in _UNSUPPORTED else OSError
        raise error(number, os.strerror(number), str(source), None, str(target))


def _system_call() -> Callable[[bytes, bytes, int], int] | None:
    """Return the system's function to rename with flags, if it has one."""
    if sys.platform not in ("linux", "darwin"):
        return None
    library = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            renamex = library.renamex_np
            renamex.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint]
            return lambda source, target, flags: int(renamex(source, target, flags))
        renameat = library.renameat2
    except AttributeError:
        return None
    integer, text = ctypes.c_int, ctypes.c_char_p
    renameat.argtypes = [integer, text, integer, text, ctypes.c_uint]
    return lambda source, target, flags: int(renameat(_AT_CWD, source, _AT_CWD, target, flags))


def _reserve_and_rename(source: Path, target: Path) -> None:
    """Take the name first, which fails if it is in use, and then rename to it."""
    if sys.platform == "win32":
        source.rename(target)  # replaces nothing there
        return
    if source.is_dir():
        target.mkdir()
        source.replace(target)  # a directory may replace an empty one
        return
    try:
        os.link(source, target)
        source.unlink()
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        source.replace(target)
