from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.measurements.calibration import largest_branch, without_branch
from reproduction.measurements.calibration_results import (
    AbstentionResult,
    ConfidenceResult,
    acceptance_table,
    error_by_chance,
    roc_area,
)
from taxoexpan.placement.learned.confidence import Reliability
from tests.support.builders import random_taxonomy

SOME = st.lists(st.integers(0, 4), min_size=1, max_size=8)
CONFIDENCE = ConfidenceResult(
    "abcdef",
    (0.91, 0.91, 0.62, 0.3, 0.3, 0.1),
    (0.5, 0.6, 0.2, 0.1, 0.1, 0.1),
    (True, False, True, False, True, False),
    (None, 0.95, 0.62, 0.3, 0.1),
)
ABSTENTION = AbstentionResult("herbs", 40, (0.1, 0.2, 0.9), (False, False, True), (0.2, 0.8), 0.2)


@given(SOME, SOME)
def test_the_area_is_the_fraction_of_pairs_in_the_right_order(
    low: list[int], high: list[int]
) -> None:
    pairs = [(a < b) + (a == b) / 2 for a in low for b in high]
    found = roc_area(np.array(low, float), np.array(high, float))
    assert found == pytest.approx(np.mean(pairs))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_error_by_chance_is_the_mean_error_of_calibrated_answers(
    confidence: list[float], seed: int
) -> None:
    sure = np.array(confidence)
    draws = np.random.default_rng(seed).random((20, len(sure))) < sure
    errors = [Reliability.of(sure, right).error for right in draws]
    assert error_by_chance(confidence, 20, seed) == pytest.approx(np.mean(errors))


def test_a_threshold_accepts_all_at_or_above_it() -> None:
    shares = [CONFIDENCE.accepted(threshold) for threshold in CONFIDENCE.thresholds]
    assert shares == [(0, None), (0, None), (0.5, 2 / 3), (5 / 6, 3 / 5), (1, 1 / 2)]
    table = acceptance_table("tea", {0: CONFIDENCE})
    assert "| 80% | none | none |" in table
    assert "| 60% | 83.3%, .60 | 83.3%, .60 |" in table


def test_abstention_means_odds_below_the_threshold() -> None:
    assert ABSTENTION.abstention_rates == (1 / 3, 0)
    assert ABSTENTION.area() == pytest.approx((1 + 0.75 + 0) / 3)
    assert ABSTENTION.area(without_parent=True) == pytest.approx((1 + 0.75) / 2)


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_a_branch_is_removed_completely(seed: int) -> None:
    whole = random_taxonomy(seed, 60, most_parents=2)
    id = whole.ids[seed % 10]
    taken = without_branch(whole, id, 8, seed)
    test = taken.leaves
    gone = {id, *whole.descendants(id)}
    rest = test.taxonomy
    assert taken.size == len(gone)
    assert len({concept.id for concept in taken.concepts}) == min(8, len(gone))
    for concept, kept in zip(taken.concepts, taken.has_parent, strict=True):
        assert concept.id in gone
        assert kept == (not gone.issuperset(whole.parents(concept.id)))
    assert gone.isdisjoint(rest)
    assert gone.isdisjoint(concept.id for concept in test.concepts)
    assert {c.id for c in test.concepts}.isdisjoint(rest)
    for concept, parents in zip(test.concepts, test.parents, strict=True):
        assert {rest.ids[i] for i in parents} == set(whole.parents(concept.id)) - gone


def test_the_largest_branch_has_at_most_a_fraction_of_the_concepts() -> None:
    whole = random_taxonomy(3, 60)
    sizes = {id: len(whole.descendants(id)) for id in whole if id not in whole.roots}
    for fraction in (0.1, 0.5):
        size = sizes[largest_branch(whole, fraction)]
        assert size == max(each for each in sizes.values() if each <= fraction * 60)
