from __future__ import annotations

import math
import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.features.label_words import (
    MAX_PATH,
    NUM_WORD_FEATURES,
    LabelWords,
    Numbers,
    first_parents,
    label_words,
    words_arrays,
    words_from_arrays,
)
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support.label_cases import queries, taxonomies
from tests.support.strategies import quickly

ENDING, INSIDE, LAST_WORD, QUERY_WORDS, ANCHOR_WORDS, PATH_WORDS = range(NUM_WORD_FEATURES)


def compare(words: LabelWords, labels: list[str]) -> Numbers:
    concepts = [Concept(str(i), label, ("milk",)) for i, label in enumerate(labels)]
    return words.compare(words.of_queries(concepts), 0, len(words))


def slow_features(taxonomy: Taxonomy, anchor: int, query: str) -> list[float]:
    """Compute the features of one pair from the texts, in the most obvious way."""
    labels = [label_words(label) for label in taxonomy.labels]
    idf = {
        word: math.log((len(labels) + 1) / (1 + sum(word in label for label in labels)))
        for label in [*labels, label_words(query)]
        for word in label
    }
    asked, own = label_words(query), labels[anchor]
    concept = taxonomy.concept_at(anchor)
    names = [label_words(name) for name in (concept.label, *concept.synonyms)]
    length = len(asked)
    parts = {
        (start, stop): asked[start:stop]
        for start in range(length)
        for stop in range(start + 1, length + 1)
        if (start, stop) != (0, length)
    }
    above: set[str] = set()
    current = taxonomy.ids[anchor]
    for _ in range(MAX_PATH):
        if not taxonomy.parents(current):
            break
        current = taxonomy.parents(current)[0]
        above |= {*labels[taxonomy.index(current)]}

    def fraction(part: set[str], whole: list[str]) -> float:
        total = sum(idf[word] for word in {*whole})
        return sum(idf[word] for word in {*whole} & part) / max(total, 1e-6)

    return [
        any(part in names for (_, stop), part in parts.items() if stop == length),
        any(part in names for (_, stop), part in parts.items() if stop < length),
        bool(asked) and bool(own) and asked[-1] == own[-1],
        fraction({*own}, asked),
        fraction({*asked}, own),
        fraction(above - {*own}, asked),
    ]


@quickly
@given(taxonomies(), queries)
def test_all_features_equal_those_of_the_obvious_way(taxonomy: Taxonomy, labels: list[str]) -> None:
    found = compare(LabelWords.from_taxonomy(taxonomy), labels)
    assert found.shape == (NUM_WORD_FEATURES, len(taxonomy), len(labels))
    for column, label in enumerate(labels):
        for anchor in range(len(taxonomy)):
            expected = slow_features(taxonomy, anchor, label)
            np.testing.assert_allclose(found[:, anchor, column], expected, atol=1e-5)


@quickly
@given(taxonomies(), queries, st.data())
def test_selected_anchors_keep_their_features(
    taxonomy: Taxonomy, labels: list[str], data: st.DataObject
) -> None:
    rows = np.array(
        data.draw(st.lists(st.integers(0, len(taxonomy) - 1), max_size=20)), dtype=np.int64
    )
    words = LabelWords.from_taxonomy(taxonomy)
    selected = words.select(rows)
    assert len(selected) == len(rows)
    np.testing.assert_array_equal(compare(selected, labels), compare(words, labels)[:, rows])


@quickly
@given(taxonomies(), queries, st.integers(0, 12), st.integers(0, 12))
def test_a_range_of_anchors_is_a_slice_of_all(
    taxonomy: Taxonomy, labels: list[str], one: int, other: int
) -> None:
    start, stop = sorted((min(one, len(taxonomy)), min(other, len(taxonomy))))
    words = LabelWords.from_taxonomy(taxonomy)
    asked = words.of_queries([Concept("q", label) for label in labels])
    np.testing.assert_array_equal(
        words.compare(asked, start, stop), words.compare(asked, 0, len(words))[:, start:stop]
    )


@pytest.fixture
def drinks() -> Taxonomy:
    concepts = [
        Concept("d", "drinks"),
        Concept("c", "coffee", ("joe", "bean brew")),
        Concept("b", "cold brew coffee"),
        Concept("t", "tea"),
    ]
    return Taxonomy(concepts, [("d", "c"), ("c", "b"), ("d", "t")])


def test_a_query_is_found_by_the_end_of_its_label(drinks: Taxonomy) -> None:
    found = compare(LabelWords.from_taxonomy(drinks), ["iced coffees", "coffee cake", "tea"])
    assert found[ENDING].tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert found[INSIDE].tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert found[LAST_WORD].tolist() == [[0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]]


def test_only_the_nearest_ancestors_count() -> None:
    labels = [f"word{chr(97 + i)}" for i in range(MAX_PATH + 2)]
    chain = Taxonomy([Concept(label, label) for label in labels], list(pairwise(labels)))
    found = compare(LabelWords.from_taxonomy(chain), labels[:2])
    assert found[PATH_WORDS, -1].tolist() == [0, 1]


def test_a_label_without_words_shares_nothing(drinks: Taxonomy) -> None:
    concepts = [*drinks.concepts, Concept("x", "-")]
    words = LabelWords.from_concepts(concepts, np.append(first_parents(drinks), 0))
    assert label_words("-") == []
    found = compare(words, ["-", "coffee"])
    assert not found[:, :, 0].any()
    assert not found[[ENDING, INSIDE, LAST_WORD, QUERY_WORDS, ANCHOR_WORDS], -1].any()
    assert compare(words, []).shape == (NUM_WORD_FEATURES, 5, 0)


def test_the_first_parent_of_a_root_is_none(drinks: Taxonomy) -> None:
    assert first_parents(drinks).tolist() == [-1, 0, 1, 0]


def test_concepts_that_are_not_counted_do_not_change_the_weights(drinks: Taxonomy) -> None:
    more = [*drinks.concepts, Concept("n", "green tea"), Concept("o", "yak coffee")]
    parents = np.append(first_parents(drinks), [-1, -1])
    alone = LabelWords.from_taxonomy(drinks)
    labels = ["green tea", "yak tea", "black coffee", "zebu"]
    extended = compare(LabelWords.from_concepts(more, parents, np.arange(4)), labels)
    np.testing.assert_allclose(extended[:, :4], compare(alone, labels), atol=1e-6)
    counted = compare(LabelWords.from_concepts(more, parents), labels)
    assert not np.allclose(counted[:, :4], compare(alone, labels), atol=1e-3)


def test_weights_do_not_depend_on_the_hashes_of_words() -> None:
    program = """
from taxoexpan.features.label_words import LabelWords
from taxoexpan.taxonomy import Concept, Taxonomy

words = "red oat rye rice green black white tea milk bread".split()
labels = [" ".join(words[i % 4 :: 1 + i % 3]) for i in range(40)] + words
concepts = [Concept(str(i), label) for i, label in enumerate(labels)]
found = LabelWords.from_taxonomy(Taxonomy(concepts, [])).of_queries(concepts)
print(found.weighted.tobytes().hex())
"""
    results = set()
    for seed in "01":
        run = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        results.add(run.stdout)
    assert len(results) == 1
    assert len(results.pop()) > 1000


def test_only_as_many_words_as_the_longest_name_has_are_looked_up() -> None:
    words = LabelWords.from_taxonomy(Taxonomy([Concept("1", "big drum"), Concept("2", "drum")]))
    stored = words_from_arrays(words_arrays(words))
    assert words.longest_name == stored.longest_name == 2
    long = Concept("3", "big drum " * 20_000)
    for each in (words, stored):
        assert len(each.of_queries([long]).names) == 40_000
