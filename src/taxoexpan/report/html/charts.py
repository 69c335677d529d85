"""SVG charts: reliability, coverage, training and histograms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from taxoexpan.phrasing import percent
from taxoexpan.placement.learned.confidence import Bin, CoveragePoint, calibration_error
from taxoexpan.report.html.axes import WIDTH, X_AXIS_HEIGHT, Axes, Point, coordinate, ticks
from taxoexpan.report.html.element import Element, element

FRACTIONS = ticks(0, 1)
MAX_POINTS = 400
"""A longer curve is thinned to this number of points, which nobody can tell apart."""
MAX_DOTS = 40
"""A longer curve is drawn without dots."""
MAX_RADIUS, MIN_RADIUS = 9.0, 2.5


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its title, a description for screen readers, and a caption."""

    title: str
    description: str
    caption: str
    height: float
    elements: Sequence[Element]


def chart_element(chart: Chart) -> Element:
    """Convert a chart to an inline SVG element."""
    return element(
        "svg",
        element("title", chart.title),
        element("desc", chart.description),
        *chart.elements,
        viewBox=f"0 0 {WIDTH} {coordinate(chart.height)}",
        role="img",
        class_="chart",
    )


def reliability_chart(bins: Sequence[Bin]) -> Chart:
    """Plot the fraction that is right against the confidence."""
    axes = Axes(FRACTIONS, FRACTIONS, "confidence", "fraction right")
    largest = max((each.count for each in bins), default=1)
    total = sum(each.count for each in bins)
    parts = [*axes.elements(), axes.polyline([(0, 0), (1, 1)], "diagonal")]
    parts.append(axes.polyline([(each.confidence, each.right) for each in bins], "curve"))
    texts = [
        f"confidence {each.confidence:.2f}: {each.right:.2f} of {each.count:,} right"
        for each in bins
    ]
    for each, text in zip(bins, texts, strict=True):
        # The area of a dot, not its radius, is proportional to the count.
        radius = max(MIN_RADIUS, MAX_RADIUS * math.sqrt(each.count / largest))
        parts.append(axes.dot((each.confidence, each.right), radius, "dot", text))
    caption = (
        f"Expected calibration error: {calibration_error(bins):.3f} over {total:,} concepts. On "
        "the dashed line the confidence equals the fraction that is right. Larger dots stand for "
        "more concepts."
        if total
        else "There are no concepts to measure this on."
    )
    height = axes.bottom + X_AXIS_HEIGHT
    return Chart("Reliability diagram", "; ".join(texts), caption, height, parts)


def coverage_chart(
    points: Sequence[CoveragePoint], threshold: CoveragePoint | None = None
) -> Chart:
    """Plot the precision of the accepted suggestions against the fraction accepted.

    A threshold is marked.
    """
    curve = _finite((point.coverage, point.precision) for point in points)
    marked = [] if threshold is None else [threshold.precision]
    lowest = min([precision for _, precision in curve] + marked, default=0.0)
    # High precisions are magnified to show differences, but to no less than half the range.
    y_ticks = FRACTIONS if lowest < 0.5 else ticks(0.5, 1)
    axes = Axes(FRACTIONS, y_ticks, "fraction of concepts accepted", "fraction of these right")
    parts = [*axes.elements(), axes.polyline(_thinned(curve), "curve")]
    caption = "Each point is a possible confidence threshold."
    texts = [f"{precision:.2f} right at {accepted:.2f} accepted" for accepted, precision in curve]
    texts = texts[:1] + texts[-1:]
    if threshold is not None:
        confidence, coverage, precision = threshold
        caption = (
            f"A confidence of at least {confidence:.2f} accepts {percent(coverage)} of the "
            f"concepts, and {percent(precision)} of these are right."
        )
        texts.insert(0, caption)
        parts.append(axes.vertical_line(coverage, "threshold"))
        parts.append(axes.dot((coverage, precision), 5, "marked", caption))
        parts.append(axes.line_label(coverage, f"confidence ≥ {confidence:.2f}"))
    height = axes.bottom + X_AXIS_HEIGHT
    return Chart("Coverage and precision", "; ".join(texts), caption, height, parts)


def training_chart(
    losses: Sequence[float | None], mrrs: Sequence[float | None], best: int | None = None
) -> Chart:
    """Plot the loss and the validation MRR of every epoch, and mark the best epoch.

    Epochs are counted from 1. An epoch without a value has None.
    """
    epochs = max(len(losses), len(mrrs))
    x_range = (1.0, max(epochs, 2.0))
    x_ticks = _ticks_inside(x_range, integers=True)
    loss_axes = Axes(x_ticks, _fitting_ticks(losses), "", "training loss", 28, 142, x_range)
    mrr_axes = Axes(x_ticks, _fitting_ticks(mrrs), "epoch", "validation MRR", 190, 304, x_range)
    parts = [*_curve(loss_axes, losses, best), *_curve(mrr_axes, mrrs, best)]
    texts = [f"{epochs} epochs", *_first_and_last(loss_axes, losses)]
    texts += _first_and_last(mrr_axes, mrrs)
    caption = ""
    if best is not None:
        parts.append(mrr_axes.line_label(best, f"best: {best}"))
        caption = f"Epoch {best} had the best validation MRR and was kept."
    height = mrr_axes.bottom + X_AXIS_HEIGHT
    return Chart("Training", "; ".join([*texts, caption]), caption, height, parts)


def histogram(
    edges: Sequence[float], counts: Sequence[int], measure: str, counted: str = "concepts"
) -> Chart:
    """Plot the counts between each edge and the next."""
    if len(edges) != len(counts) + 1:
        raise ValueError(f"{len(counts)} bars need {len(counts) + 1} edges, not {len(edges)}")
    x_range = edges[0], edges[-1]
    y_ticks = ticks(0, max(counts, default=0) or 1, integers=True)
    axes = Axes(_ticks_inside(x_range), y_ticks, measure, counted, x_range=x_range)
    bars = list(zip(edges, edges[1:], counts, strict=False))
    texts = [f"{low:.3g} to {high:.3g}: {count:,}" for low, high, count in bars]
    parts = axes.elements()
    parts += [axes.bar(*bar, tooltip) for bar, tooltip in zip(bars, texts, strict=True)]
    caption = f"{sum(counts):,} {counted} in total."
    height = axes.bottom + X_AXIS_HEIGHT
    return Chart(f"Histogram: {measure}", "; ".join(texts), caption, height, parts)


def _ticks_inside(bounds: Point, integers: bool = False) -> list[float]:
    """Return ticks that do not exceed the bounds."""
    return [tick for tick in ticks(*bounds, integers=integers) if bounds[0] <= tick <= bounds[1]]


def _fitting_ticks(values: Sequence[float | None]) -> list[float]:
    """Return ticks that enclose the values."""
    heights = [value for _, value in _finite(enumerate(values))]
    return ticks(min(heights, default=0), max(heights, default=1))


def _curve(axes: Axes, values: Sequence[float | None], best: int | None) -> list[Element]:
    """Draw one value per epoch as a line, with dots if there are few epochs."""
    points = _finite(enumerate(values, start=1))
    parts = [*axes.elements(), axes.polyline(_thinned(points), "curve")]
    if best is not None:
        parts.append(axes.vertical_line(best, "threshold"))
    if len(points) <= MAX_DOTS:
        parts += [
            axes.dot((epoch, value), 2.5, "dot", f"epoch {epoch:.0f}: {value:.4g}")
            for epoch, value in points
        ]
    return parts


def _first_and_last(axes: Axes, values: Sequence[float | None]) -> list[str]:
    """Describe the first and the last value, if there are any."""
    points = _finite(enumerate(values))
    return [f"{axes.y_label} from {points[0][1]:.3g} to {points[-1][1]:.3g}"] if points else []


def _finite(points: Iterable[tuple[float, float | None]]) -> list[Point]:
    """Return the points with a finite value, in their order."""
    return [(x, y) for x, y in points if y is not None and math.isfinite(y)]


def _thinned(points: Sequence[Point]) -> list[Point]:
    """Return at most `MAX_POINTS` evenly spread points, including the first and the last."""
    if len(points) <= MAX_POINTS:
        return list(points)
    last = len(points) - 1
    return [points[index * last // (MAX_POINTS - 1)] for index in range(MAX_POINTS)]
