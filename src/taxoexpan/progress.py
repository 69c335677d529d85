"""Progress of long work: a bar on a terminal, and plain lines in logs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, suppress
from threading import RLock
from types import TracebackType
from typing import Any, Self, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

FIRST_SECONDS = 5
"""Work that ends sooner prints no line, and an estimate from less time says little."""
LINE_SECONDS = 30
LINE_FRACTION = 0.1
"""A line is printed after this part of the work, if some seconds have passed."""
GROWTH = 0.1
"""The time between two lines is at least this part of the time so far: long work prints few."""
LONG_SECONDS = 60
"""Work that takes longer says so soon after its start."""


class Progress:
    """Shows on standard error how much of some work is done, and how long the rest will take.

    On a terminal this is a bar. In a log it is a plain line now and then. The remaining time is
    estimated from the time that the work has taken since the first update, on this machine.

    Args:
        description: what is done, such as `encoding`.
        total: how many units there are, if known.
        unit: the plural of the noun for a unit; `bytes` are shown as kB, MB or GB.
        shown: whether to show anything.
        done: how many units were done before.
        clock: returns the time in seconds.
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
        self._first: int | None = None
        self._began = self._last = clock()
        self._last_done, self._is_told, self._remark = done, False, ""
        self._bar = self._new_bar() if self.shown and is_terminal() else None

    def _new_bar(self) -> tqdm[Any]:
        is_bytes = self.unit == "bytes"
        return tqdm(
            desc=self.description,
            total=self.total,
            initial=self.done,
            unit="B" if is_bytes else f" {self.unit}",
            unit_scale=is_bytes,
            leave=False,
            file=self._stream,
        )

    def update(self, count: int = 1) -> None:
        """Say that so many more units are done."""
        self.done += count
        if not self.shown:
            return
        if self._first is None:  # the first units often take longer, because something is loaded
            self._first, self._began = self.done, self._clock()
        if self._bar is not None:
            self._bar.update(count)
        self._tell()

    def move_to(self, done: int) -> None:
        """Say how many units are done in all."""
        self.update(done - self.done)

    def remark(self, text: str) -> None:
        """Show a short text with the next update, such as a loss."""
        self._remark = text
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)

    def each(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items, and count each as a unit when it is finished."""
        for item in items:
            yield item
            self.update()

    def seconds_left(self) -> float | None:
        """Estimate how many seconds the rest will take, if that can be known."""
        if self.total is None or self._first is None or self.done <= self._first:
            return None
        pace = (self._clock() - self._began) / (self.done - self._first)
        return max(self.total - self.done, 0) * pace

    def _tell(self) -> None:
        """Print a line if one is due; on a terminal, only the first estimate of long work."""
        now = self._clock()
        if now - self._last < FIRST_SECONDS or (self.total and self.done >= self.total):
            return
        left = self.seconds_left()
        is_long = not self._is_told and left is not None and left > LONG_SECONDS
        if self._bar is not None:
            if is_long:
                assert left is not None
                self._write(f"{self.description}: about {spell_duration(left)}")
            self._is_told = self._is_told or is_long
            return
        if is_long or self._is_line_due(now):
            self._write(self._line(left))
            self._is_told, self._last, self._last_done = True, now, self.done

    def _is_line_due(self, now: float) -> bool:
        if now - self._last >= max(LINE_SECONDS, GROWTH * (now - self._began)):
            return True
        step = self.done - self._last_done
        return self.total is not None and step >= LINE_FRACTION * self.total

    def _line(self, left: float | None) -> str:
        """Return a line for a log, such as `encoding: 40 % (400 of 1,000 texts), …`."""
        if self.total is None:
            text = f"{self.description}: {self._amount(self.done)}"
        else:
            counts = f"{self._amount(self.done, False)} of {self._amount(self.total)}"
            text = f"{self.description}: {100 * self.done // self.total} % ({counts})"
        if left is not None:
            text += f", about {spell_duration(left)} left"
        return text + (f", {self._remark}" if self._remark else "")

    def _write(self, text: str) -> None:
        with redirect_stderr(self._stream):
            write_line(text)

    def _amount(self, count: int, named: bool = True) -> str:
        if self.unit == "bytes":
            return f"{tqdm.format_sizeof(count, 'B')}"
        return f"{count:,} {self.unit}" if named else f"{count:,}"

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def is_terminal() -> bool:
    """Return whether standard error is a terminal on which a line can be written again."""
    if os.environ.get("TERM") == "dumb" or os.environ.get("CI", "false").lower() in ("true", "1"):
        return False
    return sys.stderr is not None and sys.stderr.isatty()


def write_line(text: str) -> None:
    """Print a line on standard error, above a bar if there is one; its disk may be full."""
    if sys.stderr is not None:  # tqdm would write to standard output instead
        with suppress(OSError):
            tqdm.write(text, file=sys.stderr)


def tell_at_most(work: str, seconds: float, following: str = "") -> None:
    """Print an upper limit of the time that long work will take; short work is not announced.

    `following` is the work after it, which the limit does not include.
    """
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
    """Let a worker process lock its output alone.

    By default tqdm shares a lock between processes, which a terminated worker would not release.
    """
    tqdm.set_lock(RLock())
