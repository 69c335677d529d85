from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from taxoexpan.placement.learned.confidence import DECAY, isotonic, logistic, logit, sigmoid


@given(st.integers(0, 2**32 - 1))
def test_the_gradient_is_zero_at_the_fitted_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = np.c_[rng.normal(size=(60, 2)), np.ones(60)]
    truth = (rng.random(60) < 1 / (1 + np.exp(-table @ rng.normal(size=3)))).astype(float)
    truth[:2] = 0, 1
    weights = logistic(table, truth)
    gradient = table.T @ (truth - 1 / (1 + np.exp(-table @ weights))) / 60 - DECAY * weights
    assert np.abs(gradient).max() < 1e-6


def test_separable_data_have_finite_weights() -> None:
    table = np.c_[np.arange(10.0), np.ones(10)]
    weights = logistic(table, (np.arange(10) > 4).astype(float))
    assert np.isfinite(weights).all()
    assert ((sigmoid(table @ weights) > 0.5) == (np.arange(10) > 4)).all()


@given(st.floats(0, 1))
def test_log_odds_and_back(probability: float) -> None:
    assert sigmoid(logit(np.array([probability])))[0] == pytest.approx(probability, abs=1e-8)


def slow_isotonic(truth: list[float]) -> list[float]:
    """The height at i: the minimum, over ends after i, of the maximum mean that ends there."""

    def mean(start: int, end: int) -> float:
        return sum(truth[start : end + 1]) / (end - start + 1)

    indices = range(len(truth))
    return [min(max(mean(a, b) for a in range(i + 1)) for b in indices[i:]) for i in indices]


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_isotonic_steps_agree_with_the_min_max_formula(truth: list[bool]) -> None:
    values = np.arange(len(truth), dtype=float)
    xs, ys = isotonic(values, np.array(truth, dtype=float))
    assert (np.diff(ys) >= 0).all()
    assert (np.diff(xs) >= 0).all()
    np.testing.assert_allclose(np.interp(values, xs, ys), slow_isotonic([float(t) for t in truth]))


def test_log_odds_are_finite_in_single_precision() -> None:
    odds = logit(np.array([0.0, 0.5, 1.0], dtype=np.float32))
    assert np.isfinite(odds).all()
    assert odds[2] == pytest.approx(-odds[0], rel=1e-3)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_both_regressions_agree_with_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = np.c_[rng.normal(size=(200, 3)), np.ones(200)]
    truth = (rng.random(200) < sigmoid(table @ rng.normal(size=4))).astype(float)
    truth[:2] = 0, 1
    reference = LogisticRegression(
        C=1 / (DECAY * 200), fit_intercept=False, solver="newton-cholesky", tol=1e-9
    ).fit(table, truth)
    np.testing.assert_allclose(logistic(table, truth), reference.coef_[0], rtol=1e-4, atol=1e-6)
    steps = IsotonicRegression(out_of_bounds="clip").fit(table[:, 0], truth)
    points = np.linspace(-4, 4, 99)
    found = np.interp(points, *isotonic(table[:, 0], truth))
    np.testing.assert_allclose(found, steps.predict(points), atol=1e-12)
