"""Messages on standard error, which are results, warnings or notes, and JSON on standard output.

The option --quiet hides the notes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from taxoexpan.phrasing import shortened_message, visible, visible_json

MAX_NOTES = 10


_hides_notes: ContextVar[bool] = ContextVar("hides_notes", default=False)


@contextmanager
def without_notes(hidden: bool) -> Iterator[None]:
    """Hide the notes of a command if it is quiet."""
    token = _hides_notes.set(hidden)
    try:
        yield
    finally:
        _hides_notes.reset(token)


def note(message: str) -> None:
    """Print what a command does or has done, unless it is quiet."""
    if not _hides_notes.get():
        announce(message)


def note_above(message: str) -> None:
    """Print a note above a progress bar, if there is one."""
    from tqdm import tqdm

    with tqdm.external_write_mode(file=sys.stderr):
        note(message)


def warn(message: str) -> None:
    """Print what may be wrong with the input or the result, also if the command is quiet."""
    announce(f"warning: {message}")


def announce(message: str) -> None:
    """Print an error or a result on standard error, and ignore a closed pipe or a full disk.

    It is escaped and indented, so that no label or file name in it can look like another message.
    """
    text = visible(shortened_message(message), keep="\n")
    first = len(text) - len(text.lstrip("\n"))
    with suppress(OSError):
        print(text[:first] + text[first:].replace("\n", "\n  "), file=sys.stderr)


def print_line(text: str) -> None:
    """Print a line on standard output, with control characters escaped."""
    print(visible(shortened_message(text)))


def note_some(messages: Sequence[str], rest: str) -> None:
    """Print the first notes, and the number of the others."""
    for message in messages[:MAX_NOTES]:
        note(message)
    if len(messages) > MAX_NOTES:
        note(f"note: … and {len(messages) - MAX_NOTES:,} more{rest}")


def warn_some(messages: Sequence[str], rest: str) -> None:
    """Print the first warnings, and the number of the others."""
    for message in messages[:MAX_NOTES]:
        warn(message)
    if len(messages) > MAX_NOTES:
        warn(f"… and {len(messages) - MAX_NOTES:,} more{rest}")


def as_json(content: object) -> str:
    """Return a value as JSON, with all control characters escaped, even if JSON allows them."""
    return visible_json(json.dumps(content, ensure_ascii=False, indent=2))


def print_json(content: object) -> None:
    """Print a result as JSON on standard output."""
    print(as_json(content))


def spell_files(files: Sequence[Path]) -> str:
    """Return the names of written files; `-` is standard output."""
    return " and ".join("standard output" if str(path) == "-" else str(path) for path in files)
