from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.errors import ConfigurationError, TaxonomyError
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.training.holdout import (
    Holdout,
    fraction_for,
    held_out_count,
    hold_out,
    hold_out_growth,
    hold_out_leaves,
)
from tests.support.builders import random_taxonomy


def test_held_out_leaves_are_removed_with_their_relations() -> None:
    taxonomy = random_taxonomy(2, count=200)
    holdout = hold_out_leaves(taxonomy, fraction=0.5, max_leaves=1000, seed=0)
    assert holdout.concepts
    for concept, parents in zip(holdout.concepts, holdout.parents, strict=True):
        assert concept.id not in holdout.taxonomy
        assert not taxonomy.children(concept.id)
        kept = {holdout.taxonomy.ids[p] for p in parents}
        assert kept == set(taxonomy.parents(concept.id)) & set(holdout.taxonomy)


@pytest.mark.parametrize(
    ("leaves", "count"),
    [(4, 0), (80, 16), (149, 29), (150, 30), (250, 30), (300, 30), (310, 31), (9999, 99)],
)
def test_small_taxonomies_hold_out_more_than_a_tenth_by_default(leaves: int, count: int) -> None:
    assert held_out_count(leaves, "auto", max_leaves=99) == count


@given(st.integers(0, 3000), st.integers(1, 100))
def test_the_fraction_for_a_number_of_leaves_is_the_least_that_is_enough(
    leaves: int, count: int
) -> None:
    fraction = fraction_for(leaves, count)
    if fraction is None:
        assert held_out_count(leaves, 0.5, leaves) < count
    else:
        assert fraction <= 0.5
        assert held_out_count(leaves, fraction, leaves) >= count
        assert held_out_count(leaves, fraction - 0.01, leaves) < count


@pytest.mark.parametrize("hold_out_some", [hold_out_leaves, hold_out_growth])
def test_an_explicit_fraction_is_used_in_small_taxonomies_too(
    hold_out_some: Callable[..., Holdout],
) -> None:
    taxonomy = random_taxonomy(2, count=200)
    leaves = sum(1 for id in taxonomy.leaves if taxonomy.parents(id))
    assert 50 < leaves < 150
    assert len(hold_out_some(taxonomy, 0.1, 1000, 0).concepts) == leaves // 10
    assert len(hold_out_some(taxonomy, "auto", 1000, 0).concepts) == leaves // 5
    assert len(hold_out_some(taxonomy, "auto", 3, 0).concepts) == 3


@pytest.mark.parametrize("hold_out_some", [hold_out_leaves, hold_out_growth])
def test_the_same_seed_holds_out_the_same_leaves(hold_out_some: Callable[..., Holdout]) -> None:
    taxonomy = random_taxonomy(2, count=200)
    one, same, other = (hold_out_some(taxonomy, 0.3, 20, seed) for seed in (1, 1, 2))
    assert one.concepts == same.concepts
    assert one.concepts != other.concepts
    assert len(one.concepts) <= 20


@given(st.integers(0, 10_000), st.floats(0.05, 0.6))
@settings(max_examples=40, deadline=None)
def test_growth_holds_out_half_of_the_leaves_in_whole_families(seed: int, fraction: float) -> None:
    taxonomy = random_taxonomy(seed, count=200)
    holdout = hold_out_growth(taxonomy, fraction, 1000, seed)
    single = hold_out_leaves(taxonomy, fraction, 1000, seed)
    assert len(holdout.concepts) == len(single.concepts)
    gone = {concept.id for concept in holdout.concepts}
    assert not any(taxonomy.children(id) for id in gone)
    families = [
        taxonomy.children(id)
        for id in taxonomy
        if taxonomy.children(id) and not any(map(taxonomy.children, taxonomy.children(id)))
    ]
    emptied = sum(len(family) for family in families if gone.issuperset(family))
    untouched = [len(family) for family in families if gone.isdisjoint(family)]
    if untouched:  # the smallest of them did not fit
        assert emptied > len(gone) // 2 - min(untouched)


def test_a_family_that_is_too_large_is_not_held_out() -> None:
    flat = Taxonomy(
        [Concept(str(i), str(i)) for i in range(101)], [("0", str(i)) for i in range(1, 101)]
    )
    holdout = hold_out_growth(flat, 0.3, 1000, seed=0)
    assert len(holdout.concepts) == 30
    assert len(holdout.taxonomy) == 71


def test_ids_are_a_list_and_count_once() -> None:
    chain = Taxonomy([Concept(i, i) for i in "abc"], [("a", "b"), ("b", "c")])
    with pytest.raises(ConfigurationError, match="list of ids"):
        hold_out(chain, "c")
    with pytest.raises(TaxonomyError, match="parent that remains"):
        hold_out(chain, ["a"])
    assert len(hold_out(chain, ["c", "c"]).concepts) == 1
    assert not hold_out(chain, []).concepts


def test_a_held_out_concept_without_a_remaining_parent_is_dropped() -> None:
    chain = Taxonomy([Concept(i, i) for i in "abc"], [("a", "b"), ("b", "c")])
    holdout = hold_out(chain, ["b", "c"])
    assert [concept.id for concept in holdout.concepts] == ["b"]
    assert np.array_equal(holdout.parents[0], [0])


@pytest.mark.parametrize(
    "wrong", [{"fraction": 5}, {"fraction": -1}, {"fraction": "lots"}, {"max_leaves": -3}]
)
def test_a_wrong_number_of_leaves_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        hold_out_leaves(random_taxonomy(2, count=20), **wrong)
    with pytest.raises(ConfigurationError, match="read_taxonomy"):
        hold_out_leaves("topics.csv")  # type: ignore[arg-type]
