from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.curies import Prefixes
from taxoexpan.taxonomy.difference import Difference, MatchedBy, compare
from tests.support.strategies import Growth, growths, quickly

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


def test_the_order_and_repetition_of_synonyms_do_not_matter() -> None:
    one = Concept("a", "a", ("x", "y", "x"))
    other = Concept("a", "a", ("y", "x"))
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


OBO = "http://purl.obolibrary.org/obo/"
PANTRY = Taxonomy(
    [Concept("1", "food"), Concept("2", "tea"), Concept("3", "plants"), Concept("4", "tea")],
    [("1", "2"), ("3", "4")],
)


def with_ids(taxonomy: Taxonomy, ids: dict[str, str]) -> Taxonomy:
    return Taxonomy(
        [replace(concept, id=ids[concept.id]) for concept in taxonomy.concepts],
        [(ids[parent], ids[child]) for parent, child in taxonomy.relations],
    )


def test_curies_and_iris_of_two_files_are_the_same_concepts() -> None:
    old = Taxonomy([Concept("SO:1", "region"), Concept("ex:2", "exon")], [("SO:1", "ex:2")])
    new = with_ids(old, {"SO:1": f"{OBO}SO_1", "ex:2": "http://example.org/2"})
    declared = Prefixes({"ex": "http://example.org/"})
    assert not compare(old, new, Prefixes(), declared)
    assert not compare(new, old, declared, Prefixes())
    assert compare(old, new, Prefixes(), declared).counts == {MatchedBy.CURIE: 2}


def test_repeated_labels_are_told_apart_by_their_paths() -> None:
    new = with_ids(PANTRY, {"1": "a", "2": "b", "3": "c", "4": "d"})
    comparison = compare(PANTRY, new)
    assert comparison.counts == {MatchedBy.PATH: 4}
    assert [(old, id) for old, id, _ in comparison.by_name] == list(
        zip("1234", "abcd", strict=True)
    )
    assert not comparison  # all ids differ, so no id has changed


def test_a_unique_label_is_found_elsewhere_and_a_repeated_one_is_not() -> None:
    moved = Taxonomy(
        [Concept("a", "food"), Concept("b", "tea"), Concept("c", "plants")], [("c", "a")]
    )
    comparison = compare(PANTRY, moved)
    assert comparison.matches["a"] == ("1", MatchedBy.LABEL)
    assert [concept.id for concept in comparison.difference.added] == ["b"]
    assert [concept.id for concept in comparison.difference.removed] == ["2", "4"]
    assert [move.concept.id for move in comparison.difference.moved] == ["1"]


def test_another_id_is_a_change_if_the_others_are_the_same() -> None:
    new = with_ids(PANTRY, {"1": "1", "2": "2", "3": "3", "4": "44"})
    comparison = compare(PANTRY, new)
    assert comparison
    assert not comparison.difference
    assert comparison.changed_ids == [("4", "44")]
    assert [concept.id for concept in comparison.difference_by_id.added] == ["44"]


@given(growths(details=True))
@quickly
def test_the_same_ids_are_matched_first(growth: Growth) -> None:
    comparison = compare(growth.old, growth.old.expanded(growth.additions))
    assert comparison.counts == {MatchedBy.ID: len(growth.old)}
    assert set(comparison.difference.added) == set(growth.additions.concepts)


@given(growths(details=True))
@quickly
def test_other_ids_lose_no_concept_and_invent_none(growth: Growth) -> None:
    numbers = {id: f"n{number}" for number, id in enumerate(growth.old)}
    comparison = compare(growth.old, with_ids(growth.old, numbers))
    by_numbers = {number: id for id, number in numbers.items()}
    assert all(
        by_numbers[new] == old for new, (old, how) in comparison.matches.items() if how != "id"
    )
    assert len(comparison.matches) + len(comparison.difference.added) == len(growth.old)


def test_without_changed_ids_the_difference_by_id_is_the_difference() -> None:
    comparison = compare(PANTRY, Taxonomy(PANTRY.concepts[:3], [("1", "2")]))
    assert comparison.difference_by_id == comparison.difference
    assert [concept.id for concept in comparison.difference_by_id.removed] == ["4"]


def test_definitions_and_synonyms_of_common_concepts_can_be_left_out() -> None:
    tea = Concept("1", "tea", ("cha",), "a drink")
    milk = Concept("2", "milk", ("lait",), "a white drink")
    comparison = compare(Taxonomy([Concept("1", "tea")], []), Taxonomy([tea, milk], []))
    assert comparison.without([]) is comparison
    defined = comparison.without(["synonyms"])
    assert list(defined.new.concepts) == [Concept("1", "tea", (), "a drink"), milk]
    bare = comparison.without(["definition", "synonyms"])
    assert list(bare.new.concepts) == [Concept("1", "tea"), milk]
    assert list(compare(Taxonomy([tea]), Taxonomy([tea])).without(["definition"]).old.concepts) == [
        Concept("1", "tea", ("cha",))
    ]
