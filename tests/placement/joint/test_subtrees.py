from __future__ import annotations

import pytest
from builders import random_taxonomy
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.errors import TaxonomyError
from taxoexpan.placement.joint.subtrees import by_parent, recovery_of, removed_subtrees, together
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

FOOD = Taxonomy(
    [Concept(name, name) for name in ("food", "fruit", "bread", "rye bread", "apple", "gala")],
    [
        ("food", "fruit"),
        ("food", "bread"),
        ("bread", "rye bread"),
        ("fruit", "apple"),
        ("apple", "gala"),
    ],
)


def batch(*relations: tuple[str, str]) -> Additions:
    names = dict.fromkeys(child for _, child in relations)
    return Additions([Concept(name, name) for name in names], relations)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(0, 6))
@settings(max_examples=60, deadline=None)
def test_what_is_taken_out_is_closed_and_disjoint_and_makes_the_whole_again(
    seed: int, smallest: int, count: int
) -> None:
    taxonomy = random_taxonomy(seed, 40)
    removal = removed_subtrees(taxonomy, count, smallest, 9, seed)
    taken = [concept.id for one in removal.batches for concept in one.concepts]
    assert len(removal.batches) <= count
    assert len(set(taken)) == len(taken)
    whole = removal.taxonomy
    for one in removal.batches:
        ids = {concept.id for concept in one.concepts}
        assert smallest <= len(ids) <= 9
        assert all(set(taxonomy.descendants(id)) <= ids for id in ids)
        tops = [id for id in ids if set(taxonomy.descendants(id)) == ids - {id}]
        assert any(parent in removal.taxonomy for id in tops for parent in taxonomy.parents(id))
        whole = whole.expanded(one)
    assert whole == taxonomy


def test_all_subtrees_of_a_size_are_found_where_more_are_asked_for() -> None:
    removal = removed_subtrees(FOOD, 100, 2, 2, seed=0)
    tops = [{c.id for c in one.concepts} for one in removal.batches]
    assert sorted(map(sorted, tops)) == [["apple", "gala"], ["bread", "rye bread"]]
    assert set(removal.taxonomy) == {"food", "fruit"}


def test_the_order_of_a_batch_does_not_tell_who_is_above() -> None:
    orders = {
        tuple(c.id for c in removed_subtrees(FOOD, 1, 3, 3, seed).batches[0].concepts)
        for seed in range(40)
    }
    assert len(orders) == 6


def test_sizes_that_nothing_can_have_are_refused() -> None:
    with pytest.raises(TaxonomyError, match="no subtree has 3 to 2 concepts; give a smallest of"):
        removed_subtrees(FOOD, 1, 3, 2, seed=0)


def test_batches_together_hold_what_they_held_apart() -> None:
    batches = removed_subtrees(random_taxonomy(1, 60), 5, 2, 9, seed=0).batches
    joined = together(batches, 2, seed=0)
    assert len(joined) == 3
    concepts = {c.id for one in batches for c in one.concepts}
    assert {c.id for one in joined for c in one.concepts} == concepts
    assert sum(len(one.relations) for one in joined) == sum(len(b.relations) for b in batches)


def test_what_is_placed_as_it_was_is_wholly_recovered() -> None:
    removal = removed_subtrees(random_taxonomy(3, 60), 4, 2, 9, seed=0)
    found = recovery_of(removal.taxonomy, removal.batches, removal.batches)
    assert found.shares == (1.0, 1.0, 1.0)
    assert found.ancestor_f1 == 1.0


def test_relations_and_ancestors_are_counted_over_all_batches() -> None:
    left = FOOD.without(["apple", "gala", "bread", "rye bread"])
    truth = [
        batch(("fruit", "apple"), ("apple", "gala")),
        batch(("food", "bread"), ("bread", "rye bread")),
    ]
    placed = [
        batch(("food", "apple"), ("apple", "gala")),
        batch(("food", "bread"), ("food", "rye bread")),
    ]
    found = recovery_of(left, truth, placed)
    assert found.from_old == (1, 2)
    assert found.from_new == (1, 2)
    assert found.shares == (0.5, 0.5, 0.5)
    # True ancestors 2 + 3 and 1 + 2; told 1 + 2 and 1 + 1, all of them right.
    assert found.ancestors == (5, 8, 5)
    assert found.ancestor_f1 == 10 / 13


def test_a_batch_without_relations_of_a_kind_has_a_share_of_none() -> None:
    left = FOOD.without(["gala"])
    found = recovery_of(left, [batch(("apple", "gala"))], [batch(("fruit", "gala"))])
    assert found.shares == (0.0, 0.0, 0.0)


def test_leaves_by_parent_stand_beside_their_siblings() -> None:
    parents = {f"{kind} {i}": kind for i in range(4) for kind in ("tea", "milk")}
    leaves = [batch((kind, leaf)) for leaf, kind in parents.items()]
    ordered = [one.relations[0][0] for one in by_parent(leaves)]
    assert ordered == ["milk"] * 4 + ["tea"] * 4
