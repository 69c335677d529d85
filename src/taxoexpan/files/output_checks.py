"""Refusing outputs before any work: existing files, missing folders, names that collide."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.files.deferred_signals import signals_deferred
from taxoexpan.files.temporary_names import new_file, remove_leftovers

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
        fix = "choose another name, or overwrite it"
        raise FormatError(path, f"already exists; {fix}", option="force")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FormatError(path, f"the folder {path.parent} does not exist; create it first")
    if not os.access(folder, os.W_OK):
        raise FormatError(path, f"the folder {path.parent} is not writable; choose another")


def check_output(path: Path, force: bool) -> None:
    """Raise an error, before any work, if `path` exists (unless `force`) or cannot be created.

    The rights of a folder do not always say whether something can be created there, so this tries.
    """
    if path == STANDARD_STREAM:
        return
    target = path.resolve()
    remove_leftovers(target)  # first, because this can move an old model back
    refuse_overwriting(path, force)
    try:
        with signals_deferred():
            attempt = new_file(target)
            try:
                attempt.path.unlink()
            finally:
                attempt.release()
    except OSError as error:
        message = f"nothing can be created in the folder {path.parent} ({error.strerror})"
        raise FormatError(path, f"{message}; choose another") from None


def refuse_replacing(path: Path, own: Collection[str], force: bool) -> None:
    """Raise an error unless `path` is new, or `force` is set and all its files are in `own`."""
    check_output(path, force)
    if not path.exists():
        return
    if not path.is_dir():
        raise FormatError(path, "is a file; give the name of a directory")
    if not os.access(path, os.W_OK):
        raise FormatError(path, "is read-only, and is not replaced; choose another name")
    others = other_files(path, own)
    if others:
        message = f"contains other files, such as {others[0]}"
        raise FormatError(path, f"{message}, and is not replaced; choose another name")


def other_files(path: Path, own: Collection[str]) -> list[str]:
    """Return the names in a directory that are not in `own`."""
    return sorted(part.name for part in path.iterdir() if part.name not in own)


def preflight(outputs: Sequence[Path], inputs: Sequence[Path], force: bool) -> None:
    """Raise an error, before any work, if outputs would overwrite each other or an input."""
    taken = [path.resolve() for path in inputs]
    for output in outputs:
        check_output(output, force)
        if output.resolve() in taken and output != STANDARD_STREAM:
            message = "would overwrite another output or an input"
            raise FormatError(output, f"{message}; give each file its own name")
        taken.append(output.resolve())


def refuse_inside(path: Path, directory: Path, reason: str = "is written as a whole") -> None:
    """Refuse an output inside a model directory or among the files of a taxonomy."""
    if path.resolve().is_relative_to(directory.resolve()):
        raise FormatError(path, f"is inside {directory}, which {reason}; choose another place")
