from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.placement.regression import DECAY, isotonic, logistic, logit, sigmoid


@given(st.integers(0, 2**32 - 1))
def test_the_weights_are_where_the_slope_is_nothing(seed: int) -> None:
    dice = np.random.default_rng(seed)
    table = np.c_[dice.normal(size=(60, 2)), np.ones(60)]
    truth = (dice.random(60) < 1 / (1 + np.exp(-table @ dice.normal(size=3)))).astype(float)
    truth[:2] = 0, 1
    weights = logistic(table, truth)
    slope = table.T @ (truth - 1 / (1 + np.exp(-table @ weights))) / 60 - DECAY * weights
    assert np.abs(slope).max() < 1e-6


def test_what_one_value_parts_has_finite_weights() -> None:
    table = np.c_[np.arange(10.0), np.ones(10)]
    weights = logistic(table, (np.arange(10) > 4).astype(float))
    assert np.isfinite(weights).all()
    assert ((sigmoid(table @ weights) > 0.5) == (np.arange(10) > 4)).all()


@given(st.floats(0, 1))
def test_log_odds_there_and_back(probability: float) -> None:
    assert sigmoid(logit(np.array([probability])))[0] == pytest.approx(probability, abs=1e-8)


def slow_isotonic(truth: list[float]) -> list[float]:
    """The height at i is the least, over ends after i, of the greatest mean that ends there."""

    def mean(start: int, end: int) -> float:
        return sum(truth[start : end + 1]) / (end - start + 1)

    places = range(len(truth))
    return [min(max(mean(a, b) for a in range(i + 1)) for b in places[i:]) for i in places]


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_steps_are_those_of_the_formula(truth: list[bool]) -> None:
    values = np.arange(len(truth), dtype=float)
    xs, ys = isotonic(values, np.array(truth, dtype=float))
    assert (np.diff(ys) >= 0).all()
    assert (np.diff(xs) >= 0).all()
    np.testing.assert_allclose(np.interp(values, xs, ys), slow_isotonic([float(t) for t in truth]))


def test_odds_are_finite_in_single_precision_too() -> None:
    odds = logit(np.array([0.0, 0.5, 1.0], dtype=np.float32))
    assert np.isfinite(odds).all()
    assert odds[2] == pytest.approx(-odds[0], rel=1e-3)
