"""Compressed files: any text file may be stored with gzip."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from taxoexpan.errors import FormatError

SUFFIX = ".gz"
MAX_BYTES = 4 << 30
"""A file that is larger after decompression is refused."""

_START = b"\x1f\x8b"


def format_suffix(path: Path) -> str:
    """The suffix that says the format, in lower case: `.csv` for `food.csv.gz`."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == SUFFIX else suffix


def decompressed(path: Path, content: bytes) -> bytes:
    """The content of a file; it is decompressed if it starts like gzip, whatever its name."""
    if not content.startswith(_START):
        return content
    try:
        text = gzip.GzipFile(fileobj=io.BytesIO(content)).read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        message = f"the compressed file is damaged ({error}); compress it again"
        raise FormatError(path, message) from None
    if len(text) > MAX_BYTES:
        message = f"the file has more than {MAX_BYTES >> 30} GiB after decompression"
        raise FormatError(path, f"{message}; give a smaller one")
    return text


def compressed(path: Path, content: bytes) -> bytes:
    """The content as it is stored under this name: with gzip if the name ends in `.gz`."""
    if path.suffix.lower() != SUFFIX:
        return content
    # Without a time, the same content gives the same bytes.
    return gzip.compress(content, mtime=0)
