"""Axes for charts: what a value's place is in a drawing, with round ticks and labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from taxoexpan.report.html.element import Element, element

WIDTH = 400
"""How wide every drawing is in its own units; the page scales it."""
LEFT, RIGHT = 52, 388
BELOW = 44
"""What the ticks and the label of the horizontal axis need."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axes:
    """A rectangle of the drawing, from `top` to `bottom`, and the values that its edges stand for.

    `x` and `y` are the ticks. The vertical values run from the first to the last of them, and so
    do the horizontal ones, unless `ends` says from where to where.
    """

    x: Sequence[float]
    y: Sequence[float]
    x_name: str
    y_name: str
    top: float = 28
    bottom: float = 236
    ends: Point | None = None

    def at(self, point: Point) -> Point:
        """Where a point of values is in the drawing."""
        low, high = self.ends or (self.x[0], self.x[-1])
        across = (point[0] - low) / (high - low)
        up = (point[1] - self.y[0]) / (self.y[-1] - self.y[0])
        return LEFT + across * (RIGHT - LEFT), self.bottom - up * (self.bottom - self.top)

    def drawn(self) -> list[Element]:
        """The grid, the ticks and the names of both axes; a nameless one has no ticks."""
        parts = [element("text", self.y_name, x=4, y=units(self.top - 14), class_="name")]
        for tick, told in zip(self.y, tick_labels(self.y), strict=True):
            _, y = self.at((0, tick))
            kind = "axis" if tick == self.y[0] else "grid"
            parts.append(line((LEFT, y), (RIGHT, y), kind))
            parts.append(element("text", told, x=LEFT - 7, y=units(y + 4.5), **END))
        if not self.x_name:
            return parts
        for tick, told in zip(self.x, tick_labels(self.x), strict=True):
            x, _ = self.at((tick, self.y[0]))
            parts.append(line((x, self.bottom), (x, self.bottom + 4), "axis"))
            parts.append(element("text", told, x=units(x), y=units(self.bottom + 18), **MIDDLE))
        y_below = units(self.bottom + 36)
        name = element("text", self.x_name, x=RIGHT, y=y_below, class_="name", **END)
        return [*parts, name]

    def path(self, points: Iterable[Point], kind: str) -> Element:
        """A line through the points."""
        places = " ".join(f"{units(x)},{units(y)}" for x, y in map(self.at, points))
        return element("polyline", points=places, class_=kind)

    def upright(self, x: float, kind: str) -> Element:
        """A line from the bottom to the top at a value."""
        return line(self.at((x, self.y[0])), self.at((x, self.y[-1])), kind)

    def beside(self, x: float, words: str) -> Element:
        """Words at the foot of an upright line, on the side where there is room."""
        place, _ = self.at((x, self.y[0]))
        left = place > (LEFT + RIGHT) / 2
        return element(
            "text",
            words,
            x=units(place - 6 if left else place + 6),
            y=units(self.bottom - 8),
            class_="beside",
            text_anchor="end" if left else "start",
        )

    def dot(self, point: Point, radius: float, kind: str, told: str) -> Element:
        """A dot that tells its values where a pointer rests on it."""
        x, y = self.at(point)
        title = element("title", told)
        return element("circle", title, cx=units(x), cy=units(y), r=units(radius), class_=kind)

    def bar(self, low: float, high: float, value: float, told: str) -> Element:
        """A bar over a stretch of the horizontal axis, with a gap to the next one."""
        left, top = self.at((low, value))
        right, bottom = self.at((high, self.y[0]))
        gap = min(1.0, (right - left) / 4)
        return element(
            "rect",
            element("title", told),
            x=units(left + gap / 2),
            y=units(top),
            width=units(right - left - gap),
            height=units(bottom - top),
            class_="bar",
        )


END = {"text_anchor": "end"}
MIDDLE = {"text_anchor": "middle"}


def line(start: Point, end: Point, kind: str) -> Element:
    """A straight line between two places of the drawing."""
    (x1, y1), (x2, y2) = start, end
    return element("line", x1=units(x1), y1=units(y1), x2=units(x2), y2=units(y2), class_=kind)


def units(value: float) -> str:
    """A place in the drawing, to a tenth."""
    return f"{value:.1f}".removesuffix(".0")


def ticks(low: float, high: float, about: int = 5, whole: bool = False) -> list[float]:
    """Round values, some `about` many, from one at or below `low` to one at or above `high`."""
    if high <= low:
        low, high = (low, low + 1) if whole else (low - abs(low) / 2, low + (abs(low) / 2 or 1))
    rough = (high - low) / about
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    if whole:
        step = max(1, round(step))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)]


def tick_labels(values: Sequence[float]) -> list[str]:
    """The ticks as text, all with as many digits as the finest of them needs."""
    if max(map(abs, values)) >= 10_000:
        return [f"{value / 1000:,g}k" if value else "0" for value in values]
    digits = max(len(f"{value:.10f}".rstrip("0").partition(".")[2]) for value in values)
    return [f"{value:,.{digits}f}" for value in values]
