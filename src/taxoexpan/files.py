"""Files and directories written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from taxoexpan.errors import FormatError


def refuse_overwriting(path: Path, force: bool) -> None:
    """Nothing is overwritten unless the user says so, and its folder must be there."""
    try:
        there = path.exists()
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror}") from None
    if there and not force:
        raise FormatError(path, "is already there; choose another name, or give --force")
    if not path.absolute().parent.is_dir():
        raise FormatError(path, f"the folder {path.parent} is not there; make it first")


def write_whole(contents: Mapping[Path, bytes], force: bool = False) -> None:
    """Write every file beside its place first, then move all of them in."""
    for path in contents:
        refuse_overwriting(path, force)
        if path.is_dir():
            raise FormatError(path, "is a directory; give a file name")
    staged: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            staged[path] = _stage(path, content)
        for path, temporary in staged.items():
            temporary.replace(path)
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror}") from None
    finally:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)


@contextmanager
def whole_directory(path: Path, force: bool = False) -> Iterator[Path]:
    """A directory to fill, which takes its name only when it is filled without an error."""
    refuse_overwriting(path, force)
    path = path.absolute()
    try:
        staging = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror}") from None
    try:
        yield staging
        staging.chmod(0o777 & ~_umask())
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
            path.replace(old / "old")
            staging.replace(path)
            shutil.rmtree(old)
        else:
            staging.replace(path)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


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
