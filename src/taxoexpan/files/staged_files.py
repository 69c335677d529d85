"""Files under temporary names that take their places together."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import BinaryIO, Self

from taxoexpan.errors import FormatError, NameTakenError
from taxoexpan.files.atomic_rename import UnsupportedError, exchange, rename_new, sync_folder
from taxoexpan.files.deferred_signals import signals_deferred
from taxoexpan.files.temporary_names import (
    OLD,
    Temporary,
    locked,
    new_file,
    remove_leftovers,
    temporary_name,
)
from taxoexpan.phrasing import join_words

COMPRESSIONS = {".gz", ".bz2", ".xz", ".zst"}


@dataclass(frozen=True)
class _Staged:
    """One file: its path as the user gave it, its place, and its temporary name."""

    path: Path
    target: Path
    temporary: Temporary


class StagedFiles:
    """Files that are renamed to their targets together; a failure leaves none of them."""

    def __init__(self, force: bool) -> None:
        self._force = force
        self._files: list[_Staged] = []
        self._locks: list[Temporary] = []
        self._backups: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for path in [file.temporary.path for file in self._files] + self._backups:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        for lock in [file.temporary for file in self._files] + self._locks:
            lock.release()

    def write(self, path: Path, content: bytes) -> None:
        """Write one file under a temporary name."""
        with self.open(path) as file:
            file.write(content)

    @contextmanager
    def open(self, path: Path) -> Iterator[BinaryIO]:
        """Yield a file with a temporary name; at the end its content is safe on the disk."""
        target = path.resolve()  # a symbolic link stays; the file that it points to is replaced
        remove_leftovers(target)
        try:
            with signals_deferred():
                temporary = new_file(target)
                self._files.append(_Staged(path, target, temporary))
            with temporary.path.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.path.chmod(0o666 & ~_umask())
        except OSError as error:
            raise FormatError(path, f"cannot be written: {error.strerror or error}") from None

    def commit(self) -> None:
        """Rename all files; if one cannot be renamed, undo the others."""
        undo: list[Callable[[], object]] = []
        with signals_deferred():
            try:
                for file in self._files:
                    undo.append(self._place(file))
            except OSError as error:
                for action in reversed(undo):
                    with suppress(OSError):
                        action()
                if isinstance(error, FileExistsError) and not self._force:
                    staged = {each.path: each.temporary.path for each in self._files}
                    raise keep_result(staged) from None
                raise FormatError(file.path, f"cannot be written: {error.strerror}") from None
            for folder in {file.target.parent for file in self._files}:
                sync_folder(folder)

    def _place(self, file: _Staged) -> Callable[[], object]:
        """Rename one file to its target, and return how to undo that."""
        new, target = file.temporary.path, file.target
        if not self._force:
            rename_new(new, target)
            return lambda: rename_new(target, new)
        if len(self._files) == 1 or not target.exists():
            new.replace(target)
            return lambda: target.replace(new)
        if target.is_dir():  # it would be exchanged as well
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        self._locks.append(locked(target))  # the old file gets a temporary name
        try:
            exchange(new, target)
            return lambda: exchange(new, target)
        except UnsupportedError:
            return self._replace_with_backup(new, target)

    def _replace_with_backup(self, new: Path, target: Path) -> Callable[[], object]:
        backup = temporary_name(target, OLD)
        try:
            os.link(target, backup)
        except OSError:  # without links the old file cannot be kept
            new.replace(target)
            return lambda: None
        self._backups.append(backup)
        new.replace(target)
        return lambda: _restore(backup, new, target)


def _restore(backup: Path, new: Path, target: Path) -> None:
    with suppress(OSError):
        os.link(target, new)
    backup.replace(target)


def keep_result(staged: Mapping[Path, Path]) -> NameTakenError:
    """Give finished results other names, because theirs were taken; return the error to raise."""
    kept = [_keep(temporary, path) for path, temporary in staged.items()]
    taken = next((path for path in staged if path.exists()), next(iter(staged)))
    message = "was created by another program in the meantime, and is not replaced"
    names = join_words([str(path) for path in kept])
    return NameTakenError(taken, f"{message}; the result was written to {names}", kept)


def _keep(temporary: Path, path: Path) -> Path:
    """Rename a finished result to the first free name like `model.2` or `table.2.csv`."""
    suffix = path.suffix
    if suffix in COMPRESSIONS:
        suffix = path.with_suffix("").suffix + suffix
    if temporary.is_dir():
        suffix = ""
    stem = path.name.removesuffix(suffix)
    for number in count(2):
        name = path.with_name(f"{stem}.{number}{suffix}")
        with suppress(FileExistsError):
            rename_new(temporary, name)
            return name
    raise AssertionError  # a number is free


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
