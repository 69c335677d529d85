"""Standard output: UTF-8, safe on terminals, and without an error when its reader is gone."""

from __future__ import annotations

import codecs
import os
import sys
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from io import BufferedWriter, IncrementalNewlineDecoder, RawIOBase, TextIOWrapper
from typing import TYPE_CHECKING

from taxoexpan.phrasing import visible

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _StandardOutput(RawIOBase):
    """Standard output that drops data after its reader has closed the pipe.

    So the exit status does not depend on the reader. Other errors, such as a full disk, are raised
    only once, because Python 3.13 would print a second one at exit. A terminal gets visible
    characters, line ends and tabs; files and pipes get the exact data.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._dropping = False
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder = IncrementalNewlineDecoder(decoder, translate=True)

    def writable(self) -> bool:
        """Return True."""
        return True

    def isatty(self) -> bool:
        """Return whether standard output is a terminal."""
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._descriptor

    def write(self, data: ReadableBuffer, /) -> int:
        """Write data, or drop it after a closed pipe or an error."""
        rest = bytes(data)
        if self.isatty():
            rest = visible(self._decoder.decode(rest), keep="\n\t").encode()
        try:
            while rest and not self._dropping:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            self._dropping = True
            if not isinstance(error, BrokenPipeError):
                raise
        return memoryview(data).nbytes


def standard_output() -> AbstractContextManager[object]:
    """Make standard output UTF-8 on all terminals, and independent of its reader."""
    if type(sys.stdout) is not TextIOWrapper:  # it was replaced, or there is none
        return nullcontext()
    sys.stdout.flush()
    buffered = BufferedWriter(_StandardOutput(sys.stdout.fileno()))
    line_buffering = sys.stdout.line_buffering
    return redirect_stdout(TextIOWrapper(buffered, encoding="utf-8", line_buffering=line_buffering))
