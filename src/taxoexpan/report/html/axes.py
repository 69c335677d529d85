"""Axes of charts: from values to SVG coordinates, with ticks and labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from taxoexpan.report.html.element import Element, element

WIDTH = 400
"""The width of every chart in SVG units; the page scales it."""
LEFT, RIGHT = 52, 388
X_AXIS_HEIGHT = 44
"""The space below the plot for the ticks and the label of the horizontal axis."""
END = {"text_anchor": "end"}
MIDDLE = {"text_anchor": "middle"}

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axes:
    """The plot area of a chart between the coordinates `top` and `bottom`.

    `x` and `y` are the ticks, which also bound the values of both axes. `x_range` sets other
    bounds for the horizontal axis.
    """

    x: Sequence[float]
    y: Sequence[float]
    x_label: str
    y_label: str
    top: float = 28
    bottom: float = 236
    x_range: Point | None = None

    def position(self, point: Point) -> Point:
        """Convert a pair of values to coordinates."""
        low, high = self.x_range or (self.x[0], self.x[-1])
        across = (point[0] - low) / (high - low)
        up = (point[1] - self.y[0]) / (self.y[-1] - self.y[0])
        return LEFT + across * (RIGHT - LEFT), self.bottom - up * (self.bottom - self.top)

    def elements(self) -> list[Element]:
        """Draw the grid, ticks and labels; a horizontal axis without a label has no ticks."""
        parts = [element("text", self.y_label, x=4, y=coordinate(self.top - 14), class_="name")]
        for tick, label in zip(self.y, tick_labels(self.y), strict=True):
            _, y = self.position((0, tick))
            parts.append(line((LEFT, y), (RIGHT, y), "axis" if tick == self.y[0] else "grid"))
            parts.append(element("text", label, x=LEFT - 7, y=coordinate(y + 4.5), **END))
        if not self.x_label:
            return parts
        for tick, label in zip(self.x, tick_labels(self.x), strict=True):
            x, _ = self.position((tick, self.y[0]))
            parts.append(line((x, self.bottom), (x, self.bottom + 4), "axis"))
            y_label = coordinate(self.bottom + 18)
            parts.append(element("text", label, x=coordinate(x), y=y_label, **MIDDLE))
        y_name = coordinate(self.bottom + 36)
        return [*parts, element("text", self.x_label, x=RIGHT, y=y_name, class_="name", **END)]

    def polyline(self, points: Iterable[Point], css_class: str) -> Element:
        """Draw a line through points."""
        positions = (f"{coordinate(x)},{coordinate(y)}" for x, y in map(self.position, points))
        return element("polyline", points=" ".join(positions), class_=css_class)

    def vertical_line(self, x: float, css_class: str) -> Element:
        """Draw a line from the bottom to the top at a value."""
        bottom, top = self.position((x, self.y[0])), self.position((x, self.y[-1]))
        return line(bottom, top, css_class)

    def line_label(self, x: float, text: str) -> Element:
        """Put a text at the bottom of a vertical line, on the side that has more room."""
        position, _ = self.position((x, self.y[0]))
        is_left = position > (LEFT + RIGHT) / 2
        return element(
            "text",
            text,
            x=coordinate(position - 6 if is_left else position + 6),
            y=coordinate(self.bottom - 8),
            class_="line-label",
            text_anchor="end" if is_left else "start",
        )

    def dot(self, point: Point, radius: float, css_class: str, tooltip: str) -> Element:
        """Draw a dot with a tooltip."""
        x, y = map(coordinate, self.position(point))
        title = element("title", tooltip)
        return element("circle", title, cx=x, cy=y, r=coordinate(radius), class_=css_class)

    def bar(self, low: float, high: float, value: float, tooltip: str) -> Element:
        """Draw a bar with a tooltip, and a gap to the next bar."""
        left, top = self.position((low, value))
        right, bottom = self.position((high, self.y[0]))
        gap = min(1.0, (right - left) / 4)
        return element(
            "rect",
            element("title", tooltip),
            x=coordinate(left + gap / 2),
            y=coordinate(top),
            width=coordinate(right - left - gap),
            height=coordinate(bottom - top),
            class_="bar",
        )


def line(start: Point, end: Point, css_class: str) -> Element:
    """Draw a straight line between two coordinates."""
    x1, y1, x2, y2 = map(coordinate, (*start, *end))
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=css_class)


def coordinate(value: float) -> str:
    """Format a coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def ticks(low: float, high: float, count: int = 5, integers: bool = False) -> list[float]:
    """Return about `count` round values that enclose `low` and `high`."""
    if high <= low:
        half = abs(low) / 2
        low, high = (low, low + 1) if integers else (low - half, low + (half or 1))
    rough = (high - low) / count
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    if integers:
        step = max(1, round(step))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{index * step:.12g}") for index in range(first, last + 1)]


def tick_labels(values: Sequence[float]) -> list[str]:
    """Format ticks, all with as many decimals as the finest of them needs."""
    if max(map(abs, values)) >= 10_000:
        return [f"{value / 1000:,g}k" if value else "0" for value in values]
    digits = max(len(f"{value:.10f}".rstrip("0").partition(".")[2]) for value in values)
    return [f"{value:,.{digits}f}" for value in values]
