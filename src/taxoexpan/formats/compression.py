"""Compression with gzip, which is possible for every text file."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

from taxoexpan.errors import FormatError

SUFFIX = ".gz"
MAX_BYTES = 4 << 30
"""A file that is larger after decompression is refused."""

MAX_RATIO = 200
"""A file that grows by more than this is refused: texts compress less, but attacks much more."""

MIN_BYTES = 64 << 20
"""Smaller files are not refused, whatever they grow by."""

_CHUNK = 1 << 20

_START = b"\x1f\x8b"


def format_suffix(path: Path) -> str:
    """Return the suffix that determines the format, in lower case: `.csv` for `food.csv.gz`."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == SUFFIX else suffix


def decompressed(path: Path, content: bytes) -> bytes:
    """Return the content of a file, decompressed if it starts like gzip; the name is ignored."""
    if not content.startswith(_START):
        return content
    limit, text = max_size(len(content), MAX_BYTES), bytearray()
    file = gzip.GzipFile(fileobj=io.BytesIO(content))
    try:
        while chunk := file.read(_CHUNK):  # reading all at once would reserve the whole limit
            text += chunk
            if len(text) > limit:
                break
    except (OSError, EOFError, zlib.error) as error:
        message = f"the compressed file is damaged ({error}); compress it again"
        raise FormatError(path, message) from None
    if len(text) > limit:
        message = f"the file has more than {limit:,} bytes after decompression"
        raise FormatError(path, f"{message}; decompress it yourself, or give a smaller one")
    return bytes(text)


def max_size(compressed_size: int, max_bytes: int) -> int:
    """Return the size that a compressed file may have after decompression."""
    return min(max_bytes, max(MIN_BYTES, MAX_RATIO * compressed_size))


def compressed(path: Path, content: bytes) -> bytes:
    """Return the content, compressed with gzip if the name ends in `.gz`."""
    if path.suffix.lower() != SUFFIX:
        return content
    # Without a time, the same content gives the same bytes.
    return gzip.compress(content, mtime=0)
