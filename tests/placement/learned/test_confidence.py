from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.placement.learned.confidence import (
    THRESHOLDS,
    BranchCalibration,
    Calibration,
    Curve,
    Reliability,
    safe_placements,
    sigmoid,
)
from taxoexpan.thresholds import MIN_FOR_THRESHOLD

confidences = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


@given(confidences)
def test_the_calibration_error_equals_the_plain_sum(pairs: list[tuple[float, bool]]) -> None:
    confidence, right = np.array([t[0] for t in pairs]), np.array([t[1] for t in pairs])
    error = 0.0
    for low in range(10):
        inside = [
            (c, r) for c, r in pairs if low / 10 <= c < (low + 1) / 10 or (low == 9 and c == 1)
        ]
        if inside:
            gap = sum(c for c, _ in inside) / len(inside) - sum(r for _, r in inside) / len(inside)
            error += len(inside) / len(pairs) * abs(gap)
    # A confidence may differ from the end of a bin by a rounding error.
    near = any(abs(c * 10 - round(c * 10)) < 1e-9 and c not in (0, 1) for c, _ in pairs)
    if not near:
        assert Reliability.of(confidence, right).error == pytest.approx(error)


@pytest.mark.parametrize("seed", range(40))
def test_the_threshold_is_the_lowest_confidence_that_reaches_the_precision(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, precision = int(rng.integers(1, 60)), rng.uniform(0.3, 0.95)
    confidence = rng.beta(2, 1, count).round(int(rng.integers(1, 5)))
    right = rng.random(count) < confidence
    enough = []
    for lowest in np.unique(confidence):
        above = confidence >= lowest
        smoothed = (right[above].sum() + 1) / (above.sum() + 2)
        error = (smoothed * (1 - smoothed) / (above.sum() + 2)) ** 0.5
        margin = (precision * (1 - precision) / count) ** 0.5
        is_likely = above.sum() >= MIN_FOR_THRESHOLD and right[above].mean() >= precision
        is_likely &= confidence[above].mean() >= precision + margin
        if smoothed - error >= precision or is_likely:
            enough.append(lowest)
    threshold = Reliability.of(confidence, right).threshold(precision)
    assert threshold == (min(enough) if enough else None)


def test_a_precision_that_is_just_reached_is_enough() -> None:
    def threshold(right: list[bool], precision: float) -> float | None:
        return Reliability.of(np.ones(len(right)), np.array(right)).threshold(precision)

    assert threshold([True] * MIN_FOR_THRESHOLD, 1.0) == 1.0
    assert threshold([True] * (MIN_FOR_THRESHOLD - 1), 1.0) is None
    # The smoothed fraction is 2 of 4, and its standard error is 1/4.
    assert threshold([True, False], 0.25) == 1.0
    assert threshold([True, False], 0.26) is None


@given(confidences)
def test_coverage_and_precision_are_those_of_the_accepted_queries(
    pairs: list[tuple[float, bool]],
) -> None:
    confidence, right = np.array([t[0] for t in pairs]), np.array([t[1] for t in pairs])
    reliability = Reliability.of(confidence, right)
    for point in reliability.coverage():
        assert reliability.accepted(point.confidence) == pytest.approx(point[1:])
        accepted = confidence >= point.confidence
        assert point.coverage == pytest.approx(accepted.mean())
        assert point.precision == pytest.approx(right[accepted].mean())


def test_certain_queries_are_in_the_last_bin() -> None:
    reliability = Reliability.of(np.array([1.0, 0.9, 0.89]), np.array([True, False, True]))
    assert [bin.count for bin in reliability.bins] == [1, 2]


@pytest.mark.parametrize("precision", [0.9, 0.8, 0.7])
def test_a_threshold_holds_for_other_queries_if_the_confidence_is_calibrated(
    precision: float,
) -> None:
    rng, accepted, right = np.random.default_rng(0), 0, 0
    for _ in range(50):
        known, other = rng.beta(1, 1.5, size=(2, 400))
        truth = rng.random((2, 400)) < np.stack([known, other])
        threshold = Reliability.of(known, truth[0]).threshold(precision)
        if threshold is not None:
            accepted += (other >= threshold).sum()
            right += truth[1][other >= threshold].sum()
    assert accepted > 300
    assert right / accepted == pytest.approx(precision, abs=0.05)
    assert right / accepted > precision - 0.01


def test_without_a_threshold_nothing_is_accepted() -> None:
    reliability = Reliability.of(np.array([0.9, 0.2]), np.array([True, False]))
    assert reliability.accepted(None) == (0.0, None)
    assert reliability.accepted(0.95) == (0.0, None)
    assert reliability.accepted(0.9) == (0.5, 1.0)


def test_three_correct_leaves_are_too_few_for_a_threshold() -> None:
    three, sixty = (Reliability.of(np.full(n, 0.99), np.ones(n, dtype=bool)) for n in (3, 60))
    assert three.threshold(0.9) is None
    assert sixty.threshold(0.9) == 0.99


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_confidence_is_a_probability_and_never_rises_with_the_rank(seed: int) -> None:
    rng = np.random.default_rng(seed)
    knots = np.sort(rng.normal(size=6))
    calibration = Calibration(
        1.0,
        Curve("isotonic", tuple(knots), tuple(np.sort(rng.random(6)))),
        Curve("platt", (), (float(rng.random()), float(rng.normal()))),
        Reliability((), ()),
    )
    confidence = calibration.confidence(
        -np.sort(-rng.dirichlet(np.ones(6), size=20), axis=1)[:, :5]
    )
    assert ((confidence >= 0) & (confidence <= 1)).all()
    assert (np.diff(confidence, axis=1) <= 0).all()


def test_a_platt_curve_is_a_logistic_function() -> None:
    odds = np.array([-3.0, 0.0, 2.0])
    np.testing.assert_allclose(Curve("platt", (), (0.5, 1.0))(odds), sigmoid(0.5 * odds + 1))


def test_concepts_are_placed_at_the_deepest_level_that_is_sure() -> None:
    """Forty paths of two levels: the upper one is always true, the lower one for half of them."""
    levels = np.tile([0.9, 0.6], (40, 1))
    levels[:10, 1] = np.nan
    right = np.tile([True, False], (40, 1))
    right[10:25, 1] = True
    placements = safe_placements(levels, right)
    found = {each.threshold: (each.coverage, each.truth) for each in placements}
    assert set(found) == {t for t in THRESHOLDS if t <= 0.9}
    assert found[0.9] == found[0.61] == (1.0, 41 / 42)
    assert found[0.6] == found[0.5] == (1.0, 26 / 42)
    calibration = BranchCalibration(Curve("platt", (), (1.0, 0.0)), Reliability((), ()), placements)
    assert calibration.threshold(0.9) == 0.61
    assert calibration.threshold(0.6) == 0.5
    assert calibration.threshold(0.99) == 0.99  # not reached: each placement must be that sure


def test_too_few_placements_prove_nothing() -> None:
    few = safe_placements(np.full((9, 1), 0.95), np.ones((9, 1), dtype=np.bool_))
    assert few == ()
