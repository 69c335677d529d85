"""Reads the lines of large UTF-8 files, which may be compressed, one by one."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from taxoexpan.errors import FormatError
from taxoexpan.files.inputs import open_input

MAX_LINE_BYTES = 1 << 26
"""The longest line; the limit keeps a file without line ends from filling the memory."""

_LINES_PER_REPORT = 4096

_COMPRESSIONS = {"gzip": (b"\x1f\x8b", ".gz"), "bzip2": (b"BZh", ".bz2")}


def read_lines(path: Path, report: Callable[[int], None] = lambda _: None) -> Iterator[str]:
    """Yield the lines of a UTF-8 file with their line ends.

    A file is unpacked if its first bytes or its name are those of gzip or bzip2. `report` is
    called now and then with the number of bytes of the file that were read.
    """
    number, compression = 0, None
    try:
        with open_input(path) as packed:
            compression = _compression(path, packed)
            file = _unpacked(packed, compression)
            while line := file.readline(MAX_LINE_BYTES):
                number += 1
                if len(line) == MAX_LINE_BYTES:
                    message = f"the line is longer than {MAX_LINE_BYTES >> 20} MB"
                    raise FormatError(path, f"{message}; split it into several lines", number)
                if number % _LINES_PER_REPORT == 0 and packed.seekable():
                    report(packed.tell())
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        message = f"byte 0x{byte:02x} is not UTF-8; save the file as UTF-8"
        raise FormatError(path, message, number) from None
    except FileNotFoundError:
        raise FormatError(path, "there is no such file; check the path") from None
    except IsADirectoryError:
        raise FormatError(path, "this is a directory; give a file inside it") from None
    except (EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.strerror:
            raise FormatError(path, f"cannot be read: {error.strerror}") from None
        message = f"is damaged or not a {compression} file ({error}); get it again"
        raise FormatError(path, message, number or None) from None


def _compression(path: Path, file: BufferedReader) -> str | None:
    """Return how a file is compressed: its content decides first, then its name."""
    start = file.peek(3)  # a pipe cannot be rewound
    for name, (magic, _) in _COMPRESSIONS.items():
        if start.startswith(magic):
            return name
    named = (name for name, (_, suffix) in _COMPRESSIONS.items() if path.suffix.lower() == suffix)
    return next(named, None)


def _unpacked(file: BinaryIO, compression: str | None) -> BinaryIO:
    if compression == "gzip":
        return cast(BinaryIO, gzip.open(file))
    if compression == "bzip2":
        return cast(BinaryIO, bz2.open(file))
    return file
