from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.placement.learned.confidence import Bin, CoveragePoint, SafePlacements
from taxoexpan.report.charts import (
    MAX_POINTS,
    WIDTH,
    Chart,
    Plot,
    coverage_chart,
    reliability_chart,
    tick_labels,
    ticks,
    training_chart,
)
from taxoexpan.report.page import ChartSection, Page, render

TOP, BOTTOM = 28, 236
LEFT, RIGHT = Plot.LEFT, Plot.RIGHT


def drawn(chart: Chart) -> ElementTree.Element:
    """Return the SVG element of a chart."""
    text = render(Page("t", "", [ChartSection("p", chart)]))
    (svg,) = re.findall("<svg.*?</svg>", text, re.S)
    return ElementTree.fromstring(svg)


def elements(chart: Chart, tag: str, css_class: str) -> list[ElementTree.Element]:
    return [each for each in drawn(chart).iter(tag) if each.get("class") == css_class]


def numbers(found: list[ElementTree.Element], name: str) -> list[float]:
    return [float(each.attrib[name]) for each in found]


def centers(chart: Chart, css_class: str) -> list[tuple[float, float]]:
    dots = elements(chart, "circle", css_class)
    return list(zip(numbers(dots, "cx"), numbers(dots, "cy"), strict=True))


def points(chart: Chart, index: int = 0) -> list[tuple[float, float]]:
    pairs = elements(chart, "polyline", "curve")[index].attrib["points"].split()
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in pairs)]


def coverage_of(points: list[tuple[float, float]], *threshold: CoveragePoint) -> Chart:
    return coverage_chart([CoveragePoint(0.5, *point) for point in points], *threshold)


def test_bins_are_dots_at_their_confidence_and_fraction_right() -> None:
    chart = reliability_chart([Bin(4, 0, 0), Bin(16, 0.5, 0.25), Bin(1, 1, 1)])
    middle, quarter = (LEFT + RIGHT) / 2, BOTTOM - 0.25 * (BOTTOM - TOP)
    assert centers(chart, "dot") == [(LEFT, BOTTOM), (middle, quarter), (RIGHT, TOP)]
    (diagonal,) = elements(chart, "polyline", "diagonal")
    assert diagonal.attrib["points"] == f"{LEFT},{BOTTOM} {RIGHT},{TOP}"
    small, large, _ = numbers(elements(chart, "circle", "dot"), "r")
    assert large == 2 * small  # four times the count gives four times the area


def test_the_caption_shows_the_expected_calibration_error() -> None:
    bins = [Bin(30, 0.2, 0.3), Bin(10, 0.9, 0.7)]
    chart = reliability_chart(bins)
    assert "Expected calibration error: 0.125 over 40 concepts." in chart.caption


def test_the_threshold_is_marked_at_its_coverage_and_precision() -> None:
    chart = coverage_of([(0.1, 1.0), (1.0, 0.6)], CoveragePoint(0.62, 0.5, 0.75))
    assert centers(chart, "marked") == [((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2)]
    for number in ("0.62", "50\u00a0%", "75\u00a0%"):
        assert number in chart.caption


def test_the_precision_axis_starts_at_zero_if_precision_falls_below_a_half() -> None:
    assert points(coverage_of([(0, 1), (1, 0.5)])) == [(LEFT, TOP), (RIGHT, BOTTOM)]
    assert points(coverage_of([(0, 1), (1, 0.0)])) == [(LEFT, TOP), (RIGHT, BOTTOM)]
    (_, low), (_, lower) = points(coverage_of([(0, 0.5), (1, 0.4)]))
    assert TOP < low < lower < BOTTOM


def test_safe_placements_are_a_second_curve() -> None:
    placed = [SafePlacements(0.9, 0.0, 1.0), SafePlacements(0.5, 1.0, 0.5)]
    chart = coverage_chart([CoveragePoint(0.5, 0.5, 0.75)], safe=placed)
    (dashed,) = elements(chart, "polyline", "curve safe")
    assert dashed.attrib["points"] == f"{LEFT},{TOP} {RIGHT},{BOTTOM}"
    assert "The dashed curve" in chart.caption
    assert "0.50 true at 1.00 placed" in chart.description


def test_a_long_curve_is_thinned_and_keeps_its_ends() -> None:
    shown = points(coverage_of([(n / 9999, 1 - n / 9999) for n in range(10_000)]))
    assert len(shown) == MAX_POINTS
    assert (shown[0], shown[-1]) == ((LEFT, TOP), (RIGHT, BOTTOM))
    assert all(y == pytest.approx(BOTTOM - (RIGHT - x) / (RIGHT - LEFT) * 208, abs=0.2)
               for x, y in shown)  # fmt: skip


def test_training_shows_loss_and_mrr_of_every_epoch() -> None:
    chart = training_chart([4, 2, 1], [0, 0.25, 0.5], best=3)
    middle = (LEFT + RIGHT) / 2
    assert [x for x, _ in points(chart)] == [LEFT, middle, RIGHT]
    assert [y for _, y in points(chart, 1)] == [304, 247, 190]
    assert len(centers(chart, "dot")) == 6
    assert numbers(elements(chart, "line", "threshold"), "x1") == [RIGHT, RIGHT]
    assert chart.caption == "Epoch 3 had the best validation MRR and was kept."
    assert "training loss from 4 to 1; validation MRR from 0 to 0.5" in chart.description


def test_epochs_without_a_value_are_left_out() -> None:
    chart = training_chart([4, math.nan, 1], [None, 0.5, None])
    assert [x for x, _ in points(chart)] == [LEFT, RIGHT]
    assert len(points(chart, 1)) == 1


@pytest.mark.parametrize(
    "chart",
    [
        reliability_chart([]),
        coverage_of([]),
        training_chart([], []),
        training_chart([2.0], [0.1], 1),
        training_chart([0.0, 0.0], [1.0, 1.0]),
    ],
)
def test_charts_of_few_or_no_values_can_be_drawn(chart: Chart) -> None:
    assert b"nan" not in ElementTree.tostring(drawn(chart)).lower()


def test_a_chart_has_a_description_for_screen_readers() -> None:
    svg = drawn(reliability_chart([Bin(16, 0.5, 0.25)]))
    assert (svg.get("viewBox"), svg.get("role")) == (f"0 0 {WIDTH} 280", "img")
    assert svg.findtext("title") == "Reliability diagram"
    assert svg.findtext("desc") == "confidence 0.50: 0.25 of 16 right"


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.booleans())
def test_ticks_are_few_and_enclose_all_values(low: float, span: float, integers: bool) -> None:
    made = ticks(low, low + span, integers=integers)
    step = made[1] - made[0]
    slack = 1e-6 * step + 1e-9 * abs(low)
    assert made[0] <= low + slack
    assert made[-1] >= low + span - slack
    assert 2 <= len(made) <= 8
    if integers:
        assert all(tick == round(tick) for tick in made)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0, 1, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0, 140, ["0", "50", "100", "150"]),
        (0.31, 0.42, ["0.30", "0.35", "0.40", "0.45"]),
        (0, 52_000, ["0", "20k", "40k", "60k"]),
        (3, 3, ["1", "2", "3", "4", "5"]),
    ],
)
def test_tick_labels_have_the_necessary_decimals(
    low: float, high: float, labels: list[str]
) -> None:
    assert tick_labels(ticks(low, high)) == labels


def test_axes_cover_their_range() -> None:
    plot = Plot([10, 20], [0, 1], "x", "y", x_range=(5, 25))
    assert (plot.across(5), plot.up(0)) == (LEFT, BOTTOM)
    assert (plot.across(25), plot.up(1)) == (RIGHT, TOP)
