"""The progress of long work: a bar on a terminal, or plain lines in a log."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, suppress
from threading import RLock
from typing import Any, Self, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

FIRST_SECONDS = 5
"""Work that ends sooner prints no line, and an estimate from less time says little."""
GROWTH = 0.3
"""The time between two lines is this fraction of the time so far, so long work prints few."""
LINE_SECONDS = 30
"""The time between two lines, at least."""
LONG_SECONDS = 60
"""Work that takes longer is announced by `tell_at_most`."""


class Progress:
    """A progress display on standard error, with an estimate of the remaining time.

    The `unit` is a plural noun; `bytes` are shown as kB, MB or GB. `done` units
    were finished in an earlier run.
    """

    def __init__(
        self,
        description: str,
        total: int | None,
        unit: str,
        *,
        shown: bool,
        done: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.description, self.total, self.unit, self.done = description, total or None, unit, done
        self._stream = sys.stderr  # it may be replaced during the work
        self.shown = shown and self._stream is not None
        self._clock = clock
        self._first, self._remark = done, ""
        self._began, self._next_line = 0.0, 0.0
        self._bar: tqdm[Any] | None = None
        if self.shown and is_terminal():
            is_bytes = unit == "bytes"
            self._bar = tqdm(
                desc=description,
                total=self.total,
                initial=done,
                unit="B" if is_bytes else f" {unit}",
                unit_scale=is_bytes,
                leave=False,
                file=self._stream,
            )

    def update(self, count: int = 1) -> None:
        """Count more finished units."""
        self.done += count
        if not self.shown:
            return
        if self._bar is not None:
            self._bar.update(count)
            return
        now = self._clock()
        if not self._next_line:  # the first units often take longer, because something is loaded
            self._first, self._began, self._next_line = self.done, now, now + FIRST_SECONDS
        elif now >= self._next_line and self.done != self.total:
            with redirect_stderr(self._stream):
                write_line(self._line(now))
            self._next_line = now + max(LINE_SECONDS, GROWTH * (now - self._began))

    def move_to(self, done: int) -> None:
        """Set the total number of finished units."""
        self.update(done - self.done)

    def remark(self, text: str) -> None:
        """Show a short string, such as a loss, with the next update."""
        self._remark = text
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)

    def each(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items, and count each of them as a unit after its use."""
        for item in items:
            yield item
            self.update()

    def _line(self, now: float) -> str:
        """Return a line for a log, such as `encoding: 40 % (400 of 1,000 texts), …`."""
        done, total = map(self._amount, (self.done, self.total or 0))
        unit = "" if self.unit == "bytes" else f" {self.unit}"
        text = f"{self.description}: {done}{unit}"
        if self.total is not None:
            percent = 100 * self.done // self.total
            text = f"{self.description}: {percent} % ({done} of {total}{unit})"
            if self.done > self._first:
                pace = (now - self._began) / (self.done - self._first)
                text += f", about {spell_duration(max(self.total - self.done, 0) * pace)} left"
        return text + (f", {self._remark}" if self._remark else "")

    def _amount(self, count: int) -> str:
        return f"{tqdm.format_sizeof(count, 'B')}" if self.unit == "bytes" else f"{count:,}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()


def is_terminal() -> bool:
    """Return whether standard error is a terminal on which a line can be overwritten."""
    if os.environ.get("TERM") == "dumb" or os.environ.get("CI", "false").lower() in ("true", "1"):
        return False
    return sys.stderr is not None and sys.stderr.isatty()


def write_line(text: str) -> None:
    """Print a line on standard error, above a bar if there is one; ignore write errors."""
    if sys.stderr is not None:  # tqdm would write to standard output instead
        with suppress(OSError):
            tqdm.write(text, file=sys.stderr)


def tell_at_most(work: str, seconds: float, following: str = "") -> None:
    """Announce long work with an upper limit of its duration, without the `following` work."""
    if seconds > LONG_SECONDS:
        rest = f"; then {following}" if following else ""
        write_line(f"{work}: at most {spell_duration(seconds)} more{rest}")


def spell_duration(seconds: float) -> str:
    """Format a duration for people, without false precision: `40 s`, `3 min`, `2 h 10 min`.

    >>> [spell_duration(seconds) for seconds in (0.2, 41, 185, 7800, 200_000)]
    ['1 s', '41 s', '3 min', '2 h 10 min', '2 d 8 h']
    """
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(round(minutes, -1), 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(round(seconds / 3600), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def keep_lock_in_process() -> None:
    """Give a worker its own output lock; if it is killed, it cannot release tqdm's shared lock."""
    tqdm.set_lock(RLock())
