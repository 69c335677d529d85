"""Digests of the content of files."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path


def file_digest(path: Path) -> str:
    """A short digest of a file's content; an unchanged file is read only once."""
    status = path.stat()
    return _content_digest(path, status.st_size, status.st_mtime_ns, status.st_ino)


@lru_cache
def _content_digest(path: Path, *_: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
