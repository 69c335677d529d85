"""Charts as drawings in the page itself: calibration, coverage, training, histograms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from taxoexpan.report.html.axes import BELOW, WIDTH, Axes, Point, ticks, units
from taxoexpan.report.html.element import Element, element

SHARES = ticks(0, 1)
MOST_POINTS = 400
"""A longer curve is thinned to as many points, more than anyone can see."""
MOST_DOTS = 40
"""A longer curve has no dots."""
LARGEST, SMALLEST = 9.0, 2.5


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with its name, what a screen reader says of it, and the caption."""

    name: str
    description: str
    caption: str
    height: float
    parts: Sequence[Element]


@dataclass(frozen=True, slots=True)
class Bin:
    """Placements of about one confidence: its mean, the share that is right, and how many."""

    confidence: float
    right: float
    count: int


@dataclass(frozen=True, slots=True)
class Threshold:
    """A least score, the share of concepts it accepts, and the share of these that is right."""

    score: float
    coverage: float
    precision: float


def chart_element(chart: Chart) -> Element:
    """The chart as an inline drawing."""
    return element(
        "svg",
        element("title", chart.name),
        element("desc", chart.description),
        *chart.parts,
        viewBox=f"0 0 {WIDTH} {units(chart.height)}",
        role="img",
        class_="chart",
    )


def calibration_error(bins: Sequence[Bin]) -> float:
    """The expected calibration error: how far confidence and truth are apart, on average."""
    total = sum(each.count for each in bins)
    apart = sum(each.count * abs(each.confidence - each.right) for each in bins)
    return apart / total if total else 0.0


def reliability(bins: Sequence[Bin]) -> Chart:
    """How often placements of a confidence are right; where both are equal, it can be believed."""
    bins = [each for each in bins if each.count]
    axes = Axes(SHARES, SHARES, "confidence", "share right")
    most = max((each.count for each in bins), default=1)
    total = sum(each.count for each in bins)
    parts = [*axes.drawn(), axes.path([(0, 0), (1, 1)], "diagonal")]
    parts.append(axes.path([(each.confidence, each.right) for each in bins], "curve"))
    told = [
        f"confidence {each.confidence:.2f}: {each.right:.2f} right of {each.count:,}"
        for each in bins
    ]
    for each, words in zip(bins, told, strict=True):
        # The area, not the radius, says how many there are.
        radius = max(SMALLEST, LARGEST * math.sqrt(each.count / most))
        parts.append(axes.dot((each.confidence, each.right), radius, "dot", words))
    caption = (
        f"Expected calibration error {calibration_error(bins):.3f} over {total:,} concepts. "
        "On the dashed line a confidence is as good as its word; larger dots stand for more "
        "concepts."
        if total
        else "There was no concept to judge by."
    )
    return Chart("Reliability diagram", "; ".join(told), caption, axes.bottom + BELOW, parts)


def coverage(
    points: Sequence[Point], threshold: Threshold | None = None, by: str = "score"
) -> Chart:
    """How right the accepted placements are, the more of the concepts are accepted.

    A point is the share of concepts accepted and the share of these that is right; `by` is what
    they are accepted by.
    """
    points = _finite(points)
    marked = [] if threshold is None else [(threshold.coverage, threshold.precision)]
    lowest = min((right for _, right in [*points, *marked]), default=0.0)
    # Where all are good the differences are to be seen, but never by less than half the range.
    right_ticks = SHARES if lowest < 0.5 else ticks(0.5, 1)
    axes = Axes(SHARES, right_ticks, "share of concepts accepted", "share of them right")
    parts = [*axes.drawn(), axes.path(_thinned(points), "curve")]
    told = ""
    if threshold is not None:
        told = (
            f"Accepting a {by} of {threshold.score:.2f} or more takes "
            f"{_percent(threshold.coverage)} of the concepts, and "
            f"{_percent(threshold.precision)} of these are right."
        )
        parts.append(axes.upright(threshold.coverage, "threshold"))
        parts.append(axes.dot((threshold.coverage, threshold.precision), 5, "marked", told))
        parts.append(axes.beside(threshold.coverage, f"{by} ≥ {threshold.score:.2f}"))
    ends = [f"{right:.2f} right at {share:.2f} accepted" for share, right in points]
    description = "; ".join([told] * bool(told) + ends[:1] + ends[-1:])
    caption = told or f"Each point is a least {by} that could be asked for."
    return Chart("Coverage and precision", description, caption, axes.bottom + BELOW, parts)


def training(
    losses: Sequence[float | None], ranks: Sequence[float | None], best: int | None = None
) -> Chart:
    """The loss and the validation MRR of every epoch, counted from 1, and the best one marked.

    An epoch without a figure has None.
    """
    epochs = max(len(losses), len(ranks))
    ends = (1.0, max(epochs, 2.0))
    across = [tick for tick in ticks(*ends, whole=True) if ends[0] <= tick <= ends[1]]
    above = Axes(across, _fitting(losses), "", "training loss", bottom=142, ends=ends)
    below = Axes(across, _fitting(ranks), "epoch", "validation MRR", 190, 304, ends)
    parts = [*_curve(above, losses, best), *_curve(below, ranks, best)]
    told = [f"{epochs} epochs", *_ends(above, losses), *_ends(below, ranks)]
    caption = ""
    if best is not None:
        parts.append(below.beside(best, f"best: {best}"))
        caption = f"Epoch {best}, the best by validation, was kept."
    return Chart("Training", "; ".join([*told, caption]), caption, below.bottom + BELOW, parts)


def histogram(
    edges: Sequence[float], counts: Sequence[int], name: str, of: str = "concepts"
) -> Chart:
    """How many there are between each edge and the next."""
    if len(edges) != len(counts) + 1:
        raise ValueError(f"{len(counts)} bars need one edge more, but there are {len(edges)}")
    ends = edges[0], edges[-1]
    across = [tick for tick in ticks(*ends) if ends[0] <= tick <= ends[1]]
    axes = Axes(across, ticks(0, max(counts, default=0) or 1, whole=True), name, of, ends=ends)
    told = [
        f"{low:.3g} to {high:.3g}: {count:,}"
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
    ]
    bars = [
        axes.bar(low, high, count, words)
        for low, high, count, words in zip(edges, edges[1:], counts, told, strict=False)
    ]
    caption = f"{sum(counts):,} {of} in all."
    parts = [*axes.drawn(), *bars]
    return Chart(f"Histogram: {name}", "; ".join(told), caption, axes.bottom + BELOW, parts)


def _fitting(values: Sequence[float | None]) -> list[float]:
    """Ticks for values that are not known beforehand."""
    heights = [value for _, value in _finite(enumerate(values))]
    return ticks(min(heights, default=0), max(heights, default=1))


def _curve(axes: Axes, values: Sequence[float | None], best: int | None) -> list[Element]:
    """A figure of every epoch as a line, with dots where there are few."""
    points = _finite(enumerate(values, start=1))
    parts = [*axes.drawn(), axes.path(_thinned(points), "curve")]
    if best is not None:
        parts.append(axes.upright(best, "threshold"))
    if len(points) <= MOST_DOTS:
        parts += [
            axes.dot((epoch, value), 2.5, "dot", f"epoch {epoch:.0f}: {value:.4g}")
            for epoch, value in points
        ]
    return parts


def _ends(axes: Axes, values: Sequence[float | None]) -> list[str]:
    """The first and the last figure in words, if there are any."""
    points = _finite(enumerate(values))
    return [f"{axes.y_name} from {points[0][1]:.3g} to {points[-1][1]:.3g}"] if points else []


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def _finite(points: Iterable[tuple[float, float | None]]) -> list[Point]:
    """The points that can be drawn, in their order."""
    return [(x, y) for x, y in points if y is not None and math.isfinite(y)]


def _thinned(points: Sequence[Point]) -> list[Point]:
    """At most `MOST_POINTS` of the points, evenly spread, with the first and the last."""
    if len(points) <= MOST_POINTS:
        return list(points)
    last = len(points) - 1
    return [points[place * last // (MOST_POINTS - 1)] for place in range(MOST_POINTS)]
