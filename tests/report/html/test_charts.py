from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.report.html import (
    Bin,
    Chart,
    Page,
    Picture,
    Threshold,
    coverage,
    histogram,
    html,
    reliability,
    training,
)
from taxoexpan.report.html.axes import LEFT, RIGHT, WIDTH, Axes, tick_labels, ticks
from taxoexpan.report.html.charts import MOST_POINTS, calibration_error, chart_element
from taxoexpan.report.html.element import Element, as_html

TOP, BOTTOM = 28, 236


def of(chart: Chart, tag: str, kind: str) -> list[Element]:
    return [p for p in chart.parts if p.tag == tag and p.attributes.get("class") == kind]


def centres(chart: Chart, kind: str) -> list[tuple[float, float]]:
    dots = of(chart, "circle", kind)
    return [(float(dot.attributes["cx"]), float(dot.attributes["cy"])) for dot in dots]


def points(chart: Chart, place: int = 0) -> list[tuple[float, float]]:
    told = of(chart, "polyline", "curve")[place].attributes["points"].split()
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in told)]


def test_bins_are_dots_at_their_confidence_and_their_truth() -> None:
    chart = reliability([Bin(0, 0, 4), Bin(0.5, 0.25, 16), Bin(1, 1, 1)])
    middle, quarter = (LEFT + RIGHT) / 2, BOTTOM - 0.25 * (BOTTOM - TOP)
    assert centres(chart, "dot") == [(LEFT, BOTTOM), (middle, quarter), (RIGHT, TOP)]
    (diagonal,) = of(chart, "polyline", "diagonal")
    assert diagonal.attributes["points"] == f"{LEFT},{BOTTOM} {RIGHT},{TOP}"
    small, large, _ = (float(dot.attributes["r"]) for dot in of(chart, "circle", "dot"))
    assert large == 2 * small  # four times as many: four times the area


def test_the_caption_tells_the_expected_calibration_error() -> None:
    bins = [Bin(0.2, 0.3, 30), Bin(0.9, 0.7, 10), Bin(0.5, 0.1, 0)]
    assert calibration_error(bins) == pytest.approx((30 * 0.1 + 10 * 0.2) / 40)
    assert "Expected calibration error 0.125 over 40 concepts." in reliability(bins).caption
    assert len(centres(reliability(bins), "dot")) == 2  # an empty bin is not drawn


def test_the_threshold_lies_where_it_says() -> None:
    chart = coverage([(0.1, 1.0), (1.0, 0.6)], Threshold(0.62, 0.5, 0.75))
    assert centres(chart, "marked") == [((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2)]
    assert chart.caption == (
        "Accepting a score of 0.62 or more takes 50\u00a0% of the concepts, "
        "and 75\u00a0% of these are right."
    )


def test_coverage_is_drawn_from_nothing_on_where_it_falls_below_a_half() -> None:
    assert points(coverage([(0, 1), (1, 0.5)])) == [(LEFT, TOP), (RIGHT, BOTTOM)]
    assert points(coverage([(0, 1), (1, 0.0)])) == [(LEFT, TOP), (RIGHT, BOTTOM)]
    (_, low), (_, lower) = points(coverage([(0, 0.5), (1, 0.4)]))
    assert TOP < low < lower < BOTTOM


def test_a_long_curve_is_thinned_but_keeps_its_ends() -> None:
    drawn = points(coverage([(n / 9999, 1 - n / 9999) for n in range(10_000)]))
    assert len(drawn) == MOST_POINTS
    assert (drawn[0], drawn[-1]) == ((LEFT, TOP), (RIGHT, BOTTOM))
    assert all(y == pytest.approx(BOTTOM - (RIGHT - x) / (RIGHT - LEFT) * 208, abs=0.2)
               for x, y in drawn)  # fmt: skip


def test_training_shows_both_figures_of_every_epoch() -> None:
    chart = training([4, 2, 1], [0, 0.25, 0.5], best=3)
    middle = (LEFT + RIGHT) / 2
    assert [x for x, _ in points(chart)] == [LEFT, middle, RIGHT]
    assert [y for _, y in points(chart, 1)] == [304, 247, 190]
    assert len(centres(chart, "dot")) == 6
    assert [line.attributes["x1"] for line in of(chart, "line", "threshold")] == [str(RIGHT)] * 2
    assert chart.caption == "Epoch 3, the best by validation, was kept."
    assert "training loss from 4 to 1; validation MRR from 0 to 0.5" in chart.description


def test_epochs_without_a_figure_are_left_out() -> None:
    chart = training([4, math.nan, 1], [None, 0.5, None])
    assert [x for x, _ in points(chart)] == [LEFT, RIGHT]
    assert len(points(chart, 1)) == 1


def test_bars_are_as_high_as_their_counts() -> None:
    chart = histogram([0, 1, 2, 3], [0, 5, 10], "score")
    heights = [float(bar.attributes["height"]) for bar in of(chart, "rect", "bar")]
    assert heights == [0, 104, 208]
    lefts = [float(bar.attributes["x"]) for bar in of(chart, "rect", "bar")]
    assert lefts == [LEFT + 0.5, LEFT + 112.5, LEFT + 224.5]
    assert chart.caption == "15 concepts in all."
    with pytest.raises(ValueError, match="2 bars need one edge more, but there are 2"):
        histogram([0, 1], [1, 2], "score")


@pytest.mark.parametrize(
    "chart",
    [
        reliability([]),
        coverage([]),
        training([], []),
        training([2.0], [0.1], 1),
        training([0.0, 0.0], [1.0, 1.0]),
        histogram([0, 1], [0], "score"),
        histogram([2, 2.5], [123_456], "score"),
    ],
)
def test_charts_of_little_or_nothing_can_be_drawn(chart: Chart) -> None:
    text = html(Page("t", "", [Picture("p", chart)]))
    assert "nan" not in as_html(chart_element(chart)).lower()
    assert text.count("<svg") == 1


def test_a_chart_says_what_it_shows_to_those_who_do_not_see_it() -> None:
    drawn = as_html(chart_element(reliability([Bin(0.5, 0.25, 16)])))
    assert drawn.startswith(
        f'<svg viewBox="0 0 {WIDTH} 280" role="img" class="chart"><title>Reliability diagram'
        "</title><desc>confidence 0.50: 0.25 right of 16</desc>"
    )


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.booleans())
def test_ticks_are_round_few_and_around_all_values(low: float, span: float, whole: bool) -> None:
    made = ticks(low, low + span, whole=whole)
    step = made[1] - made[0]
    slack = 1e-6 * step + 1e-9 * abs(low)
    assert made[0] <= low + slack
    assert made[-1] >= low + span - slack
    assert 2 <= len(made) <= 8
    if whole:
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
def test_ticks_read_as_a_person_would_write_them(
    low: float, high: float, labels: list[str]
) -> None:
    assert tick_labels(ticks(low, high)) == labels


def test_axes_run_between_their_ends() -> None:
    axes = Axes([10, 20], [0, 1], "x", "y", ends=(5, 25))
    assert axes.at((5, 0)) == (LEFT, BOTTOM)
    assert axes.at((25, 1)) == (RIGHT, TOP)
