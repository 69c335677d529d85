"""Tests of the planted errors of `benchmarks/error_detection.py`, and of their scores."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from builders import random_taxonomy
from error_detection import average_precision, better_parents, plant, precision_at
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from taxoexpan import Concept, Taxonomy
from taxoexpan.curation.cleaning import SuspiciousRelation

RELATIONS = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=6)


@given(st.integers(0, 10_000), st.sampled_from(["random", "cousin"]))
@settings(max_examples=80, deadline=None)
def test_planted_errors_are_wrong_and_nothing_else_changes(seed: int, kind: str) -> None:
    taxonomy = random_taxonomy(seed, 60, most_parents=2)
    planted = plant(taxonomy, 0.2, kind, seed)
    moved = {child for _, child in planted.wrong}
    assert len(moved) == len(planted.wrong) <= round(0.2 * len(taxonomy.leaves))
    for parent, child in planted.wrong:
        assert not taxonomy.children(child)
        assert planted.taxonomy.parents(child) == (parent,)
        assert parent not in taxonomy.ancestors(child)
        assert taxonomy.children(parent)
        if kind == "cousin":
            above = {g for p in taxonomy.parents(child) for g in taxonomy.parents(p)}
            assert above.intersection(taxonomy.parents(parent))
    old, new = set(taxonomy.relations), set(planted.taxonomy.relations)
    assert new - old == planted.wrong
    assert {child for _, child in old - new} == moved
    assert set(planted.taxonomy.concepts) == set(taxonomy.concepts)


def test_the_requested_fraction_of_leaves_is_moved() -> None:
    taxonomy = random_taxonomy(3, 300)
    leaves = [id for id in taxonomy.leaves if taxonomy.parents(id)]
    assert len(plant(taxonomy, 0.1, "random", 0).wrong) == round(0.1 * len(leaves))
    assert plant(taxonomy, 0.1, "random", 0).wrong == plant(taxonomy, 0.1, "random", 0).wrong
    assert plant(taxonomy, 0.1, "random", 0).wrong != plant(taxonomy, 0.1, "random", 1).wrong


@given(RELATIONS, st.integers(1, 8))
@settings(max_examples=200, deadline=None)
def test_precision_is_the_mean_over_all_orders_of_ties(
    relations: list[tuple[int, bool]], first: int
) -> None:
    measure, wrong = (np.array(column) for column in zip(*relations, strict=True))
    orders = [
        order
        for order in permutations(range(len(relations)))
        if all(measure[a] >= measure[b] for a, b in pairwise(order))
    ]
    expected = np.mean([wrong[list(order[:first])].mean() for order in orders])
    assert precision_at(first, measure.astype(float), wrong) == pytest.approx(expected)


@given(RELATIONS)
@settings(max_examples=200, deadline=None)
def test_average_precision_is_the_mean_precision_down_to_each_error(
    relations: list[tuple[int, bool]],
) -> None:
    errors = [doubt for doubt, is_error in relations if is_error]
    assume(errors)
    precisions = []
    for error in errors:
        at_least = [is_error for doubt, is_error in relations if doubt >= error]
        precisions.append(sum(at_least) / len(at_least))
    measure, wrong = (np.array(column) for column in zip(*relations, strict=True))
    expected = sum(precisions) / len(precisions)
    assert average_precision(measure.astype(float), wrong) == pytest.approx(expected)


def test_a_better_parent_is_right_if_it_was_a_parent_before() -> None:
    a, b, c, d = (Concept(id, id) for id in "abcd")
    whole = Taxonomy([a, b, c, d], [("a", "c"), ("b", "d")])
    doubts = [
        SuspiciousRelation(c, b, ("b",), 2, 0.1, a, ("a",), 0.9, 2.2, confidence=0.8),
        SuspiciousRelation(d, b, ("b",), 1, 0.9, a, ("a",), 0.1, -2.2, confidence=0.4),
    ]
    assert better_parents(whole, doubts, np.array([True, True])) == pytest.approx((0.5, 0.6))
    assert better_parents(whole, doubts, np.array([True, False])) == pytest.approx((1.0, 0.8))
