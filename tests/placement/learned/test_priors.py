from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from taxoexpan.placement.learned.calibration import calibrate, prior_calibration, with_branches
from taxoexpan.placement.learned.confidence import sigmoid
from taxoexpan.placement.learned.priors import CurvePrior, prior_from, read_prior
from tests.support.calibration_data import drawn_scores
from tests.support.fused_cases import fused_case, random_fusion
from tests.support.strategies import quickly

PRIOR = read_prior(has_network=True, has_tower=True).calibration
CURVE = CurvePrior((0.8, -0.3, 0.4), ((0.05, 0.0, 0.0), (0.0, 0.3, -0.2), (0.0, -0.2, 0.4)))
LOG_ODDS = np.linspace(-4, 4, 9)


def drawn_outcomes(
    seed: int, count: int, slope: float, shift: float
) -> tuple[NDArray[np.floating], NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(size=count) * 2
    return log_odds, rng.random(count) < sigmoid(slope * log_odds + shift)


def test_without_held_out_concepts_the_curve_is_the_prior() -> None:
    curve = CURVE.fit(np.zeros(0), np.zeros(0, dtype=bool), 0)
    np.testing.assert_allclose(curve(LOG_ODDS), sigmoid(0.8 * LOG_ODDS - 0.3))


def test_many_held_out_concepts_replace_the_prior() -> None:
    log_odds, right = drawn_outcomes(0, 20_000, 1.3, 0.8)
    curve = CURVE.fit(log_odds, right, 20_000)
    np.testing.assert_allclose(curve(LOG_ODDS), sigmoid(1.3 * LOG_ODDS + 0.8), atol=0.03)


def test_few_held_out_concepts_are_known_to_be_easier_than_new_ones() -> None:
    """Held-out concepts that are as easy as expected change nothing."""
    log_odds, right = drawn_outcomes(0, 20_000, 0.8, -0.3 + 0.4)
    few = CURVE.fit(log_odds, right, 10)
    np.testing.assert_allclose(few(LOG_ODDS), sigmoid(0.8 * LOG_ODDS - 0.3), atol=0.03)


@quickly
@given(st.integers(0, 10**6), st.integers(0, 60), st.floats(-30, 30), st.booleans())
def test_a_curve_is_finite_whatever_was_held_out(
    seed: int, count: int, shift: float, always: bool
) -> None:
    log_odds, right = drawn_outcomes(seed, count, 3.0, shift)
    right |= always
    slope, fitted = CURVE.fit(log_odds * 10, right, count).ys
    assert np.isfinite([slope, fitted]).all()


@pytest.mark.parametrize("count", [1, 4, 29])
def test_a_few_held_out_concepts_give_a_confidence_near_the_prior(count: int) -> None:
    calibration = calibrate(drawn_scores(1, count, 1.0), prior=PRIOR)
    assert calibration is not None
    assert len(calibration.reliability.right) == count
    probabilities = np.array([[0.9, 0.05], [0.4, 0.3]])
    known = prior_calibration(PRIOR).confidence(probabilities)
    np.testing.assert_allclose(calibration.confidence(probabilities), known, atol=0.25)
    assert {calibration.first.kind, calibration.later.kind} == {"platt"}


def test_with_many_held_out_concepts_the_confidence_is_as_without_a_prior() -> None:
    held_out = drawn_scores(1, 2000, 2.0)
    updated, own = (calibrate(held_out, prior=prior) for prior in (PRIOR, None))
    assert updated is not None
    assert own is not None
    assert updated.temperature == own.temperature
    probabilities = np.array([[0.9, 0.05], [0.4, 0.3], [0.1, 0.1]])
    expected = own.confidence(probabilities)
    np.testing.assert_allclose(updated.confidence(probabilities), expected, atol=0.03)
    assert updated.reliability.error == pytest.approx(own.reliability.error, abs=0.01)


def test_branches_have_a_confidence_if_a_single_concept_is_held_out() -> None:
    ranker, queries = fused_case(4, queries=1)
    calibration = replace(prior_calibration(PRIOR), branches=None)
    folds = np.zeros(1, dtype=np.int64)
    found = with_branches(calibration, ranker, queries, [random_fusion(0)], folds, PRIOR.branches)
    assert found is not None
    assert found.branches is not None
    assert found.branches.curve.kind == "platt"
    assert found.branches.threshold(0.9) == 0.9


def test_features_that_no_prior_was_learned_for_have_no_weight_and_an_unknown_deviation() -> None:
    curve = {"mean": [1, 0, 0], "covariance": np.eye(3).tolist()}
    curves = {"first": curve, "later": curve, "branches": curve}
    stored = {"fusion": {"name": [1.5, 0.5]}, "log_temperature": [0.0, 0.5], **curves}
    prior = prior_from(stored).fusion
    weights = prior.mean.as_mapping()
    assert weights["name"] == 1.5
    assert sum(map(bool, weights.values())) == 1
    assert np.isfinite(prior.deviations).sum() == 1
