"""A command that runs inside a real pseudo-terminal."""

from __future__ import annotations

import os
import threading
import tty
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from taxoexpan.cli.main import main


@dataclass
class TerminalRun:
    """What a command printed on a terminal, and its exit status."""

    status: int = 0
    content: bytearray = field(default_factory=bytearray)

    @property
    def text(self) -> str:
        """What reached the terminal."""
        return self.content.decode("utf-8")


def run_in_terminal(arguments: Sequence[str]) -> TerminalRun:
    """Run a command in this process, with both of its outputs on a terminal."""
    leader, follower = os.openpty()
    tty.setraw(follower)  # the terminal must not change line ends
    done = TerminalRun()
    reader = threading.Thread(target=_read_all, args=(leader, done.content))
    reader.start()
    with (
        pytest.MonkeyPatch.context() as patched,
        os.fdopen(follower, "w", encoding="utf-8") as output,
        os.fdopen(os.dup(follower), "w", encoding="utf-8") as errors,
    ):
        patched.setattr("sys.stdout", output)
        patched.setattr("sys.stderr", errors)
        try:
            done.status = main(arguments)
        except SystemExit as stopped:
            done.status = int(stopped.code or 0)
    reader.join(timeout=60)
    os.close(leader)
    return done


def _read_all(leader: int, content: bytearray) -> None:
    """Read until nothing writes to the terminal any more, which Linux reports as an error."""
    try:
        while data := os.read(leader, 1 << 16):
            content += data
    except OSError:
        pass
