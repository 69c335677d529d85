"""Reading files that may be damaged, foreign or malicious.

A pipe or a device in place of a file would never end, and deeply nested JSON would exhaust the
stack. All problems are an `OSError` or a `ValueError`.
"""

from __future__ import annotations

import json
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

MAX_REASON = 200
"""The number of characters of a reason that a message quotes."""

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def open_regular(path: Path) -> BufferedReader:
    """Open a file for reading, or a link to one; anything else is an error at once."""
    descriptor = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is not a regular file")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, max_bytes: int | None = None) -> bytes:
    """Return the content of a file of at most `max_bytes`."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if max_bytes is not None and size > max_bytes:
            raise ValueError(f"it has {size:,} bytes, but at most {max_bytes:,} are read")
        return file.read(size)


def parse_json(content: bytes) -> Any:
    """Parse JSON as the standard has it: UTF-8, no key twice, no NaN, and not nested too deeply."""
    try:
        return json.loads(
            content.decode("utf-8"), object_pairs_hook=_distinct, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def reason_of(error: Exception) -> str:
    """Describe an error in a few words, as a part of a message."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    text = " ".join(text.split())
    return text if len(text) <= MAX_REASON else f"{text[: MAX_REASON - 1]}…"


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("it has a key twice")
    return fields


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")
