from __future__ import annotations

from hypothesis import given
from strategies import Growth, growths, quickly

from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.difference import Difference

FOOD, FRUIT, APPLE = Concept("food", "food"), Concept("fruit", "fruit"), Concept("apple", "apple")
OLD = Taxonomy([FOOD, FRUIT, APPLE], [("food", "fruit"), ("fruit", "apple")])


def test_equal_taxonomies_do_not_differ() -> None:
    assert not Difference(OLD, Taxonomy([APPLE, FRUIT, FOOD], list(OLD.relations)[::-1]))


def test_added_and_removed_concepts_are_found() -> None:
    kiwi = Concept("kiwi", "kiwi")
    new = Taxonomy([FOOD, FRUIT, kiwi], [("food", "fruit"), ("fruit", "kiwi")])
    difference = Difference(OLD, new)
    assert (difference.added, difference.removed) == ([kiwi], [APPLE])
    assert difference.relations_added == [("fruit", "kiwi")]
    assert difference.relations_removed == [("fruit", "apple")]
    assert difference.moved == []


def test_a_new_label_is_distinguished_from_other_changes() -> None:
    fruits = Concept("fruit", "fruits")
    pome = Concept("apple", "apple", ("pomme",))
    difference = Difference(OLD, Taxonomy([FOOD, fruits, pome], OLD.relations))
    assert [(c.old.label, c.new.label) for c in difference.relabeled] == [("fruit", "fruits")]
    assert [c.new for c in difference.redescribed] == [pome]


def test_the_order_of_synonyms_does_not_matter() -> None:
    one, other = Concept("a", "a", ("x", "y")), Concept("a", "a", ("y", "x"))
    assert not Difference(Taxonomy([one]), Taxonomy([other]))


def test_a_move_lists_removed_and_added_parents() -> None:
    new = Taxonomy([FOOD, FRUIT, APPLE], [("food", "fruit"), ("food", "apple")])
    move = Difference(OLD, new).moved[0]
    assert (move.concept, move.removed_parents, move.added_parents) == (
        APPLE,
        ("fruit",),
        ("food",),
    )


def test_a_concept_that_became_a_root_has_moved() -> None:
    new = Taxonomy([FOOD, FRUIT, APPLE], [("food", "fruit")])
    move = Difference(OLD, new).moved[0]
    assert (move.removed_parents, move.added_parents) == (("fruit",), ())


@given(growths(details=True))
@quickly
def test_exactly_the_additions_are_found(growth: Growth) -> None:
    difference = Difference(growth.old, growth.old.expanded(growth.additions))
    assert set(difference.added) == set(growth.additions.concepts)
    assert set(difference.relations_added) == set(growth.additions.relations)
    assert difference.removed == difference.changed == difference.moved == []
    assert bool(difference) == bool(growth.additions.concepts)
