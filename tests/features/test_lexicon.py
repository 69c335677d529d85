from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.features.lexicon import MOST_SENSES, Lexicon
from taxoexpan.features.mentions import END, FIRST, SAME, SECOND
from taxoexpan.taxonomy import Concept, Taxonomy


@pytest.fixture(scope="module")
def taxonomy() -> Taxonomy:
    names = ["entity", "plant", "factory", "tree", "cherry", "cell", "jail", "stem cell", "city"]
    concepts = [Concept(str(i), name) for i, name in enumerate(names)]
    concepts[2] = Concept("2", "factory", synonyms=("plant", "works"))
    concepts[6] = Concept("6", "jail", synonyms=("Cell",))
    under = {"1": "0", "2": "0", "3": "1", "4": "3", "5": "0", "6": "0", "7": "5", "8": "0"}
    return Taxonomy(concepts, [(parent, child) for child, parent in under.items()])


def named_by(lexicon: Lexicon, concept: Concept, kind: int) -> list[int]:
    """What a concept mentions in this way, the likeliest sense first."""
    kinds = {kind} if kind == SAME else {kind, kind + 1}
    return [target for target, how in lexicon.mentioned_by(concept) if how in kinds]


def defined(definition: str) -> Concept:
    return Concept("", "something", definition=definition)


@pytest.mark.parametrize(
    ("definition", "first", "second"),
    [
        ("a small tree that bears cherries", [3], [4]),
        ("A Tree.", [3], []),
        ("cherries, small and red", [4], []),
        ("the cities of a country", [8], []),
        ("any of several plants with leaves", [1, 2], []),  # the label before the synonym
        ("a stem cell of the skin", [7], []),  # the longest name
        ("a tree cell", [5, 6], []),  # the last of a run
        ("a tree, or a cell", [3], [5, 6]),  # which a sign ends
        ("of a very green colour", [], []),
        ("", [], []),
        ("a", [], []),
    ],
)
def test_a_definition_names_its_genus_first(
    taxonomy: Taxonomy, definition: str, first: list[int], second: list[int]
) -> None:
    lexicon, concept = Lexicon.of(taxonomy), defined(definition)
    assert named_by(lexicon, concept, FIRST) == first
    assert named_by(lexicon, concept, SECOND) == second


def test_a_name_may_end_in_its_genus_and_have_been_given_before(taxonomy: Taxonomy) -> None:
    lexicon = Lexicon.of(taxonomy)
    assert named_by(lexicon, Concept("", "red cherry tree"), END) == [3]
    assert named_by(lexicon, Concept("", "nerve stem cells"), END) == [7]
    assert named_by(lexicon, Concept("", "tree"), END) == []
    assert named_by(lexicon, Concept("", "Trees"), SAME) == [3]
    assert named_by(lexicon, Concept("", "plant"), SAME) == [1, 2]
    assert named_by(lexicon, Concept("", "red tree"), SAME) == []


def test_a_concepts_own_name_is_no_genus(taxonomy: Taxonomy) -> None:
    cell = Concept("", "Cell", definition="A cell is a plant that makes batteries.")
    assert named_by(Lexicon.of(taxonomy), cell, FIRST) == [1, 2]


def test_the_likeliest_sense_is_told_from_the_others(taxonomy: Taxonomy) -> None:
    told = Lexicon.of(taxonomy).mentioned_by(Concept("", "jail cell", definition="a plant"))
    assert told == [(1, FIRST), (2, FIRST + 1), (5, END), (6, END + 1)]


def test_more_children_come_first_among_labels() -> None:
    concepts = [Concept(id, label * 2) for id, label in ("aA", "bB", "cB", "dD", "eE")]
    taxonomy = Taxonomy(concepts, [("a", "b"), ("a", "c"), ("c", "d"), ("c", "e")])
    assert named_by(Lexicon.of(taxonomy), defined("some bb"), FIRST) == [2, 1]


def test_no_more_senses_count_than_a_few() -> None:
    concepts = [Concept(str(i), "thing") for i in range(40)]
    lexicon = Lexicon.of(Taxonomy(concepts, []))
    assert named_by(lexicon, defined("a thing"), FIRST) == list(range(MOST_SENSES))


def test_a_given_order_of_senses_comes_before_all_others(taxonomy: Taxonomy) -> None:
    order = {"plants": ["2", "of another taxonomy"], "cell": ["6", "5"]}
    lexicon = Lexicon.of(taxonomy, order)
    assert named_by(lexicon, defined("a plant"), FIRST) == [2, 1]
    assert named_by(lexicon, defined("cells"), FIRST) == [6, 5]
    assert named_by(lexicon, defined("a tree"), FIRST) == [3]


def test_no_known_concept_mentions_itself(taxonomy: Taxonomy) -> None:
    known = Lexicon.of(taxonomy).mentions(taxonomy.concepts, known=True)
    assert len(known) == len(taxonomy)
    assert known.of_row.of(1).tolist() == [2]  # another plant
    assert known.of_row.of(3).tolist() == []
    assert known.of_row.of(7).tolist() == [5, 6]
    new = Lexicon.of(taxonomy).mentions([taxonomy.concept_at(3)])
    assert (new.of_row.targets.tolist(), new.kinds.tolist()) == ([3], [SAME])


WORDS = st.sampled_from(["tree", "trees", "stem", "cell", "of", "the", "a", ",", "green", "plant"])


@given(st.lists(WORDS, max_size=8))
@settings(max_examples=300, deadline=None)
def test_what_is_named_is_the_last_name_of_each_run(words: list[str]) -> None:
    concepts = [Concept(str(i), n) for i, n in enumerate(["tree", "stem cell", "cell", "plant"])]
    lexicon = Lexicon.of(Taxonomy(concepts, []))
    text = " ".join(words).replace("stem cell", "stem_cell").split()
    numbers = [{"tree": 0, "trees": 0, "stem_cell": 1, "cell": 2, "plant": 3}.get(w) for w in text]
    runs = "".join("." if n is None else str(n) for n in numbers).split(".")
    expected = [int(run[-1]) for run in runs if run][:2]
    concept = defined(" ".join(words))
    assert named_by(lexicon, concept, FIRST) + named_by(lexicon, concept, SECOND) == expected
