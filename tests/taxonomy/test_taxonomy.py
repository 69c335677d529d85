from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from taxoexpan import read_taxonomy
from taxoexpan.errors import ConfigurationError, CycleError, TaxonomyError
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from tests.support.strategies import Growth, growths, quickly, taxonomies


def named(*ids: str) -> list[Concept]:
    return [Concept(id, id) for id in ids]


FRUIT = Taxonomy(
    [
        Concept("f", "fruit", ("fruits",), "what grows on trees"),
        Concept("r", "red things"),
        Concept("a", "apple"),
        Concept("a2", "apple"),
        Concept("s", "stone"),
    ],
    [("f", "a"), ("r", "a"), ("f", "a2")],
)


def test_a_concept_may_have_several_parents_in_file_order() -> None:
    assert FRUIT.parents("a") == ("f", "r")
    assert Taxonomy(named("x", "y", "z"), [("y", "z"), ("x", "z")]).parents("z") == ("y", "x")


def test_a_taxonomy_may_have_several_roots_and_isolated_concepts() -> None:
    assert FRUIT.roots == ("f", "r", "s")
    assert FRUIT.leaves == ("a", "a2", "s")
    assert FRUIT.parents("s") == FRUIT.children("s") == ()


def test_synonyms_and_definitions_stay_with_their_concept() -> None:
    assert FRUIT.concept("f") == Concept("f", "fruit", ("fruits",), "what grows on trees")
    assert FRUIT.concept("a") == Concept("a", "apple")


def test_arrays_and_mappings_are_read_only() -> None:
    arrays = (FRUIT.levels, FRUIT.parents_of.targets, FRUIT.children_of.offsets)
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    with pytest.raises(TypeError):
        FRUIT.synonyms[0] = ("x",)  # type: ignore[index]  # must fail
    with pytest.raises(TypeError):
        FRUIT.definitions[0] = "x"  # type: ignore[index]  # must fail


def test_a_cycle_is_reported_from_parent_to_child() -> None:
    relations = [("top", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "below")]
    with pytest.raises(CycleError) as caught:
        Taxonomy(named("top", "a", "b", "c", "below"), relations)
    cycle = caught.value.cycles[0]
    assert set(zip(cycle, [*cycle[1:], cycle[0]], strict=True)) == set(relations[1:4])
    assert " → ".join([*cycle, cycle[0]]) in str(caught.value)
    assert "remove one of these relations" in str(caught.value)


def test_a_concept_that_is_its_own_parent_is_a_cycle() -> None:
    with pytest.raises(CycleError, match="a cycle: a → a; "):
        Taxonomy(named("a"), [("a", "a")])


def test_a_long_cycle_is_shortened_and_its_hidden_concepts_counted() -> None:
    ids = [f"c{n}" for n in range(30)]
    with pytest.raises(CycleError, match=r"a cycle: (\S+) → .* → … \(20 more\) → \1;"):
        Taxonomy(named(*ids), zip(ids, [*ids[1:], ids[0]], strict=True))


def test_ids_are_unique() -> None:
    with pytest.raises(TaxonomyError, match="two concepts have the id 'b'"):
        Taxonomy(named("a", "b", "c", "b"))


def test_an_unknown_id_is_named_in_the_error() -> None:
    with pytest.raises(TaxonomyError, match="no concept has the id 'ghost'"):
        FRUIT.parents("ghost")


def test_repeated_relations_are_stored_once() -> None:
    twice = Taxonomy(named("a", "b"), [("a", "b"), ("a", "b")])
    assert len(twice.relations) == 1
    assert twice == Taxonomy(named("a", "b"), [("a", "b")])


def climb(taxonomy: Taxonomy, id: str) -> dict[str, int]:
    """Everything above a concept with its distance, by the definition of an ancestor."""
    distances: dict[str, int] = {}
    here, distance = {id}, 0
    while here:
        distance += 1
        here = {p for p, c in taxonomy.relations if c in here and p not in distances}
        distances.update(dict.fromkeys(here, distance))
    return distances


@given(taxonomies())
@quickly
def test_ancestors_are_listed_nearest_first(taxonomy: Taxonomy) -> None:
    for id in taxonomy:
        expected = climb(taxonomy, id)
        found = taxonomy.ancestors(id)
        assert len(found) == len(expected)
        assert set(found) == set(expected)
        assert [expected[a] for a in found] == sorted(expected.values())


@given(taxonomies())
@quickly
def test_descendants_are_the_inverse_of_ancestors(taxonomy: Taxonomy) -> None:
    for id in taxonomy:
        expected = {other for other in taxonomy if id in climb(taxonomy, other)}
        assert set(taxonomy.descendants(id)) == expected
        assert len(taxonomy.descendants(id)) == len(expected)


@given(taxonomies())
@quickly
def test_roots_leaves_and_levels_agree_with_the_relations(taxonomy: Taxonomy) -> None:
    relations = set(taxonomy.relations)
    assert set(taxonomy.roots) == set(taxonomy) - {child for _, child in relations}
    assert set(taxonomy.leaves) == set(taxonomy) - {parent for parent, _ in relations}
    for id in taxonomy:
        above = [taxonomy.levels[taxonomy.index(parent)] for parent in taxonomy.parents(id)]
        assert taxonomy.levels[taxonomy.index(id)] == max(above, default=-1) + 1


@given(taxonomies())
@quickly
def test_the_topological_order_has_parents_before_children(taxonomy: Taxonomy) -> None:
    place = {taxonomy.ids[index]: place for place, index in enumerate(taxonomy.topological_order)}
    assert len(place) == len(taxonomy)
    assert all(place[parent] < place[child] for parent, child in taxonomy.relations)


def test_depth_counts_the_concepts_of_the_longest_chain() -> None:
    chain = Taxonomy(named("a", "b", "c"), [("a", "b"), ("b", "c"), ("a", "c")])
    assert chain.depth == 3
    assert Taxonomy(named("a")).depth == 1
    assert Taxonomy([]).depth == 0


def test_a_path_follows_first_parents_and_shows_labels() -> None:
    assert FRUIT.path("a") == ("fruit", "apple")
    assert FRUIT.path("s") == ("stone",)


@given(growths(details=True))
@quickly
def test_expanded_keeps_the_old_and_adds_the_new(growth: Growth) -> None:
    old, additions = growth.old, growth.additions
    new = old.expanded(additions)
    assert new.ids[: len(old)] == old.ids
    assert [new.concept(id) for id in old] == list(old.concepts)
    assert set(new.concepts) == {*old.concepts, *additions.concepts}
    assert set(new.relations) == {*old.relations, *additions.relations}


@given(growths(details=True))
@quickly
def test_without_undoes_expanded(growth: Growth) -> None:
    new = growth.old.expanded(growth.additions)
    assert new.without(concept.id for concept in growth.additions.concepts) == growth.old


def test_expanding_with_a_taken_id_is_refused() -> None:
    with pytest.raises(TaxonomyError, match="two concepts have the id 'a'"):
        FRUIT.expanded(Additions(named("a"), []))


def test_expanding_into_a_cycle_is_refused() -> None:
    with pytest.raises(CycleError):
        FRUIT.expanded(Additions(named("k"), [("a", "k"), ("k", "f")]))


def test_equality_ignores_the_order() -> None:
    one = Taxonomy(named("a", "b", "c"), [("a", "b"), ("a", "c")])
    assert one == Taxonomy(named("c", "b", "a"), [("a", "c"), ("a", "b")])


@pytest.mark.parametrize(
    "other",
    [
        Taxonomy(named("a", "b")),
        Taxonomy(named("a", "b"), [("b", "a")]),
        Taxonomy(named("a", "b", "c"), [("a", "b")]),
        Taxonomy([Concept("a", "a"), Concept("b", "B")], [("a", "b")]),
        Taxonomy([Concept("a", "a"), Concept("b", "b", ("x",))], [("a", "b")]),
        Taxonomy([Concept("a", "a"), Concept("b", "b", (), "x")], [("a", "b")]),
        "a taxonomy",
    ],
)
def test_any_difference_makes_taxonomies_unequal(other: object) -> None:
    assert Taxonomy(named("a", "b"), [("a", "b")]) != other


def test_columns_and_concepts_build_equal_taxonomies() -> None:
    built = Taxonomy.from_columns(
        ["f", "a"], ["fruit", "apple"], np.array([0]), np.array([1]), {1: ("pomme",)}, {0: "food"}
    )
    fruit, apple = Concept("f", "fruit", (), "food"), Concept("a", "apple", ("pomme",))
    assert built == Taxonomy([fruit, apple], [("f", "a")])


def test_a_taxonomy_contains_its_ids() -> None:
    assert "a" in FRUIT
    assert "apple" not in FRUIT
    assert list(FRUIT) == ["f", "r", "a", "a2", "s"]
    assert repr(FRUIT) == "Taxonomy(5 concepts, 3 relations)"


def test_a_chain_of_twenty_thousand_concepts_needs_no_recursion() -> None:
    size = 20_000
    ids = [str(n) for n in range(size)]
    steps = np.arange(size - 1)
    chain = Taxonomy.from_columns(ids, ids, steps, steps + 1)
    assert chain.depth == size
    assert len(chain.ancestors(ids[-1])) == size - 1
    assert len(chain.descendants(ids[0])) == size - 1
    assert chain.path(ids[-1]) == tuple(ids)


def test_a_taxonomy_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "food.csv"
    path.write_text("child,parent\napple,fruit\n")
    assert read_taxonomy(path) == Taxonomy(named("fruit", "apple"), [("fruit", "apple")])
    assert read_taxonomy(str(path), "edges").children("fruit") == ("apple",)


def test_concepts_and_relations_are_sequences() -> None:
    concepts = [Concept(id, id.upper()) for id in "abcd"]
    relations = [("a", "b"), ("a", "c"), ("c", "d"), ("b", "d")]
    taxonomy = Taxonomy(concepts, relations)
    assert len(taxonomy.concepts) == 4
    assert list(taxonomy.concepts) == concepts
    assert (taxonomy.concepts[0], taxonomy.concepts[-1]) == (concepts[0], concepts[-1])
    assert taxonomy.concepts[1:3] == tuple(concepts[1:3])
    assert len(taxonomy.relations) == 4
    assert [taxonomy.relations[k] for k in range(4)] == list(taxonomy.relations)
    assert taxonomy.relations[::-1] == tuple(reversed(list(taxonomy.relations)))
    assert ("c", "d") in taxonomy.relations
    with pytest.raises(IndexError):
        taxonomy.relations[4]


@given(taxonomies())
@quickly
def test_every_relation_is_found_by_its_index(taxonomy: Taxonomy) -> None:
    assert [taxonomy.relations[k] for k in range(len(taxonomy.relations))] == list(
        taxonomy.relations
    )


def test_other_definitions_change_nothing_else() -> None:
    concepts = [Concept("a", "a", definition="old"), Concept("b", "b"), Concept("c", "c")]
    before = Taxonomy(concepts, [("a", "c"), ("a", "b")])
    assert before.active is before
    after = before.with_definitions({1: "new"})
    assert [concept.definition for concept in after.active.concepts] == ["old", "new", ""]
    assert after.children("a") == before.children("a") == ("c", "b")
    assert before.concept("b").definition == ""
    assert before.with_definitions({}) is before


def test_relations_of_deprecated_concepts_can_be_left_out() -> None:
    concepts = [Concept(id, id, deprecated=id in "bd") for id in "abcde"]
    taxonomy = Taxonomy(concepts, [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("c", "e")])
    assert (taxonomy.roots, taxonomy.leaves) == (("a",), ("d", "e"))
    rest = taxonomy.without_deprecated_relations
    assert rest.ids == taxonomy.ids
    assert set(rest.relations) == {("a", "c"), ("c", "e")}
    assert (rest.roots, rest.leaves) == (("a", "b", "d"), ("b", "d", "e"))
    assert rest.deprecated == taxonomy.deprecated
    assert rest.active == taxonomy.active
    assert len(taxonomy.relations) == 5
    assert taxonomy.active_indices.tolist() == [0, 2, 4]
    assert rest.without_deprecated_relations is rest


def test_new_definitions_are_also_those_of_the_taxonomy_without_deprecated_relations() -> None:
    concepts = [Concept("a", "a"), Concept("b", "b", deprecated=True)]
    taxonomy = Taxonomy(concepts, [("a", "b")])
    assert taxonomy.without_deprecated_relations.definitions == {}
    defined = taxonomy.with_definitions({0: "the first letter"})
    assert defined.without_deprecated_relations.definitions == {0: "the first letter"}


@pytest.mark.parametrize("concept", ["a", Concept(1, "a"), Concept("1", "a", "syn")])  # type: ignore[arg-type]
def test_what_is_no_concept_is_refused(concept: Concept) -> None:
    with pytest.raises(ConfigurationError):
        Taxonomy([concept])


def test_a_text_is_not_a_list_of_ids() -> None:
    with pytest.raises(ConfigurationError, match="12"):
        Taxonomy([Concept("1", "a"), Concept("2", "b")]).without("12")


def test_a_copy_is_the_taxonomy_itself() -> None:
    taxonomy = Taxonomy([Concept("1", "a")])
    assert copy.copy(taxonomy) is copy.deepcopy(taxonomy) is taxonomy
    with pytest.raises(TaxonomyError, match="write_taxonomy"):
        pickle.dumps(taxonomy)
