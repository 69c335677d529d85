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
    """Standard output until its reader closes the pipe; then the rest of the output is dropped.

    The command runs to its end, so that its exit status does not depend on the reader. Any other
    error, such as a full disk, is raised once: Python 3.13 prints one that occurs again at the end.
    A terminal gets only text, line ends and tabs; files and pipes get the exact data.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._dropping = descriptor, False
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._decoder = IncrementalNewlineDecoder(decoder, translate=True)

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._descriptor

    def write(self, data: ReadableBuffer, /) -> int:
        """Write data, or drop it if nobody reads or an error was raised before."""
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
    """Make standard output UTF-8, whatever the terminal uses, and independent of its reader."""
    if type(sys.stdout) is not TextIOWrapper:  # it was replaced, or there is none
        return nullcontext()
    sys.stdout.flush()
    buffered = BufferedWriter(_StandardOutput(sys.stdout.fileno()))
    line_buffering = sys.stdout.line_buffering
    return redirect_stdout(TextIOWrapper(buffered, encoding="utf-8", line_buffering=line_buffering))
