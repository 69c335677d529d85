from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.config import load_preset
from taxoexpan.features.mentions import Lexicon, MentionKind, Mentions, resolve_mentions
from taxoexpan.taxonomy import Concept, Taxonomy

PAIRS = st.tuples(st.integers(0, 9), st.integers(0, len(MentionKind) - 1))
ROWS = st.lists(st.lists(PAIRS, max_size=4), max_size=6)


def rows_of(mentions: Mentions) -> list[list[tuple[int, int]]]:
    offsets = mentions.of_row.offsets.tolist()
    pairs = list(zip(mentions.of_row.targets.tolist(), mentions.kinds.tolist(), strict=True))
    return [pairs[start:stop] for start, stop in pairwise(offsets)]


@given(ROWS, st.data())
@settings(max_examples=100, deadline=None)
def test_rows_can_be_read_sliced_selected_and_reindexed(
    rows: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    mentions = Mentions.from_rows(rows)
    assert (len(mentions), rows_of(mentions)) == (len(rows), rows)
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    assert rows_of(mentions.select(np.arange(start, stop))) == rows[start:stop]
    some = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=5)) if rows else []
    chosen = np.array(some, dtype=np.int64)
    found = list(zip(*(each.tolist() for each in mentions.of_many(chosen)), strict=True))
    assert found == [(index, *pair) for index, row in enumerate(some) for pair in rows[row]]
    new_index = np.array([concept // 2 if concept % 2 else -1 for concept in range(10)])
    kept = [[(c // 2, kind) for c, kind in rows[row] if c % 2] for row in some]
    assert rows_of(mentions.reindex(new_index, chosen)) == kept


def test_the_kind_of_another_sense_knows_its_most_likely_sense() -> None:
    other = MentionKind.NAME_ENDING_OTHER_SENSE
    assert other.is_other_sense
    assert not MentionKind.SAME_NAME.is_other_sense
    assert other.likeliest_sense is MentionKind.NAME_ENDING
    assert other.description == f"{MentionKind.NAME_ENDING.description}, in another sense"
    assert len({kind.description for kind in MentionKind}) == len(MentionKind)


@pytest.fixture(scope="module")
def taxonomy() -> Taxonomy:
    names = ["entity", "plant", "factory", "tree", "cherry", "cell", "jail", "stem cell", "city"]
    concepts = [Concept(str(i), name) for i, name in enumerate(names)]
    concepts[2] = Concept("2", "factory", synonyms=("plant", "works"))
    concepts[6] = Concept("6", "jail", synonyms=("Cell",))
    under = {"1": "0", "2": "0", "3": "1", "4": "3", "5": "0", "6": "0", "7": "5", "8": "0"}
    return Taxonomy(concepts, [(parent, child) for child, parent in under.items()])


FIRST, SECOND = MentionKind.FIRST_IN_DEFINITION, MentionKind.SECOND_IN_DEFINITION
END, SAME = MentionKind.NAME_ENDING, MentionKind.SAME_NAME


def mentioned(lexicon: Lexicon, concept: Concept, kind: MentionKind) -> list[int]:
    """The concepts that a concept mentions in this way, the most likely sense first."""
    pairs = lexicon.mentioned_by(concept)
    return [target for target, found in pairs if found.likeliest_sense is kind]


def defined(definition: str) -> Concept:
    return Concept("", "something", definition=definition)


@pytest.mark.parametrize(
    ("definition", "first", "second"),
    [
        ("a small tree that bears cherries", [3], [4]),
        ("A Tree.", [3], []),
        ("cherries, small and red", [4], []),
        ("the cities of a country", [8], []),
        ("any of several plants with leaves", [1, 2], []),  # labels before synonyms
        ("a stem cell of the skin", [7], []),  # the longest name wins
        ("a tree cell", [5, 6], []),  # the last of adjacent names
        ("a tree, or a cell", [3], [5, 6]),  # punctuation separates names
        ("of a very green colour", [], []),
        ("", [], []),
        ("a", [], []),
    ],
)
def test_the_first_and_second_name_in_a_definition(
    taxonomy: Taxonomy, definition: str, first: list[int], second: list[int]
) -> None:
    lexicon, concept = Lexicon.from_taxonomy(taxonomy), defined(definition)
    assert mentioned(lexicon, concept, FIRST) == first
    assert mentioned(lexicon, concept, SECOND) == second


def test_the_end_of_a_name_and_the_whole_name_are_mentions(taxonomy: Taxonomy) -> None:
    lexicon = Lexicon.from_taxonomy(taxonomy)
    assert mentioned(lexicon, Concept("", "red cherry tree"), END) == [3]
    assert mentioned(lexicon, Concept("", "nerve stem cells"), END) == [7]
    assert mentioned(lexicon, Concept("", "tree"), END) == []
    assert mentioned(lexicon, Concept("", "Trees"), SAME) == [3]
    assert mentioned(lexicon, Concept("", "plant"), SAME) == [1, 2]
    assert mentioned(lexicon, Concept("", "red tree"), SAME) == []


def test_the_own_name_in_a_definition_is_ignored(taxonomy: Taxonomy) -> None:
    cell = Concept("", "Cell", definition="A cell is a plant that makes batteries.")
    assert mentioned(Lexicon.from_taxonomy(taxonomy), cell, FIRST) == [1, 2]


def test_the_most_likely_sense_has_its_own_kind(taxonomy: Taxonomy) -> None:
    concept = Concept("", "jail cell", definition="a plant")
    assert Lexicon.from_taxonomy(taxonomy).mentioned_by(concept) == [
        (1, FIRST),
        (2, MentionKind.FIRST_OTHER_SENSE),
        (5, END),
        (6, MentionKind.NAME_ENDING_OTHER_SENSE),
    ]


def test_senses_with_more_children_come_first() -> None:
    concepts = [Concept(id, label * 2) for id, label in ("aA", "bB", "cB", "dD", "eE")]
    taxonomy = Taxonomy(concepts, [("a", "b"), ("a", "c"), ("c", "d"), ("c", "e")])
    assert mentioned(Lexicon.from_taxonomy(taxonomy), defined("some bb"), FIRST) == [2, 1]


def test_a_given_order_of_senses_takes_precedence(taxonomy: Taxonomy) -> None:
    order = {"plants": ["2", "of another taxonomy"], "cell": ["6", "5"]}
    lexicon = Lexicon.from_taxonomy(taxonomy, order)
    assert mentioned(lexicon, defined("a plant"), FIRST) == [2, 1]
    assert mentioned(lexicon, defined("cells"), FIRST) == [6, 5]
    assert mentioned(lexicon, defined("a tree"), FIRST) == [3]


def test_a_concept_of_the_taxonomy_does_not_mention_itself(taxonomy: Taxonomy) -> None:
    known = Lexicon.from_taxonomy(taxonomy).mentions(taxonomy.concepts, exclude_self=True)
    assert len(known) == len(taxonomy)
    assert known.of_row.of(1).tolist() == [2]  # the other sense of plant
    assert known.of_row.of(3).tolist() == []
    assert known.of_row.of(7).tolist() == [5, 6]
    new = Lexicon.from_taxonomy(taxonomy).mentions([taxonomy.concept_at(3)])
    assert (new.of_row.targets.tolist(), new.kinds.tolist()) == ([3], [SAME])


WORDS = st.sampled_from(["tree", "trees", "stem", "cell", "of", "the", "a", ",", "green", "plant"])


@given(st.lists(WORDS, max_size=8))
@settings(max_examples=300, deadline=None)
def test_only_the_last_of_adjacent_names_counts(words: list[str]) -> None:
    concepts = [Concept(str(i), n) for i, n in enumerate(["tree", "stem cell", "cell", "plant"])]
    lexicon = Lexicon.from_taxonomy(Taxonomy(concepts, []))
    text = " ".join(words).replace("stem cell", "stem_cell").split()
    numbers = [{"tree": 0, "trees": 0, "stem_cell": 1, "cell": 2, "plant": 3}.get(w) for w in text]
    runs = "".join("." if n is None else str(n) for n in numbers).split(".")
    expected = [int(run[-1]) for run in runs if run][:2]
    concept = defined(" ".join(words))
    assert mentioned(lexicon, concept, FIRST) + mentioned(lexicon, concept, SECOND) == expected


@pytest.mark.parametrize(
    ("asked", "defined_of_20", "used"),
    [
        ("auto", 0, False),
        ("auto", 1, False),
        ("auto", 2, True),
        ("auto", 20, True),
        (True, 0, True),
        (False, 20, False),
    ],
)
def test_mentions_are_used_by_default_if_a_tenth_of_the_concepts_have_a_definition(
    asked: bool | str, defined_of_20: int, used: bool
) -> None:
    concepts = [Concept(str(i), f"c{i}", definition="x" * (i < defined_of_20)) for i in range(20)]
    config = load_preset("best", use_mentions=asked)
    assert resolve_mentions(config, Taxonomy(concepts)).uses_mentions is used
