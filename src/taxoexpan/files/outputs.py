"""Outputs that are written completely or not at all.

An output is written under a temporary name in its directory, flushed to the disk, and renamed. The
process that writes it holds a lock, and removes temporary files of killed processes. Nothing is
written through a symbolic link.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import BinaryIO

from safetensors import SafetensorError

from taxoexpan.errors import FormatError
from taxoexpan.files.locks import has_lock, release_lock, take_lock

STANDARD_STREAM = Path("-")
"""The path that stands for standard input or standard output."""

_NEW = "new"
_OLD = "old"
_LOCK = "lock"
_MAX_NAME_BYTES = 200


def check_output(path: Path, force: bool) -> None:
    """Refuse an output, before any work, if it exists (unless `force`) or cannot be created."""
    with _naming(path, "cannot be written"), output_lock(path):  # which creates a file there
        if path.exists() and not force and path != STANDARD_STREAM:
            fix = "choose another name, or overwrite it"
            raise FormatError(path, "already exists", fix=fix, option="force")


def check_directory(path: Path, own: Collection[str], force: bool) -> None:
    """Check an output directory; `force` allows replacing one with only files named in `own`."""
    check_output(path, force)
    if not path.exists():
        return
    if not path.is_dir():
        raise FormatError(path, "is a file", fix="give the name of a directory")
    if not os.access(path, os.W_OK):
        raise FormatError(path, "is read-only, and is not replaced", fix="choose another name")
    others = sorted(part.name for part in path.iterdir() if part.name not in own)
    if others:
        message = f"contains other files, such as {others[0]}"
        raise FormatError(path, f"{message}, and is not replaced", fix="choose another name")


def preflight(outputs: Sequence[Path], inputs: Sequence[Path], force: bool) -> None:
    """Check several outputs, which must not overwrite each other or an input."""
    taken = [real_path(path) for path in inputs]
    for output in outputs:
        check_output(output, force)
        if real_path(output) in taken and output != STANDARD_STREAM:
            message = "would overwrite another output or an input"
            raise FormatError(output, message, fix="give each file its own name")
        taken.append(real_path(output))


def refuse_inside(path: Path, directory: Path, reason: str = "is written as a whole") -> None:
    """Refuse an output inside a model directory or among the files of a taxonomy."""
    if real_path(path).is_relative_to(real_path(directory)):
        raise FormatError(
            path, f"is inside {directory}, which {reason}", fix="choose another place"
        )


def real_path(path: Path) -> Path:
    """Return the path without symbolic links, except for a loop, for which `resolve` may fail."""
    return Path(os.path.realpath(path))


def unused_name(path: Path) -> Path:
    """Return a name next to a path that is not in use: `a-2.ttl` for `a.ttl`, then `a-3.ttl`."""
    suffix = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    stem = path.name.removesuffix(suffix)
    numbered = re.fullmatch(r"(.+)-([0-9]{1,2})", stem)
    name, first = (numbered[1], int(numbered[2]) + 1) if numbered else (stem, 2)
    paths = (path.with_name(f"{name}-{number}{suffix}") for number in count(first))
    return next(path for path in paths if not os.path.lexists(path))


@contextmanager
def output_lock(path: Path) -> Iterator[None]:
    """Hold the lock of an output, which one thread may take twice; refuse all others."""
    if path == STANDARD_STREAM:
        if sys.stdout is None:
            raise FormatError(path, "standard output is closed", fix="name a file instead of -")
        yield
        return
    with _naming(path, "cannot be written"):
        if path.is_symlink():
            fix = f"give the path that it leads to: {real_path(path)}"
            raise FormatError(path, "is a symbolic link, and is not written", fix=fix)
    lock = _beside(path, _LOCK)
    if not lock.parent.is_dir():
        raise FormatError(path, f"the folder {path.parent} does not exist", fix="create it first")
    if has_lock(lock):
        yield
        return
    with _naming(path, f"choose another folder; nothing can be created in {path.parent}"):
        descriptor = take_lock(lock)
    if descriptor is None:
        message = "another process works on this output, or another thread of this one"
        raise FormatError(path, message, fix="wait until it ends, or choose another name")
    try:
        with _naming(path, "cannot be written"):
            _repair(path)
        yield
    finally:
        release_lock(lock, descriptor)


def recover_output(path: Path) -> None:
    """Clean up after a killed process, unless another process works on the output."""
    with suppress(FormatError), output_lock(real_path(path)):
        pass


@contextmanager
def whole_file(
    path: Path, force: bool = False, last_check: Callable[[], None] | None = None
) -> Iterator[BinaryIO]:
    """Yield a temporary file that is renamed to `path` if no error occurs."""

    def check() -> None:
        check_output(path, force)
        if path.exists() and not path.is_file():
            raise FormatError(path, "is not a regular file", fix="give the name of one")

    with _staged(path, check, last_check) as new, new.open("xb") as file:
        _keep_access(path, new)
        yield file
        _sync(file)


def write_whole(
    contents: Mapping[Path, bytes],
    force: bool = False,
    last_check: Callable[[], None] | None = None,
) -> None:
    """Write files under temporary names, then rename all, then write to standard output (`-`).

    A `last_check` that raises an error, just before the renaming, leaves all files as they were.
    """
    with ExitStack() as stack:
        paths = [path for path in contents if path != STANDARD_STREAM]
        for path in paths:
            check = last_check if path == paths[-1] else None  # the last one is renamed first
            file = stack.enter_context(whole_file(path, force, check))
            file.write(contents[path])
            _sync(file)  # a full disk is noticed before any file is renamed
    if STANDARD_STREAM in contents:
        with output_lock(STANDARD_STREAM):
            sys.stdout.buffer.write(contents[STANDARD_STREAM])


@contextmanager
def whole_directory(
    path: Path,
    own: Collection[str],
    force: bool = False,
    last_check: Callable[[], None] | None = None,
) -> Iterator[Path]:
    """Yield a temporary directory that is renamed to `path` if no error occurs.

    With `force`, it replaces a directory that contains only files named in `own`.
    """
    with _staged(path, lambda: check_directory(path, own, force), last_check) as new:
        new.mkdir()
        _keep_access(path, new)
        yield new
        mode = new.stat().st_mode & 0o666  # safetensors writes files that only the owner can read
        for parent, _, names in os.walk(new):
            for part in (Path(parent, name) for name in names):
                part.chmod(mode)
                _keep_owner(path, part)
                with part.open("r+b") as file:
                    _sync(file)
            _sync_folder(Path(parent))


@contextmanager
def _staged(
    path: Path, check: Callable[[], None], last_check: Callable[[], None] | None
) -> Iterator[Path]:
    """Yield a temporary name, and rename the output that the caller has written there.

    The renaming follows the last check at once, so that no change by another program is missed.
    If replacing a directory is interrupted, the old directory is restored.
    """
    with output_lock(path), _naming(path, "cannot be written"):
        check()
        target = _target(path)
        new = _beside(path, f"{_NEW}-{secrets.token_hex(4)}")
        try:
            yield new
            check()  # again: another program may have created it in the meantime
            if last_check is not None:
                last_check()
            if target.is_dir():
                target.rename(_beside(path, _OLD))
            new.replace(target)
            _sync_folder(target.parent)
        finally:
            _repair(path)


def _keep_access(old: Path, new: Path) -> None:
    """Give an output the permissions and the owner of the one that it replaces."""
    if old.exists():
        _keep_owner(old, new)
        new.chmod(old.stat().st_mode)  # a private file stays private


def _keep_owner(old: Path, new: Path) -> None:
    """Give a file the owner and the group of another one, if that exists and is allowed."""
    if old.exists() and sys.platform != "win32":
        with suppress(PermissionError):
            os.chown(new, old.stat().st_uid, old.stat().st_gid)


def _repair(path: Path) -> None:
    """Remove temporary files, and restore an old directory if there is no new one."""
    target = _target(path)
    old = _beside(path, _OLD)
    if not os.path.lexists(target) and old.is_dir() and not old.is_symlink():
        old.rename(target)
    name = re.compile(rf"{re.escape(_beside(path, _NEW).name)}(-[0-9a-f]{{8}})?")
    with suppress(PermissionError), os.scandir(target.parent) as entries:
        for entry in entries:
            if entry.name != old.name and not name.fullmatch(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry, ignore_errors=True)
            else:
                Path(entry).unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """Return the path of an output in its real folder, even if it has become a link meanwhile."""
    return real_path(path.parent) / path.name if path.name.strip(".") else real_path(path)


def _beside(path: Path, ending: str) -> Path:
    """Return a temporary name next to an output."""
    target = _target(path)
    encoded = os.fsencode(target.name)
    if len(encoded) > _MAX_NAME_BYTES:
        return target.with_name(f".{hashlib.sha256(encoded).hexdigest()}.taxoexpan-{ending}")
    return target.with_name(f".{target.name}.taxoexpan-{ending}")


@contextmanager
def _naming(path: Path, message: str) -> Iterator[None]:
    """Add the name of the output to system errors."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FormatError(path, f"{message}: {reason}") from None


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Flush the file names in a directory to the disk, if the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
