"""Messages of several commands on standard error, and JSON on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.phrasing import shortened_message, visible, visible_json

if TYPE_CHECKING:
    from taxoexpan.report.page import Page

MAX_NOTES = 10


def note(message: str) -> None:
    """Print a message on standard error, and ignore a closed pipe or a full disk.

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
    """Print the first messages, and the number of the others."""
    for message in messages[:MAX_NOTES]:
        note(message)
    if len(messages) > MAX_NOTES:
        note(f"note: … and {len(messages) - MAX_NOTES:,} more{rest}")


def as_json(content: object) -> str:
    """Return a value as JSON, with all control characters escaped, even if JSON allows them."""
    return visible_json(json.dumps(content, ensure_ascii=False, indent=2))


def print_json(content: object) -> None:
    """Print a result as JSON on standard output."""
    print(as_json(content))


def write_report(path: Path, page: Page, force: bool) -> None:
    """Write an HTML report."""
    from taxoexpan.files import write_whole
    from taxoexpan.report.page import render

    write_whole({path: render(page).encode()}, force)
    note(f"report written to {path}")


def spell_files(files: Sequence[Path]) -> str:
    """Return the names of written files; `-` is standard output."""
    return " and ".join("standard output" if str(path) == "-" else str(path) for path in files)
