"""Files and directories written whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from taxoexpan.errors import FormatError


def refuse_overwriting(path: Path, force: bool) -> None:
    """Nothing is overwritten unless the user says so, and its folder must be there to write in."""
    try:
        there = path.exists()
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror}") from None
    if there and not force:
        raise FormatError(path, "is already there; choose another name, or give --force")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FormatError(path, f"the folder {path.parent} is not there; make it first")
    if not os.access(folder, os.W_OK):
        raise FormatError(path, f"the folder {path.parent} cannot be written in; choose another")


def preflight(outputs: Sequence[Path], inputs: Sequence[Path], force: bool) -> None:
    """Refuse, before any work is done, outputs that would overwrite each other or an input."""
    taken = [path.resolve() for path in inputs]
    for output in outputs:
        refuse_overwriting(output, force)
        if output.resolve() in taken:
            message = "would be overwritten by another output, or is an input"
            raise FormatError(output, f"{message}; give each a name of its own")
        taken.append(output.resolve())


def refuse_inside(path: Path, directory: Path, reason: str = "is written as a whole") -> None:
    """Refuse an output inside a model directory or among the files of a taxonomy."""
    if path.resolve().is_relative_to(directory.resolve()):
        raise FormatError(path, f"is inside {directory}, which {reason}; choose another place")


def write_whole(contents: Mapping[Path, bytes], force: bool = False) -> None:
    """Write every file beside its place first, then move all of them in."""
    for path in contents:
        refuse_overwriting(path, force)
        if path.exists() and not path.is_file():
            raise FormatError(path, "is not an ordinary file; give the name of one")
    staged: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            # A link stays one: what it points to is replaced.
            staged[path.resolve()] = _stage(path.resolve(), content)
        for path, temporary in staged.items():
            temporary.replace(path)
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror}") from None
    finally:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)


@contextmanager
def whole_directory(path: Path, own: Collection[str], force: bool = False) -> Iterator[Path]:
    """A directory to fill, which takes its name only when it is filled without an error.

    With `force` it replaces one that holds nothing but what we write there, `own`.
    """
    refuse_replacing(path, own, force)
    path = path.absolute()
    try:
        staging = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror}") from None
    try:
        yield staging
        for part in staging.rglob("*"):
            part.chmod((0o777 if part.is_dir() else 0o666) & ~_umask())
        staging.chmod(0o777 & ~_umask())
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
            path.replace(old / "old")
            staging.replace(path)
            shutil.rmtree(old)
        else:
            staging.replace(path)
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def refuse_replacing(path: Path, own: Collection[str], force: bool) -> None:
    """A directory is replaced only by force, and only when everything in it is ours."""
    refuse_overwriting(path, force)
    if not path.exists():
        return
    if not path.is_dir():
        raise FormatError(path, "is a file; give the name of a directory")
    others = sorted(part.name for part in path.iterdir() if part.name not in own)
    if others:
        message = f"holds files that are not ours, such as {others[0]}"
        raise FormatError(path, f"{message}; it is not replaced, choose another name")


def _stage(path: Path, content: bytes) -> Path:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
    staged = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        staged.chmod(0o666 & ~_umask())
    except BaseException:
        staged.unlink()
        raise
    return staged


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def file_digest(path: Path) -> str:
    """A short digest of all that a file holds; one that has not changed is read once."""
    about = path.stat()
    return _content_digest(path, about.st_size, about.st_mtime_ns, about.st_ino)


@lru_cache
def _content_digest(path: Path, *_: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
