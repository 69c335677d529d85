"""Writing files and directories completely or not at all.

Everything is written under a temporary name first. The last step is a rename, which replaces
nothing that was created in the meantime, unless the caller allows it.

A caller that has refused existing outputs before its work says so with `checked`. Then an output
that exists at the end was created in the meantime, and the result is kept under another name.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from safetensors import SafetensorError

from taxoexpan.errors import FormatError
from taxoexpan.files.atomic_rename import (
    UnsupportedError,
    exchange,
    rename_new,
    sync_folder,
    sync_tree,
)
from taxoexpan.files.deferred_signals import signals_deferred
from taxoexpan.files.output_checks import (
    STANDARD_STREAM,
    other_files,
    refuse_overwriting,
    refuse_replacing,
)
from taxoexpan.files.staged_files import StagedFiles, keep_result
from taxoexpan.files.temporary_names import (
    OLD,
    Temporary,
    locked,
    new_folder,
    remove_leftovers,
    temporary_name,
)


def write_whole(contents: Mapping[Path, bytes], force: bool = False, checked: bool = False) -> None:
    """Write every file under a temporary name next to its target, then rename all of them.

    If one of them cannot be renamed, the others are undone. The path `-` is standard output, which
    is written last.
    """
    streamed = [content for path, content in contents.items() if path == STANDARD_STREAM]
    contents = {path: content for path, content in contents.items() if path != STANDARD_STREAM}
    for path in contents:
        _refuse_target(path, force, checked)
    with StagedFiles(force) as staged:
        for path, content in contents.items():
            staged.write(path, content)
        staged.commit()
    for content in streamed:
        sys.stdout.buffer.write(content)


@contextmanager
def whole_file(path: Path, force: bool = False, checked: bool = False) -> Iterator[BinaryIO]:
    """Yield a temporary file that is renamed to `path` after it was written without errors.

    Unlike `write_whole`, this holds no more of the content in memory than is written at a time.
    """
    _refuse_target(path, force, checked)
    with StagedFiles(force) as staged:
        with staged.open(path) as file:
            yield file
        staged.commit()


@contextmanager
def whole_directory(
    path: Path, own: Collection[str], force: bool = False, checked: bool = False
) -> Iterator[Path]:
    """Yield a temporary directory that is renamed to `path` after it was filled without errors.

    With `force` it replaces an existing directory that contains only files named in `own`.
    """
    recover_directory(path)
    if not checked:
        refuse_replacing(path, own, force)
    target = path.resolve()  # a symbolic link stays; the directory that it points to is replaced
    staging: Temporary | None = None
    try:
        with signals_deferred():
            staging = new_folder(target)
        yield staging.path
        _give_default_permissions(staging.path)
        sync_tree(staging.path)
        with signals_deferred():
            # It may have been created or changed in the meantime.
            if force and target.is_dir() and not other_files(target, own):
                _replace_directory(staging.path, target)
            else:
                rename_new(staging.path, target)
            sync_folder(target.parent)
    except FileExistsError as error:
        if staging is None or str(target) not in (error.filename, error.filename2):
            raise FormatError(path, f"cannot be written: {error.strerror}") from None
        raise keep_result({path: staging.path}) from None
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror or error}") from None
    except SafetensorError as error:  # tensors that are written here, on a full disk for example
        raise FormatError(path, f"cannot be written: {error}") from None
    finally:
        if staging is not None:
            shutil.rmtree(staging.path, ignore_errors=True)
            staging.release()


def recover_directory(path: Path) -> None:
    """Remove what killed processes have left next to a directory, and finish what they began."""
    remove_leftovers(path.resolve())


def _replace_directory(new: Path, target: Path) -> None:
    """Put a new directory in the place of an old one; the old one is then at the temporary name."""
    try:
        exchange(new, target)
    except UnsupportedError:
        # If the process is killed between these two steps, `remove_leftovers` moves it back.
        old = temporary_name(target, OLD)
        holder = locked(target)
        target.replace(old)
        try:
            rename_new(new, target)
        except BaseException:
            rename_new(old, target)
            raise
        finally:
            holder.release()
        shutil.rmtree(old, ignore_errors=True)


def _give_default_permissions(folder: Path) -> None:
    mask = os.umask(0)
    os.umask(mask)
    for part in (folder, *folder.rglob("*")):
        part.chmod((0o777 if part.is_dir() else 0o666) & ~mask)


def _refuse_target(path: Path, force: bool, checked: bool) -> None:
    """Refuse an existing file, unless it was checked before, and whatever is no file."""
    refuse_overwriting(path, force or checked)
    if force and path.exists() and not path.is_file():
        raise FormatError(path, "is not a regular file; give the name of one")
