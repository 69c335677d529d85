"""Reading of files that a user names, or that may be damaged, foreign or malicious."""

from __future__ import annotations

import hashlib
import json
import stat
import sys
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from taxoexpan.errors import FormatError
from taxoexpan.files.outputs import STANDARD_STREAM

MAX_STREAM_BYTES = 4 << 30
"""A pipe or a standard input with more bytes is refused."""
MAX_REASON = 200
"""The number of characters of a reason that a message quotes."""
_CHUNK = 1 << 20


def open_input(path: Path) -> BufferedReader:
    """Open a file or a pipe for reading; refuse a device or a socket."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISDIR(mode)):
        raise FormatError(path, "is a device or a socket", fix="give a file or a pipe")
    return path.open("rb")


def read_input(path: Path) -> bytes:
    """Return the content of a file, a pipe or standard input."""
    if path == STANDARD_STREAM:
        if sys.stdin is None:
            raise FormatError(path, "standard input is closed", fix="name a file instead of -")
        return _read_stream(path, sys.stdin.buffer)
    with open_input(path) as file:
        return file.read() if path.is_file() else _read_stream(path, file)


def _read_stream(path: Path, stream: BinaryIO) -> bytes:
    """Read a stream in chunks, because Python handles signals only between them."""
    content = bytearray()
    while chunk := stream.read(_CHUNK):
        content += chunk
        if len(content) > MAX_STREAM_BYTES:
            message = f"the stream has more than {MAX_STREAM_BYTES:,} bytes"
            raise FormatError(path, message, fix="save it as a file, and give the file")
        if len(chunk) < _CHUNK:  # the end: a terminal would wait for a second Ctrl-D
            break
    return bytes(content)


def open_regular(path: Path) -> BufferedReader:
    """Open a file of a model or a store; a pipe, which may never end, raises a ValueError."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("it is not a regular file")
    return path.open("rb")


def read_regular(path: Path) -> bytes:
    """Return the content of a file."""
    with open_regular(path) as file:
        return file.read()


def parse_json(content: bytes) -> Any:
    """Parse strict JSON: UTF-8, no repeated key, no NaN, and no extreme nesting."""
    try:
        return json.loads(
            content.decode("utf-8"),
            object_pairs_hook=distinct_keys,
            parse_constant=_refuse_constant,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object, which must not repeat a key."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("it has a key twice")
    return fields


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def reason_of(error: Exception) -> str:
    """Describe an error in a few words, for use in a message."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    text = " ".join(text.split())
    return text if len(text) <= MAX_REASON else f"{text[: MAX_REASON - 1]}…"


def file_digest(path: Path) -> str:
    """Return a short digest of a file's content; an unchanged file is read only once."""
    status = path.stat()
    return _content_digest(path, status.st_size, status.st_mtime_ns, status.st_ino)


@lru_cache
def _content_digest(path: Path, *_: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
