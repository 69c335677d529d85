"""Reading the files that a user names: regular files, pipes and standard input, but no devices.

A device such as `/dev/zero` never ends. An endless pipe is stopped at a limit.
"""

from __future__ import annotations

import os
import stat
import sys
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from taxoexpan.errors import FormatError
from taxoexpan.files.output_checks import STANDARD_STREAM

MAX_STREAM_BYTES = 4 << 30
"""A pipe or a standard input with more bytes is refused."""

_CHUNK = 1 << 20


def open_input(path: Path) -> BufferedReader:
    """Open a file or a pipe for reading; a device other than a terminal is refused."""
    file = path.open("rb")
    try:
        _refuse_device(path, file.fileno())
    except BaseException:
        file.close()
        raise
    return file


def read_input(path: Path) -> bytes:
    """Return the content of a file, a pipe or standard input."""
    if path == STANDARD_STREAM:
        return _read_standard_input(path)
    with open_input(path) as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file.read()
        return _read_stream(path, file)


def _read_standard_input(path: Path) -> bytes:
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError):  # a program has replaced it by an object without a file
        return _read_stream(path, sys.stdin.buffer)
    _refuse_device(path, descriptor)
    return _read_stream(path, sys.stdin.buffer)


def _read_stream(path: Path, stream: BinaryIO) -> bytes:
    """Read piece by piece: Python handles signals only between the pieces."""
    content = bytearray()
    while chunk := stream.read(_CHUNK):
        content += chunk
        if len(content) > MAX_STREAM_BYTES:
            message = f"the stream has more than {MAX_STREAM_BYTES:,} bytes"
            raise FormatError(path, f"{message}; save it as a file, and give the file")
        if len(chunk) < _CHUNK:  # the end: a terminal would wait for a second Ctrl-D
            break
    return bytes(content)


def _refuse_device(path: Path, descriptor: int) -> None:
    """Refuse all devices but terminals, which end with Ctrl-D, and the empty `/dev/null`."""
    status = os.fstat(descriptor)
    if not (stat.S_ISBLK(status.st_mode) or stat.S_ISCHR(status.st_mode)):
        return
    if os.isatty(descriptor) or status.st_rdev == Path(os.devnull).stat().st_rdev:
        return
    raise FormatError(path, "is a device, which may never end; give a file or a pipe")
