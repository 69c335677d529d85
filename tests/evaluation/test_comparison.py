from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.evaluation import comparison
from taxoexpan.evaluation.comparison import (
    COLUMNS,
    Estimate,
    OverlapHits,
    compare,
    comparison_text,
    difference,
    interval,
    overlap_hits,
)
from taxoexpan.evaluation.growth import Growth
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.training.holdout import Holdout
from taxoexpan.training.metrics import Averaging, compute_metrics, per_query

OLD = Taxonomy(
    [
        Concept("food", "food"),
        Concept("milk", "milk"),
        Concept("cocoa", "hot chocolate", synonyms=("cocoa",)),
    ],
    [("food", "milk"), ("food", "cocoa")],
)
LABELS = ("oat milk", "milk rice", "Cocoa Powders", "chocolate", "chocolate bar", "milky way", "")
RANKS = [np.array([rank]) for rank in (1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0)]


def growth_of(*labels: str) -> Growth:
    concepts = tuple(Concept(f"q{i}", label) for i, label in enumerate(labels))
    parents = tuple(np.array([1]) for _ in labels)
    return Growth(Holdout(OLD, concepts, parents), deprecated=0, known=0, orphans=0)


def test_a_known_name_counts_at_the_end_and_elsewhere() -> None:
    # Part of a name does not count, nor part of a word.
    hits = overlap_hits(growth_of(*LABELS), {"one": RANKS, "two": RANKS[1:] + RANKS[:1]})
    assert hits.queries == 3
    assert hits.hit_at_1 == pytest.approx({"one": 2 / 3, "two": 2 / 3})
    assert str(hits) == (
        "3 new concepts with the name of an existing concept in their labels, "
        "Hit@1: one .667, two .667"
    )


def test_averaging_counts_several_parents() -> None:
    ranks = [np.array([1.0, 3.0])]
    growth = growth_of("oat milk")
    assert overlap_hits(growth, {"a": ranks}).hit_at_1 == {"a": 0.5}
    assert overlap_hits(growth, {"a": ranks}, "any").hit_at_1 == {"a": 1.0}
    assert str(overlap_hits(growth, {"a": ranks})).startswith("1 new concept with the name of an ")


def test_no_overlap_is_no_result() -> None:
    hits = overlap_hits(growth_of("plum"), {"a": RANKS[:1]})
    assert hits == OverlapHits(0, {})
    assert str(hits) == "0 new concepts with the name of an existing concept in their labels"


OF_METHODS = {
    "bad": [np.array([3.0]), np.array([40.0, 2.0]), np.array([1.0]), np.array([12.0])],
    "good": [np.array([1.0]), np.array([1.0, 2.0]), np.array([1.0]), np.array([4.0])],
}


@pytest.mark.parametrize("averaging", ["fraction", "any", "pooled"])
def test_figures_come_with_their_intervals(averaging: Averaging) -> None:
    bad, good = compare(OF_METHODS, averaging)
    assert (bad.method, good.method) == ("bad", "good")
    for one in (bad, good):
        expected = compute_metrics(OF_METHODS[one.method], averaging).as_dict()
        for figure in COLUMNS:
            estimate = one.figures[figure]
            assert estimate.mean == pytest.approx(expected[figure])
            bounds = (estimate.low, estimate.high)
            if averaging == "pooled":
                values, counts = per_query(OF_METHODS[one.method], figure), np.array([1, 2, 1, 1])
                assert bounds == interval(values, weights=counts)
            else:
                assert bounds == interval(per_query(OF_METHODS[one.method], figure, averaging))


def test_no_pooled_fraction_is_above_one() -> None:
    ranks = [np.ones(1 + place % 4) for place in range(40)]
    (only,) = compare({"perfect": ranks}, "pooled")
    assert only.figures["hit_at_1"] == Estimate(1, 1, 1)


def test_other_methods_are_compared_with_the_best_by_hit_at_1() -> None:
    bad, good = compare(OF_METHODS)
    assert good.behind is None
    hits = [per_query(OF_METHODS[name], "hit_at_1") for name in ("bad", "good")]
    assert bad.behind == difference(*hits)
    assert bad.behind.mean == pytest.approx((0.25) - (2.5 / 4))
    lines = comparison_text([bad, good]).splitlines()
    assert lines[0].split()[:4] == ["METHOD", "MR", "Hit@1", "Hit@3"]
    assert lines[1].startswith("bad     9.2 [")
    assert "-.375 [" in lines[1]
    assert lines[1].endswith(f"p = {bad.behind.p_value:.2g}")
    assert lines[2].endswith("best")


VALUES = st.lists(st.integers(-9, 9).map(lambda n: n / 3), min_size=1, max_size=12)


def slow_p_value(apart: list[float]) -> float:
    """The p-value over all ways to flip the signs."""
    signs = list(product((-1, 1), repeat=len(apart)))
    sums = [abs(sum(s * a for s, a in zip(flips, apart, strict=True))) for flips in signs]
    return sum(s >= abs(sum(apart)) - 1e-9 for s in sums) / len(signs)


@pytest.mark.slow
def test_an_interval_covers_the_true_mean_at_its_level() -> None:
    samples = np.random.default_rng(0).exponential(size=(400, 60))
    for level, least, most in ((0.95, 0.90, 0.98), (0.5, 0.42, 0.58)):
        bounds = [interval(s, level, draws=300, seed=i) for i, s in enumerate(samples)]
        assert least < np.mean([low <= 1 <= high for low, high in bounds]) < most


def test_weights_are_drawn_with_their_queries() -> None:
    values, weights = np.array([0.0, 1.0, 4.0]), np.array([1.0, 2.0, 1.0])
    pairs = product(zip(values, weights, strict=True), repeat=3)
    means = [sum(v * w for v, w in drawn) / sum(w for _, w in drawn) for drawn in pairs]
    bounds = interval(values, 0.8, draws=50_000, weights=weights)
    assert bounds == pytest.approx(np.quantile(means, [0.1, 0.9]), abs=0.05)
    assert interval(values, weights=np.full(3, 7)) == pytest.approx(interval(values))
    apart = difference(values, np.zeros(3), weights=weights)
    assert apart.mean == pytest.approx(6 / 4)


@given(VALUES)
@settings(deadline=None)
def test_an_interval_is_ordered_and_inside_the_values(values: list[float]) -> None:
    known = np.array(values)
    low, high = interval(known, draws=50)
    inner_low, inner_high = interval(known, level=0.5, draws=50)
    least, most = known.min() - 1e-9, known.max() + 1e-9
    assert least <= low <= inner_low <= inner_high <= high <= most


def test_equal_values_differ_by_nothing() -> None:
    values = np.array([0.1, 0.7, 0.3])
    found = difference(values, values.copy())
    assert (found.mean, found.low, found.high, found.p_value) == (0, 0, 0, 1)


@given(VALUES)
@settings(max_examples=25, deadline=None)
def test_a_p_value_is_close_to_that_of_all_sign_flips(apart: list[float]) -> None:
    draws = 4000
    found = difference(np.array(apart), np.zeros(len(apart)), draws=draws).p_value
    assert found == pytest.approx(slow_p_value(apart), abs=0.04)
    assert 1 / (1 + draws) <= found <= 1


@pytest.mark.slow
def test_p_values_are_spread_evenly_where_methods_do_not_differ() -> None:
    ones, others = np.random.default_rng(1).normal(size=(2, 400, 30))
    pairs = enumerate(zip(ones, others, strict=True))
    found = np.array([difference(a, b, draws=199, seed=i).p_value for i, (a, b) in pairs])
    for share in (0.05, 0.25, 0.5, 0.75):
        assert np.mean(found <= share) == pytest.approx(share, abs=0.07)


def test_a_clear_difference_is_found() -> None:
    generator = np.random.default_rng(2)
    other = generator.normal(size=200)
    one = other + 0.5 + 0.1 * generator.normal(size=200)
    found = difference(one, other)
    assert found.p_value == 1 / 2001
    assert 0.45 < found.low < found.mean < found.high < 0.55
    assert found.mean == pytest.approx((one - other).mean())


def test_queries_are_compared_in_pairs() -> None:
    generator = np.random.default_rng(3)
    other = 100 * generator.normal(size=200)
    assert difference(other + 1 + generator.normal(size=200), other).p_value < 0.01


@given(VALUES, st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_the_other_way_round_only_the_sign_changes(values: list[float], seed: int) -> None:
    one = np.array(values)
    other = np.roll(one, 1)
    there = difference(one, other, draws=99, seed=seed)
    back = difference(other, one, draws=99, seed=seed)
    assert back.p_value == there.p_value
    assert [back.mean, back.low, back.high] == pytest.approx([-there.mean, -there.high, -there.low])


def test_the_same_seed_draws_the_same_however_many_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = np.random.default_rng(4)
    one, other = generator.normal(size=(2, 37))
    whole = difference(one, other, draws=500, seed=7)
    assert difference(one, other, draws=500, seed=7) == whole
    assert difference(one, other, draws=500, seed=8) != whole
    monkeypatch.setattr(comparison, "BATCH_SIZE", 100)
    assert difference(one, other, draws=500, seed=7) == whole
