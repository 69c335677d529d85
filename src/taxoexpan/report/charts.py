"""Charts of reliability, coverage and training, which the template draws as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from taxoexpan.phrasing import percent
from taxoexpan.placement.learned.confidence import (
    Bin,
    CoveragePoint,
    SafePlacements,
    calibration_error,
)

WIDTH = 400
"""The width of every chart in SVG units; the page scales it."""
MAX_POINTS = 400
"""A longer curve is thinned to this number of points, which nobody can tell apart."""
MAX_DOTS = 40
"""A longer curve is drawn without dots."""
MAX_RADIUS = 9.0
MIN_RADIUS = 2.5

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot with a tooltip; `x` and `y` are data values, not coordinates."""

    x: float
    y: float
    radius: float
    kind: str
    tooltip: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A pair of axes with curves and dots.

    The ticks `x` and `y` also bound the axes, unless `x_range` sets other bounds. A curve is a
    CSS class and points.
    """

    LEFT: ClassVar[int] = 52
    RIGHT: ClassVar[int] = 388

    x: Sequence[float]
    y: Sequence[float]
    x_label: str
    y_label: str
    top: float = 28
    bottom: float = 236
    x_range: Point | None = None
    curves: Sequence[tuple[str, Sequence[Point]]] = ()
    dots: Sequence[Dot] = ()
    threshold: float | None = None
    threshold_label: str = ""

    def across(self, value: float) -> float:
        """Return the horizontal coordinate of a value."""
        low, high = self.x_range or (self.x[0], self.x[-1])
        return self.LEFT + (value - low) / (high - low) * (self.RIGHT - self.LEFT)

    def up(self, value: float) -> float:
        """Return the vertical coordinate of a value."""
        fraction = (value - self.y[0]) / (self.y[-1] - self.y[0])
        return self.bottom - fraction * (self.bottom - self.top)

    def x_ticks(self) -> list[tuple[float, str]]:
        """Return the coordinates and labels of the horizontal ticks."""
        return list(zip(map(self.across, self.x), tick_labels(self.x), strict=True))

    def y_ticks(self) -> list[tuple[float, str]]:
        """Return the coordinates and labels of the vertical ticks."""
        return list(zip(map(self.up, self.y), tick_labels(self.y), strict=True))


@dataclass(frozen=True, slots=True)
class Chart:
    """One or more plots with a title, a description for screen readers, and a caption."""

    title: str
    description: str
    caption: str
    plots: Sequence[Plot]


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
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [float(f"{index * step:.12g}") for index in range(first, last + 1)]


def tick_labels(values: Sequence[float]) -> list[str]:
    """Format all ticks with the number of decimals that the most precise tick needs."""
    if max(map(abs, values)) >= 10_000:
        return [f"{value / 1000:,g}k" if value else "0" for value in values]
    digits = max(len(f"{value:.10f}".rstrip("0").partition(".")[2]) for value in values)
    return [f"{value:,.{digits}f}" for value in values]


FRACTIONS = ticks(0, 1)


def reliability_chart(bins: Sequence[Bin]) -> Chart:
    """Plot the fraction of correct suggestions against their confidence."""
    largest = max((each.count for each in bins), default=1)
    total = sum(each.count for each in bins)
    # The area of a dot, not its radius, is proportional to the count.
    dots = [
        Dot(
            each.confidence,
            each.right,
            max(MIN_RADIUS, MAX_RADIUS * math.sqrt(each.count / largest)),
            "dot",
            f"confidence {each.confidence:.2f}: {each.right:.2f} of {each.count:,} right",
        )
        for each in bins
    ]
    curves = [
        ("diagonal", [(0.0, 0.0), (1.0, 1.0)]),
        ("curve", [(each.confidence, each.right) for each in bins]),
    ]
    plot = Plot(FRACTIONS, FRACTIONS, "confidence", "fraction right", curves=curves, dots=dots)
    caption = (
        f"Expected calibration error: {calibration_error(bins):.3f} over {total:,} concepts. On "
        "the dashed line the confidence equals the fraction that is right. Larger dots stand for "
        "more concepts."
        if total
        else "There are no concepts to measure this on."
    )
    description = "; ".join(dot.tooltip for dot in dots)
    return Chart("Reliability diagram", description, caption, [plot])


def coverage_chart(
    points: Sequence[CoveragePoint],
    threshold: CoveragePoint | None = None,
    safe: Sequence[SafePlacements] = (),
) -> Chart:
    """Plot the precision of the accepted suggestions against their fraction; mark a threshold.

    A second curve is the fraction of true placements if concepts are placed as deep as is sure.
    """
    curve = _finite((point.coverage, point.precision) for point in points)
    texts = [f"{precision:.2f} right at {accepted:.2f} accepted" for accepted, precision in curve]
    texts = texts[:1] + texts[-1:]
    caption = "Each point is a possible confidence threshold."
    dots = []
    label = ""
    placed = sorted({(each.coverage, each.truth) for each in safe})
    texts += [f"as deep as is sure, {t:.2f} true at {c:.2f} placed" for c, t in placed[::-1][:1]]
    if threshold is not None:
        confidence, coverage, precision = threshold
        caption = (
            f"A confidence of at least {confidence:.2f} accepts {percent(coverage)} of the "
            f"concepts, and {percent(precision)} of these are right."
        )
        texts.insert(0, caption)
        dots = [Dot(coverage, precision, 5, "marked", caption)]
        label = f"confidence ≥ {confidence:.2f}"
    if placed:
        caption += (
            " The dashed curve is the fraction of true placements if each concept is placed as "
            "deep as is sure: its true parent is there or below."
        )
    heights = [precision for _, precision in (*curve, *placed)] + [dot.y for dot in dots]
    lowest = min(heights, default=0.0)
    plot = Plot(
        FRACTIONS,
        # High precisions are magnified to show differences, but to no less than half the range.
        FRACTIONS if lowest < 0.5 else ticks(0.5, 1),
        "fraction of concepts accepted",
        "fraction of these right",
        curves=[("curve", _thinned(curve)), *([("curve safe", placed)] if placed else [])],
        dots=dots,
        threshold=None if threshold is None else threshold.coverage,
        threshold_label=label,
    )
    return Chart("Coverage and precision", "; ".join(texts), caption, [plot])


def training_chart(
    losses: Sequence[float | None], mrrs: Sequence[float | None], best: int | None = None
) -> Chart:
    """Plot the loss and validation MRR per epoch (None if missing); `best` is counted from 1."""
    epochs = max(len(losses), len(mrrs))
    x_range = (1.0, max(epochs, 2.0))
    plots = []
    texts = [f"{epochs} epochs"]
    for values, x_label, y_label, top, label in (
        (losses, "", "training loss", 28, ""),
        (mrrs, "epoch", "validation MRR", 190, f"best: {best}"),
    ):
        points = _finite(enumerate(values, start=1))
        heights = [value for _, value in points]
        if points:
            texts.append(f"{y_label} from {heights[0]:.3g} to {heights[-1]:.3g}")
        dots = [Dot(x, y, 2.5, "dot", f"epoch {x:.0f}: {y:.4g}") for x, y in points]
        plots.append(
            Plot(
                [tick for tick in ticks(*x_range, integers=True) if 1 <= tick <= x_range[1]],
                ticks(min(heights, default=0), max(heights, default=1)),
                x_label,
                y_label,
                top,
                top + 114,
                x_range,
                curves=[("curve", _thinned(points))],
                dots=dots if len(dots) <= MAX_DOTS else (),
                threshold=best,
                threshold_label=label if best is not None else "",
            )
        )
    caption = "" if best is None else f"Epoch {best} had the best validation MRR and was kept."
    return Chart("Training", "; ".join([*texts, caption]), caption, plots)


def _finite(points: Iterable[tuple[float, float | None]]) -> list[Point]:
    """Return the points with a finite value, in the same order."""
    return [(x, y) for x, y in points if y is not None and math.isfinite(y)]


def _thinned(points: Sequence[Point]) -> list[Point]:
    """Return at most `MAX_POINTS` evenly spread points, including the first and the last."""
    if len(points) <= MAX_POINTS:
        return list(points)
    last = len(points) - 1
    return [points[index * last // (MAX_POINTS - 1)] for index in range(MAX_POINTS)]
