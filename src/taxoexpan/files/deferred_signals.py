"""Delaying Ctrl-C and SIGTERM during a short step that must not be left half-done."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Handle the signals that arrive meanwhile at the end; only the main thread handles any."""
    if current_thread() is not main_thread():
        yield
        return
    received: list[int] = []
    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if callable(signal.getsignal(n))]
    before = [(n, signal.signal(n, lambda number, _: received.append(number))) for n in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
        for first in received[:1]:
            signal.raise_signal(first)
