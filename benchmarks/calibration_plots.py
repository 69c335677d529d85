"""Two plots per test in one SVG: the reliability of the confidence, and precision by coverage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from calibration_results import (
    PRECISIONS,
    ConfidenceResult,
    by_test,
    error_by_chance,
    format_fraction,
)

from taxoexpan.phrasing import pluralize
from taxoexpan.placement.learned.confidence import BIN_COUNT, Bin
from taxoexpan.report.html import charts
from taxoexpan.report.html.axes import WIDTH, X_AXIS_HEIGHT, Axes, Point, coordinate
from taxoexpan.report.html.element import Element, element, to_html

MARGIN, GAP, HEAD, FOOT = 24, 40, 52, 56
MAX_POINTS = 400
"""The maximum number of points of a curve."""
OWN_STYLE = """
svg { font-family: var(--sans); }
.paper { fill: var(--background); }
.chart .title { fill: var(--text); font-size: 17px; font-weight: 600; }
.chart .band { fill: var(--accent); opacity: 0.18; }
.chart .curve.thin { stroke-width: 1.1; }
"""


@dataclass(frozen=True)
class PooledBin:
    """The queries of all seeds in one bin of confidence, and the standard error of its precision.

    A query that several models answered counts once for the standard error.
    """

    bin: Bin
    error: float


def pooled_bins(results: Sequence[ConfidenceResult]) -> list[PooledBin]:
    """Pool all seeds into ten equal bins of confidence, without the empty bins."""
    confidence = np.concatenate([each.confidence for each in results])
    right = np.concatenate([each.right for each in results]).astype(float)
    queries = np.concatenate([np.array(each.queries, dtype=np.str_) for each in results])
    bins = np.minimum((confidence * BIN_COUNT).astype(int), BIN_COUNT - 1)
    pooled = []
    for number in np.unique(bins):
        members = bins == number
        precision, distinct = float(right[members].mean()), len(np.unique(queries[members]))
        # With Laplace smoothing, because three of three right do not show that all are right.
        smoothed = (precision * distinct + 1) / (distinct + 2)
        error = math.sqrt(smoothed * (1 - smoothed) / (distinct + 2))
        mean = float(confidence[members].mean())
        pooled.append(PooledBin(Bin(int(members.sum()), mean, precision), error))
    return pooled


def reliability_parts(results: Sequence[ConfidenceResult]) -> list[Element]:
    """Plot precision against confidence, with a band of two standard errors."""
    axes, pooled = (
        Axes(charts.FRACTIONS, charts.FRACTIONS, "confidence", "fraction right"),
        pooled_bins(results),
    )
    low = [(p.bin.confidence, max(0.0, p.bin.right - 2 * p.error)) for p in pooled]
    high = [(p.bin.confidence, min(1.0, p.bin.right + 2 * p.error)) for p in pooled]
    corners = " ".join(
        ",".join(map(coordinate, axes.position(point))) for point in [*low, *reversed(high)]
    )
    chart = charts.reliability_chart([p.bin for p in pooled])
    return [element("polygon", points=corners, class_="band"), *chart.elements]


def coverage_parts(results: Sequence[ConfidenceResult]) -> list[Element]:
    """Plot precision against coverage, one line per seed, with the model's thresholds as dots."""
    names = ("fraction of concepts accepted", "fraction of these right")
    axes = Axes(charts.FRACTIONS, charts.FRACTIONS, *names)
    parts, dots = axes.elements(), []
    for each in results:
        points = [(accepted, right) for _, accepted, right in each.reliability.coverage()]
        parts.append(axes.polyline(thinned(points), "curve thin"))
        for precision, threshold in zip(PRECISIONS, each.thresholds, strict=True):
            coverage, right = each.accepted(threshold)
            if right is not None:
                wanted = f"seed {each.seed}: {precision:.0%} wanted"
                label = f"{wanted}, {right:.0%} right of {coverage:.1%}"
                dots.append(axes.dot((coverage, right), 3.5, "marked", label))
    return [*parts, *dots]


def thinned(points: Sequence[Point]) -> list[Point]:
    """Return at most `MAX_POINTS` of the points, evenly spaced, with the first and the last."""
    indices = np.linspace(0, len(points) - 1, min(len(points), MAX_POINTS)).round().astype(int)
    return [points[index] for index in indices]


def plot_svg(results: Sequence[ConfidenceResult]) -> str:
    """Return the SVG of all tests, one below the other."""
    tests, height = by_test(results), Axes((0, 1), (0, 1), "", "").bottom + X_AXIS_HEIGHT
    rows = [
        _moved(_row(name, those), MARGIN, MARGIN + place * (HEAD + height + MARGIN))
        for place, (name, those) in enumerate(tests.items())
    ]
    wide = 2 * MARGIN + 2 * WIDTH + GAP
    high = MARGIN + len(tests) * (HEAD + height + MARGIN) + FOOT - MARGIN
    notes = (
        "Left: bins of all seeds; dashed: perfect calibration; band: two standard errors.",
        "Right: one line per seed; the dots are its own thresholds for 50 to 90 % precision.",
    )
    texts = [
        element("text", note, x=MARGIN, y=coordinate(high - FOOT + 24 + 18 * place))
        for place, note in enumerate(notes)
    ]
    background = element("rect", width="100%", height="100%", fill="#fff", class_="paper")
    return to_html(
        element(
            "svg",
            element("title", "Calibration of the confidence"),
            element("style", _style()),
            background,
            *rows,
            *texts,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {wide} {coordinate(high)}",
            width=wide,
            height=coordinate(high),
            role="img",
            class_="chart",
        )
    )


def _row(name: str, results: Sequence[ConfidenceResult]) -> list[Element]:
    """Draw one test: its name, its numbers, and both plots."""
    counts = sorted({len(each.queries) for each in results})
    queries = " to ".join(f"{count:,}" for count in sorted({counts[0], counts[-1]}))
    error = np.mean([each.reliability.error for each in results])
    by_chance = np.mean([error_by_chance(each.confidence) for each in results])
    summary = (
        f"{pluralize(len(results), 'seed')}, {queries} queries each; mean calibration error "
        f"{format_fraction(float(error), 3)}, by chance {format_fraction(float(by_chance), 3)}"
    )
    return [
        element("text", name, y=12, class_="title"),
        element("text", summary, y=33),
        _moved(reliability_parts(results), 0, HEAD),
        _moved(coverage_parts(results), WIDTH + GAP, HEAD),
    ]


def _moved(parts: Sequence[Element], x: float, y: float) -> Element:
    return element("g", *parts, transform=f"translate({coordinate(x)} {coordinate(y)})")


def _style() -> str:
    """Return the colors and chart styles of the HTML reports, for light and dark mode."""
    style = (files("taxoexpan.report.html") / "style.css").read_text(encoding="utf-8")
    colours = style[style.index(":root") : style.index("* {")]
    lines = style.splitlines()
    rules = [line for line in lines if line.startswith(".chart ") and line[7] != "{"]
    return "\n".join([colours, *rules]) + OWN_STYLE
