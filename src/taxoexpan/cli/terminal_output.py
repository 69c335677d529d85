"""Data on a terminal: control characters of labels are shown as escape sequences."""

from __future__ import annotations

import codecs
from io import IncrementalNewlineDecoder, RawIOBase
from typing import TYPE_CHECKING

from taxoexpan.phrasing import visible

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class TerminalOutput(RawIOBase):
    """A terminal that gets only text, line ends and tabs.

    Whatever a command prints, CSV and whole taxonomy files included, passes here as bytes. Files
    and pipes do not: they get the exact data.
    """

    def __init__(self, terminal: RawIOBase) -> None:
        self._terminal = terminal
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder = IncrementalNewlineDecoder(decoder, translate=True)

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def isatty(self) -> bool:
        """Return that it is a terminal."""
        return True

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._terminal.fileno()

    def write(self, data: ReadableBuffer, /) -> int:
        """Write data with escapes in place of control characters."""
        rest = visible(self._decoder.decode(bytes(data)), keep="\n\t").encode()
        while rest:
            rest = rest[self._terminal.write(rest) or 0 :]
        return memoryview(data).nbytes
