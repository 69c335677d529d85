"""The progress of long work: a bar on a terminal, or plain lines in a log."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stderr, suppress
from contextvars import ContextVar, Token
from itertools import accumulate
from typing import Any, NamedTuple, Self, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

FIRST_SECONDS = 5
"""Work that ends sooner prints no line, and an estimate from less time says little."""
GROWTH = 0.3
"""The time between two lines is this fraction of the time so far, so long work prints few."""
LINE_SECONDS = 30
"""The time between two lines, at least."""
MIN_MEASURED = 0.03
"""The fraction of all stages after which the time that they took corrects the estimate."""


class Progress:
    """A progress display on standard error, with an estimate of the remaining time.

    The `unit` is a plural noun; `bytes` are shown as kB, MB or GB. `done` units were finished in
    an earlier run. If it `collects`, displays inside it are hidden, and count for it if they have
    the same unit.
    """

    def __init__(
        self,
        description: str,
        total: float | None,
        unit: str,
        *,
        shown: bool,
        done: float = 0,
        collects: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.description = description
        self.total = total or None
        self.unit = unit
        self.done = done
        self._stream = sys.stderr  # it may be replaced during the work
        self._clock = clock
        self._collects = collects
        self._first = done
        self._remark = ""
        self._began = 0.0
        self._next_line = 0.0
        self._bar: tqdm[Any] | None = None
        self._token: Token[Progress | None] | None = None
        outer = _collector.get()
        self._outer = outer if outer is not None and outer.admits(self) else None
        self.shown = self._outer is not None or (shown and self._stream is not None)
        if self.shown and self._outer is None and is_terminal():
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

    def update(self, count: float = 1) -> None:
        """Count more finished units."""
        self.done += count
        if self._outer is not None:
            self._outer.collect(self, count)
        elif self.shown:
            self._show(count)

    def _show(self, count: float) -> None:
        """Move the bar, or print a line if it is time for one."""
        if self._bar is not None:
            self._bar.update(count)
            return
        now = self._clock()
        if not self._next_line:  # the first units often take longer, because something is loaded
            self._first = self.done
            self._began = now
            self._next_line = now + FIRST_SECONDS
        elif now >= self._next_line and self.done != self.total:
            with redirect_stderr(self._stream):
                write_line(self._line(now))
            self._next_line = now + max(LINE_SECONDS, GROWTH * (now - self._began))

    def admits(self, part: Progress) -> bool:  # noqa: ARG002
        """Return whether a display inside this one is hidden, and collected."""
        return True

    def collect(self, part: Progress, count: float) -> None:
        """Count the units of a display inside this one."""
        if part.unit == self.unit:
            self.update(count)

    def move_to(self, done: float) -> None:
        """Set the total number of finished units."""
        self.update(done - self.done)

    def remark(self, text: str) -> None:
        """Show a short string, such as a loss, with the next update."""
        self._remark = text
        if self._outer is not None:
            self._outer.remark(text)
        elif self._bar is not None:
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
            percent = int(100 * self.done // self.total)
            text = f"{self.description}: {percent} % ({done} of {total}{unit})"
            if self.done > self._first:
                pace = (now - self._began) / (self.done - self._first)
                text += f", about {spell_duration(max(self.total - self.done, 0) * pace)} left"
        return text + (f", {self._remark}" if self._remark else "")

    def _amount(self, count: float) -> str:
        return f"{tqdm.format_sizeof(count, 'B')}" if self.unit == "bytes" else f"{count:,}"

    def __enter__(self) -> Self:
        if self.shown and self._collects:
            self._token = _collector.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        if self._token is not None:
            _collector.reset(self._token)
        if self._bar is not None:
            self._bar.close()


_collector: ContextVar[Progress | None] = ContextVar("collector", default=None)
"""The innermost display that collects the others, in this thread."""


class Stage(NamedTuple):
    """The estimated seconds of a stage, and its units if its `Progress` has no total."""

    seconds: float
    units: float = 0


class Stages(Progress):
    """One display for stages whose durations were estimated, with the time left of the whole.

    A `Progress` with the name of a stage starts it, and the display appears with the first one. The
    estimates need only the right ratios: the time that the units of the stages take corrects them.
    """

    def __init__(
        self,
        description: str,
        stages: Mapping[str, Stage],
        *,
        shown: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        ends = list(accumulate(stage.seconds for stage in stages.values()))
        super().__init__(description, ends[-1], "seconds", shown=False, collects=True, clock=clock)
        self.shown = shown and self._stream is not None and self._outer is None
        self._stages = stages
        self._ends = dict(zip(stages, ends, strict=True))
        self._name = ""
        self._updated: float | None = None
        self._spent = self._measured = 0.0

    def admits(self, part: Progress) -> bool:
        """Start a stage; return whether one has started, so that no other display is needed."""
        if part.description in self._stages:
            is_first = not self._name
            self._name = part.description
            self._remark = ""
            self._updated = None
            if is_first:
                self._began = self._clock()
                self._next_line = self._began + FIRST_SECONDS
                if is_terminal():
                    self._bar = tqdm(
                        total=self.total, bar_format=" ", miniters=0, leave=False, file=self._stream
                    )
            self.move_to(self._reached(part))
            if self._bar is not None:
                self._bar.refresh()
        return bool(self._name)

    def collect(self, part: Progress, count: float) -> None:  # noqa: ARG002
        """Advance the stage, and measure the time that its units take."""
        if part.description == self._name:
            now = self._clock()
            reached = self._reached(part)
            if self._updated is not None:  # the first units often take longer
                self._spent += now - self._updated
                self._measured += reached - self.done
            self._updated = now
            self.move_to(reached)

    def _reached(self, part: Progress) -> float:
        """Return the estimated seconds up to the finished units of a stage."""
        seconds, units = self._stages[part.description]
        total = part.total or units
        remaining = max(1 - part.done / total, 0.0) if total else 1.0
        return max(self.done, self._ends[part.description] - seconds * remaining)

    def _show(self, count: float) -> None:
        if self._bar is not None:
            name = f"{self.description}: {self._name}"
            self._bar.bar_format = f"{name} {{percentage:3.0f}} %|{{bar}}| {self._left()}"
        super()._show(count)

    def _line(self, now: float) -> str:  # noqa: ARG002
        """Return a line for a log, such as `training: 43 %, network, about 40 s left`."""
        percent = int(100 * self.done // (self.total or 1))
        return f"{self.description}: {percent} %, {self._name}, {self._left()}"

    def _left(self) -> str:
        """Return the estimated time that is left, and the remark."""
        total = self.total or 0.0
        pace = 1.0
        if self._measured > MIN_MEASURED * total:
            pace = self._spent / self._measured
        text = f"about {spell_duration(pace * max(total - self.done, 0))} left"
        return text + (f", {self._remark}" if self._remark else "")


def is_terminal() -> bool:
    """Return whether standard error is a terminal or a notebook, which can overwrite a line."""
    if "ipykernel" in sys.modules:
        return sys.stderr is not None
    if os.environ.get("TERM") == "dumb" or os.environ.get("CI", "false").lower() in ("true", "1"):
        return False
    return sys.stderr is not None and sys.stderr.isatty()


def write_line(text: str) -> None:
    """Print a line on standard error, above a bar if there is one; ignore write errors."""
    if sys.stderr is not None:  # tqdm would write to standard output instead
        with suppress(OSError):
            tqdm.write(text, file=sys.stderr)


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
