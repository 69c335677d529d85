from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.lexicon import Lexicon
from taxoexpan.taxonomy import Concept, Taxonomy


@pytest.fixture(scope="module")
def taxonomy() -> Taxonomy:
    names = ["entity", "plant", "factory", "tree", "cherry", "cell", "jail", "stem cell", "city"]
    concepts = [Concept(str(i), name) for i, name in enumerate(names)]
    concepts[2] = Concept("2", "factory", synonyms=("plant", "works"))
    concepts[6] = Concept("6", "jail", synonyms=("Cell",))
    under = {"1": "0", "2": "0", "3": "1", "4": "3", "5": "0", "6": "0", "7": "5", "8": "0"}
    return Taxonomy(concepts, [(parent, child) for child, parent in under.items()])


@pytest.mark.parametrize(
    ("definition", "named"),
    [
        ("a small tree that bears cherries", [3]),
        ("A Tree.", [3]),
        ("cherries, small and red", [4]),
        ("the cities of a country", [8]),
        ("any of several plants with leaves", [1, 2]),  # the label before the synonym
        ("a stem cell of the skin", [7]),  # the longest name
        ("a tree cell", [5, 6]),  # the last of a run
        ("a tree, or a cell", [3]),  # which a sign ends
        ("of a very green colour", []),
        ("", []),
        ("a", []),
    ],
)
def test_a_definition_names_its_genus_first(
    taxonomy: Taxonomy, definition: str, named: list[int]
) -> None:
    assert list(Lexicon.of(taxonomy).first_named(definition)) == named


def test_more_children_come_first_among_labels() -> None:
    concepts = [Concept(id, label) for id, label in ("aA", "bB", "cB", "dD", "eE")]
    taxonomy = Taxonomy(concepts, [("a", "b"), ("a", "c"), ("c", "d"), ("c", "e")])
    assert list(Lexicon.of(taxonomy).first_named("b")) == []  # one letter is no name
    concepts = [Concept(c.id, c.label * 2) for c in concepts]
    taxonomy = Taxonomy(concepts, taxonomy.relations)
    assert list(Lexicon.of(taxonomy).first_named("some bb")) == [2, 1]


def test_a_given_order_of_senses_comes_before_all_others(taxonomy: Taxonomy) -> None:
    order = {"plants": ["2", "of another taxonomy"], "cell": ["6", "5"]}
    lexicon = Lexicon.of(taxonomy, order)
    assert list(lexicon.first_named("a plant")) == [2, 1]
    assert list(lexicon.first_named("cells")) == [6, 5]
    assert list(lexicon.first_named("a tree")) == [3]


def test_no_known_concept_is_named_by_itself(taxonomy: Taxonomy) -> None:
    defined = [Concept(c.id, c.label, c.synonyms, f"a {c.label}") for c in taxonomy.concepts]
    known = Lexicon.of(taxonomy).named_by(defined, known=True)
    assert known.of(1).tolist() == [2]
    assert known.of(3).tolist() == []
    new = Lexicon.of(taxonomy).named_by([defined[3], Concept("", "no definition")])
    assert (len(new), new.of(0).tolist(), new.of(1).tolist()) == (2, [3], [])


WORDS = st.sampled_from(["tree", "trees", "stem", "cell", "of", "the", "a", ",", "green", "plant"])


@given(st.lists(WORDS, max_size=8))
@settings(max_examples=300, deadline=None)
def test_what_is_named_is_the_last_name_of_the_first_run(words: list[str]) -> None:
    concepts = [Concept(str(i), n) for i, n in enumerate(["tree", "stem cell", "cell", "plant"])]
    lexicon = Lexicon.of(Taxonomy(concepts, []))
    text = " ".join(words).replace("stem cell", "stem_cell").split()
    numbers = [{"tree": 0, "trees": 0, "stem_cell": 1, "cell": 2, "plant": 3}.get(w) for w in text]
    runs = "".join("." if n is None else str(n) for n in numbers).split(".")
    first = next((run for run in runs if run), "")
    assert list(lexicon.first_named(" ".join(words))) == [int(n) for n in first[-1:]]


def test_rows_of_names_are_those_of_each_definition_by_itself(taxonomy: Taxonomy) -> None:
    definitions = ["a tree", "", "of cells", "nothing known here"]
    concepts = [Concept("", f"n{i}", (), text) for i, text in enumerate(definitions)]
    lexicon = Lexicon.of(taxonomy)
    named = lexicon.named_by(concepts)
    alone = [list(lexicon.first_named(text)) for text in definitions]
    assert named.targets.tolist() == list(chain.from_iterable(alone))
    np.testing.assert_array_equal(named.degrees, [len(each) for each in alone])
    part = named.between(1, 3)
    assert [part.of(row).tolist() for row in range(len(part))] == alone[1:3]
