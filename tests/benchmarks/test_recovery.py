from __future__ import annotations

from builders import FOOD, batch, random_taxonomy
from recovery import recovery_of

from taxoexpan.placement.joint.prior_learning import remove_subtrees


def test_the_true_placement_recovers_everything() -> None:
    removal = remove_subtrees(random_taxonomy(3, 60), 4, 2, 9, seed=0)
    found = recovery_of(removal.taxonomy, removal.batches, removal.batches)
    assert found.fractions == (1.0, 1.0, 1.0)
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
    assert found.fractions == (0.5, 0.5, 0.5)
    # True ancestors 2 + 3 and 1 + 2; predicted 1 + 2 and 1 + 1, all of them right.
    assert found.ancestors == (5, 8, 5)
    assert found.ancestor_f1 == 10 / 13


def test_a_batch_without_relations_of_a_kind_recovers_none() -> None:
    left = FOOD.without(["gala"])
    found = recovery_of(left, [batch(("apple", "gala"))], [batch(("fruit", "gala"))])
    assert found.fractions == (0.0, 0.0, 0.0)
