"""Two drawings a test, in one SVG: whether confidence can be believed, and what can be accepted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from answers import ASKED, Answers, by_test, chance, short

from taxoexpan.phrasing import pluralize
from taxoexpan.placement.confidence import BINS, Bin
from taxoexpan.report.html import charts
from taxoexpan.report.html.axes import WIDTH, X_AXIS_HEIGHT, Axes, Point, coordinate
from taxoexpan.report.html.element import Element, element, to_html

MARGIN, GAP, HEAD, FOOT = 24, 40, 52, 56
MOST_POINTS = 400
"""A longer curve is thinned to as many points."""
OWN_STYLE = """
svg { font-family: var(--sans); }
.paper { fill: var(--background); }
.chart .title { fill: var(--text); font-size: 17px; font-weight: 600; }
.chart .band { fill: var(--accent); opacity: 0.18; }
.chart .curve.thin { stroke-width: 1.1; }
"""


@dataclass(frozen=True)
class Pooled:
    """Queries of about one confidence by all seeds: the bin, and the standard error of its share.

    A query that several models were asked is one piece of evidence, however many answer it.
    """

    bin: Bin
    error: float


def pooled_bins(found: Sequence[Answers]) -> list[Pooled]:
    """Ten equal spans of confidence, without the empty ones."""
    sure = np.concatenate([each.confidence for each in found])
    right = np.concatenate([each.right for each in found]).astype(float)
    queries = np.concatenate([np.array(each.queries, dtype=np.str_) for each in found])
    numbers = np.minimum((sure * BINS).astype(int), BINS - 1)
    pooled = []
    for number in np.unique(numbers):
        those = numbers == number
        share, distinct = float(right[those].mean()), len(np.unique(queries[those]))
        # After Laplace, since three right ones of three are not yet surely all.
        likely = (share * distinct + 1) / (distinct + 2)
        error = math.sqrt(likely * (1 - likely) / (distinct + 2))
        mean = float(sure[those].mean())
        pooled.append(Pooled(Bin(int(those.sum()), mean, share), error))
    return pooled


def reliability_parts(found: Sequence[Answers]) -> list[Element]:
    """How often queries of a confidence are right, with two standard errors around it."""
    axes, pooled = (
        Axes(charts.FRACTIONS, charts.FRACTIONS, "confidence", "share right"),
        pooled_bins(found),
    )
    low = [(p.bin.confidence, max(0.0, p.bin.right - 2 * p.error)) for p in pooled]
    high = [(p.bin.confidence, min(1.0, p.bin.right + 2 * p.error)) for p in pooled]
    corners = " ".join(
        ",".join(map(coordinate, axes.position(point))) for point in [*low, *reversed(high)]
    )
    chart = charts.reliability_chart([p.bin for p in pooled], 0.0)
    return [element("polygon", points=corners, class_="band"), *chart.elements]


def coverage_parts(found: Sequence[Answers]) -> list[Element]:
    """How right what is accepted is, a line a seed, with its own thresholds as dots."""
    names = ("share of concepts accepted", "share of them right")
    axes = Axes(charts.FRACTIONS, charts.FRACTIONS, *names)
    parts, dots = axes.elements(), []
    for each in found:
        points = [(accepted, right) for _, accepted, right in each.reliability.coverage()]
        parts.append(axes.polyline(thinned(points), "curve thin"))
        for precision, threshold in zip(ASKED, each.thresholds, strict=True):
            share, right = each.accepted(threshold)
            if right is not None:
                told = f"seed {each.seed}: {precision:.0%} asked, {right:.0%} right of {share:.1%}"
                dots.append(axes.dot((share, right), 3.5, "marked", told))
    return [*parts, *dots]


def thinned(points: Sequence[Point]) -> list[Point]:
    """At most `MOST_POINTS` of the points, evenly spread, with the first and the last."""
    places = np.linspace(0, len(points) - 1, min(len(points), MOST_POINTS)).round().astype(int)
    return [points[place] for place in places]


def drawn(found: Sequence[Answers]) -> str:
    """The SVG of all tests, one below the other."""
    tests, height = by_test(found), Axes((0, 1), (0, 1), "", "").bottom + X_AXIS_HEIGHT
    rows = [
        _moved(_row(name, those), MARGIN, MARGIN + place * (HEAD + height + MARGIN))
        for place, (name, those) in enumerate(tests.items())
    ]
    wide = 2 * MARGIN + 2 * WIDTH + GAP
    high = MARGIN + len(tests) * (HEAD + height + MARGIN) + FOOT - MARGIN
    notes = (
        "Left: bins of all seeds, on the dashed line as sure as right; band: two standard errors.",
        "Right: a line a seed; dots: where its own thresholds for 50 to 90 % precision accept.",
    )
    texts = [
        element("text", note, x=MARGIN, y=coordinate(high - FOOT + 24 + 18 * place))
        for place, note in enumerate(notes)
    ]
    background = element("rect", width="100%", height="100%", fill="#fff", class_="paper")
    return to_html(
        element(
            "svg",
            element("title", "How far to trust it"),
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


def _row(name: str, found: Sequence[Answers]) -> list[Element]:
    """One test: its name, its figures, and both drawings."""
    counts = sorted({len(each.queries) for each in found})
    asked = " to ".join(f"{count:,}" for count in sorted({counts[0], counts[-1]}))
    error = np.mean([each.reliability.error for each in found])
    luck = np.mean([chance(each.confidence) for each in found])
    told = (
        f"{pluralize(len(found), 'seed')}, {asked} queries each; mean calibration error "
        f"{short(float(error), 3)}, by chance {short(float(luck), 3)}"
    )
    return [
        element("text", name, y=12, class_="title"),
        element("text", told, y=33),
        _moved(reliability_parts(found), 0, HEAD),
        _moved(coverage_parts(found), WIDTH + GAP, HEAD),
    ]


def _moved(parts: Sequence[Element], x: float, y: float) -> Element:
    return element("g", *parts, transform=f"translate({coordinate(x)} {coordinate(y)})")


def _style() -> str:
    """The colours and the charts' rules of the reports, by day and by night."""
    style = (files("taxoexpan.report.html") / "style.css").read_text(encoding="utf-8")
    colours = style[style.index(":root") : style.index("* {")]
    lines = style.splitlines()
    rules = [line for line in lines if line.startswith(".chart ") and line[7] != "{"]
    return "\n".join([colours, *rules]) + OWN_STYLE
