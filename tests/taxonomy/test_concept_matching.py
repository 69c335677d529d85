from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from strategies import Growth, growths, quickly

from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.concept_matching import MatchedBy, compare
from taxoexpan.taxonomy.curies import Prefixes

OBO = "http://purl.obolibrary.org/obo/"
FOOD = Taxonomy(
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
    new = with_ids(FOOD, {"1": "a", "2": "b", "3": "c", "4": "d"})
    comparison = compare(FOOD, new)
    assert comparison.counts == {MatchedBy.PATH: 4}
    assert [(old, id) for old, id, _ in comparison.by_name] == list(
        zip("1234", "abcd", strict=True)
    )
    assert not comparison  # all ids differ, so no id has changed


def test_a_unique_label_is_found_elsewhere_and_a_repeated_one_is_not() -> None:
    moved = Taxonomy(
        [Concept("a", "food"), Concept("b", "tea"), Concept("c", "plants")], [("c", "a")]
    )
    comparison = compare(FOOD, moved)
    assert comparison.matches["a"] == ("1", MatchedBy.LABEL)
    assert [concept.id for concept in comparison.difference.added] == ["b"]
    assert [concept.id for concept in comparison.difference.removed] == ["2", "4"]
    assert [move.concept.id for move in comparison.difference.moved] == ["1"]


def test_another_id_is_a_change_if_the_others_are_the_same() -> None:
    new = with_ids(FOOD, {"1": "1", "2": "2", "3": "3", "4": "44"})
    comparison = compare(FOOD, new)
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
    comparison = compare(FOOD, Taxonomy(FOOD.concepts[:3], [("1", "2")]))
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
