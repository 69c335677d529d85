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
_ARCHIVES = {
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"BZh91AY&SY": "compressed with bzip2",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
}
"""The first bytes of archives and compressed files that are not read."""
_TAR_MARK = b"ustar"
_TAR_OFFSET = 257


def format_suffix(path: Path) -> str:
    """Return the suffix that determines the format, in lower case: `.csv` for `food.csv.gz`."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == SUFFIX else suffix


def decompressed(path: Path, content: bytes) -> bytes:
    """Return the content of a file, decompressed if it starts like gzip; the name is ignored."""
    if not content.startswith(_START):
        return _refuse_archive(path, content)
    limit = max_size(len(content), MAX_BYTES)
    text = bytearray()
    file = gzip.GzipFile(fileobj=io.BytesIO(content))
    try:
        while chunk := file.read(_CHUNK):  # reading all at once would reserve the whole limit
            text += chunk
            if len(text) > limit:
                break
    except (OSError, EOFError, zlib.error) as error:
        message = f"the compressed file is damaged ({error})"
        raise FormatError(path, message, fix="compress it again") from None
    if len(text) > limit:
        message = f"the file has more than {limit:,} bytes after decompression"
        raise FormatError(path, message, fix="decompress it yourself, or give a smaller one")
    return _refuse_archive(path, bytes(text))


def _refuse_archive(path: Path, content: bytes) -> bytes:
    """Return the content, unless it is an archive, which may have several files."""
    kind = next((kind for start, kind in _ARCHIVES.items() if content.startswith(start)), "")
    kind = "a tar archive" if content.startswith(_TAR_MARK, _TAR_OFFSET) else kind
    if kind:
        message = f"the file is {kind}"
        raise FormatError(path, message, fix="unpack it, and give the taxonomy file inside it")
    return content


def max_size(compressed_size: int, max_bytes: int) -> int:
    """Return the size that a compressed file may have after decompression."""
    return min(max_bytes, max(MIN_BYTES, MAX_RATIO * compressed_size))


def compressed(path: Path, content: bytes) -> bytes:
    """Return the content, compressed with gzip if the name ends in `.gz`."""
    if path.suffix.lower() != SUFFIX:
        return content
    # Without a time, the same content gives the same bytes.
    return gzip.compress(content, mtime=0)
