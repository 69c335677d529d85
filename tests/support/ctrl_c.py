"""Ctrl-C at a given moment."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence


def press_ctrl_c() -> None:
    """Send SIGINT to this process, even if it runs in the background, where SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def interrupt_cli(command: Sequence[str], line: str) -> tuple[int, str]:
    """Run a command in a process, and press Ctrl-C when it prints a line with this text.

    Return the exit status and all messages.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "taxoexpan.cli.main", *command], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        messages = ""
        for message in process.stderr:
            messages += message
            if line in message:
                process.send_signal(signal.SIGINT)
                break
        messages += process.stderr.read()
        return process.wait(60), messages
