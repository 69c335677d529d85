"""Writing files and directories completely or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from safetensors import SafetensorError

from taxoexpan.errors import FormatError

STANDARD_STREAM = Path("-")
"""The path that stands for standard input or standard output."""


def refuse_overwriting(path: Path, force: bool) -> None:
    """Raise an error if `path` exists (unless `force`), or if its folder cannot be written to."""
    if path == STANDARD_STREAM:
        return
    try:
        exists = path.exists()
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror}") from None
    if exists and not force:
        fix = "choose another name, or use force=True"
        raise FormatError(path, f"already exists; {fix}").naming("force=True")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FormatError(path, f"the folder {path.parent} does not exist; create it first")
    if not os.access(folder, os.W_OK):
        raise FormatError(path, f"the folder {path.parent} is not writable; choose another")


def preflight(outputs: Sequence[Path], inputs: Sequence[Path], force: bool) -> None:
    """Raise an error, before any work, if outputs would overwrite each other or an input."""
    taken = [path.resolve() for path in inputs]
    for output in outputs:
        refuse_overwriting(output, force)
        if output.resolve() in taken and output != STANDARD_STREAM:
            message = "would overwrite another output or an input"
            raise FormatError(output, f"{message}; give each file its own name")
        taken.append(output.resolve())


def refuse_inside(path: Path, directory: Path, reason: str = "is written as a whole") -> None:
    """Refuse an output inside a model directory or among the files of a taxonomy."""
    if path.resolve().is_relative_to(directory.resolve()):
        raise FormatError(path, f"is inside {directory}, which {reason}; choose another place")


def write_whole(contents: Mapping[Path, bytes], force: bool = False) -> None:
    """Write every file under a temporary name next to its target, then rename all of them.

    The path `-` is standard output, which is written last.
    """
    streamed = [content for path, content in contents.items() if path == STANDARD_STREAM]
    contents = {path: content for path, content in contents.items() if path != STANDARD_STREAM}
    for path in contents:
        refuse_overwriting(path, force)
        if path.exists() and not path.is_file():
            raise FormatError(path, "is not a regular file; give the name of one")
    staged: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            # A symbolic link stays; the file that it points to is replaced.
            staged[path.resolve()] = _stage(path.resolve(), content)
        for path, temporary in staged.items():
            temporary.replace(path)
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror}") from None
    finally:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)
    for content in streamed:
        sys.stdout.buffer.write(content)


@contextmanager
def whole_file(path: Path, force: bool = False) -> Iterator[BinaryIO]:
    """Yield a temporary file that is renamed to `path` after it was written without errors.

    Unlike `write_whole`, this holds no more of the content in memory than is written at a time.
    """
    refuse_overwriting(path, force)
    if path.exists() and not path.is_file():
        raise FormatError(path, "is not a regular file; give the name of one")
    target = path.resolve()  # a symbolic link stays; the file that it points to is replaced
    staged: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        staged = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        staged.chmod(0o666 & ~_umask())
        staged.replace(target)
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror or error}") from None
    finally:
        if staged is not None:
            staged.unlink(missing_ok=True)


@contextmanager
def whole_directory(path: Path, own: Collection[str], force: bool = False) -> Iterator[Path]:
    """Yield a temporary directory that is renamed to `path` after it was filled without errors.

    With `force` it replaces an existing directory that contains only files named in `own`.
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
    except SafetensorError as error:  # tensors that are written here, on a full disk for example
        raise FormatError(path, f"cannot be written: {error}") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def refuse_replacing(path: Path, own: Collection[str], force: bool) -> None:
    """Raise an error unless `path` is new, or `force` is set and all its files are in `own`."""
    refuse_overwriting(path, force)
    if not path.exists():
        return
    if not path.is_dir():
        raise FormatError(path, "is a file; give the name of a directory")
    others = sorted(part.name for part in path.iterdir() if part.name not in own)
    if others:
        message = f"contains other files, such as {others[0]}"
        raise FormatError(path, f"{message}, and is not replaced; choose another name")


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
    """A short digest of a file's content; an unchanged file is read only once."""
    status = path.stat()
    return _content_digest(path, status.st_size, status.st_mtime_ns, status.st_ino)


@lru_cache
def _content_digest(path: Path, *_: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
