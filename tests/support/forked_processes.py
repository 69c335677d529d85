"""Child processes that start at once, because they are forked, and their ends."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO


def fork(run: Callable[[], object]) -> int:
    """Start a process that runs a function and exits with its status, or 0; return its id."""
    process = os.fork()
    if process:
        return process
    status = 99
    try:
        result = run()
        status = result if isinstance(result, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def fork_and_wait(run: Callable[[], object], kill_after: float | None = None) -> int:
    """Run a function in a child process, which may be killed; return the signal or the status."""
    process = fork(run)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


@dataclass
class Forked:
    """A child process and what it prints."""

    id: int
    out: TextIO
    err: TextIO
    status: int | None = None
    """Its exit status, or the negative number of the signal that ended it."""

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal unless it has ended, wait for the end, and return the status."""
        if self.status is None:
            os.kill(self.id, number)
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.id, 0)[1])
        return self.status


@contextmanager
def forked(run: Callable[[], object]) -> Iterator[Forked]:
    """Run a function in a child process that prints to pipes, and is killed unless it has ended."""
    reads, writes = zip(os.pipe(), os.pipe(), strict=True)

    def printing() -> object:
        for number, end in enumerate(writes, start=1):
            os.dup2(end, number)
        sys.stdout, sys.stderr = (
            os.fdopen(number, "w", encoding="utf-8", buffering=1, closefd=False)
            for number in (1, 2)
        )
        return run()

    process = fork(printing)
    for end in writes:
        os.close(end)
    with os.fdopen(reads[0], encoding="utf-8") as out, os.fdopen(reads[1], encoding="utf-8") as err:
        child = Forked(process, out, err)
        try:
            yield child
        finally:
            child.end(signal.SIGKILL)
