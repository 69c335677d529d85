"""Ctrl-C at a given moment."""

from __future__ import annotations

import signal


def press_ctrl_c() -> None:
    """Send SIGINT to this process, even if it runs in the background, where SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
