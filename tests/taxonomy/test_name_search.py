from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.name_search import NameIndex, fold_name, split_words
from tests.support.strategies import taxonomies


def found(taxonomy: Taxonomy, text: str, limit: int = 10) -> list[str]:
    return [taxonomy.labels[i] for i in NameIndex.of(taxonomy).search(text, limit)]


def labeled(*labels: str) -> Taxonomy:
    return Taxonomy([Concept(str(i), label) for i, label in enumerate(labels)])


def test_exact_names_come_first_then_prefixes_then_words() -> None:
    dairy = labeled("oat milk", "milkshake", "milk", "milk powder", "soy milk drink", "water")
    assert found(dairy, "milk") == [
        "milk",
        "milkshake",
        "milk powder",
        "oat milk",
        "soy milk drink",
    ]
    assert found(dairy, "milk", limit=2) == ["milk", "milkshake"]
    assert found(dairy, "milk", limit=1) == ["milk"]
    assert found(dairy, "milk", limit=0) == []


@pytest.mark.parametrize("text", ["crème brûlée", "CREME BRULEE", "creme-brulee", " bruLée  cr"])
def test_case_accents_and_the_order_of_words_are_ignored(text: str) -> None:
    assert found(labeled("brioche", "Crème Brûlée"), text) == ["Crème Brûlée"]


def test_every_word_must_match_a_beginning() -> None:
    wines = labeled("red wine from France", "white wine", "redwood")
    assert found(wines, "wi re") == ["red wine from France"]
    assert found(wines, "wine blue") == found(wines, "ine") == []


SHOP = Taxonomy(
    [
        Concept("care", "Hair Care"),
        Concept("trim", "Trimmers"),
        Concept("shave", "Shaving", ("barber",)),
        Concept("trim2", "Trimmers"),
        Concept("trim3", "Nose Trimmers"),
        Concept("dryer", "Dryers"),
    ],
    [("care", "trim"), ("shave", "trim2"), ("shave", "trim3"), ("care", "dryer")],
)


def test_words_of_ancestors_count_too() -> None:
    index = NameIndex.of(SHOP)
    ids = {text: [SHOP.ids[i] for i in index.search(text, 9)] for text in (
        "hair trimmers", "trimmers barber", "trim shav", "hair care trimmers", "hair shaving"
    )}  # fmt: skip
    assert ids["hair trimmers"] == ids["hair care trimmers"] == ["trim"]
    assert ids["trimmers barber"] == ids["trim shav"] == ["trim2", "trim3"]
    assert ids["hair shaving"] == []


def test_near_concepts_come_first_among_equals() -> None:
    index, far = NameIndex.of(SHOP), SHOP.index("trim2")
    assert [SHOP.ids[i] for i in index.search("trimmers", 9)] == ["trim", "trim2", "trim3"]
    assert [SHOP.ids[i] for i in index.search("trimmers", 9, {far})] == ["trim2", "trim", "trim3"]


def test_labels_come_before_synonyms_and_each_concept_once() -> None:
    fruit = Taxonomy(
        [
            Concept("1", "aubergine", ("egg plant", "eggplant")),
            Concept("2", "eggplant parmesan"),
            Concept("3", "egg"),
        ]
    )
    assert found(fruit, "egg") == ["egg", "eggplant parmesan", "aubergine"]
    assert found(fruit, "eggplant") == ["aubergine", "eggplant parmesan"]


def test_names_in_other_languages_are_found_and_deprecated_concepts_are_not() -> None:
    no = np.zeros(0, np.int64)
    drinks = Taxonomy.from_columns(
        ["1", "2"], ["beer", "bitter"], no, no, deprecated=[1], foreign_names={0: ("bière",)}
    )
    assert found(drinks, "biere") == found(drinks, "b") == ["beer"]
    assert found(drinks, "bitter") == []


@pytest.mark.parametrize("text", ["", "  ", "-", "\u0301"])
def test_an_empty_text_finds_nothing(text: str) -> None:
    assert found(labeled("apple", "-x"), text) == []


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("C++", "c++"),
        ("green apple 🍏", "🍏"),
        ("تفاح أحمر", "أحمر"),
        ("赤ワイン", "赤"),
        ("<b>bold</b>", "bold b"),
        ("Robert'); DROP TABLE", "drop robert"),
    ],
)
def test_names_in_any_script_are_found(label: str, text: str) -> None:
    assert found(labeled("apple", label, "c"), text) == [label]


def test_symbols_are_words_and_punctuation_is_not() -> None:
    assert split_words(fold_name("C++ (language), 2nd")) == ["c", "+", "+", "language", "2nd"]


def words_of(concept: Concept) -> set[str]:
    names = map(fold_name, (concept.label, *concept.synonyms))
    return {word for name in names for word in split_words(name)}


@given(taxonomies(), st.data())
def test_the_results_are_those_of_a_comparison_with_every_name(
    taxonomy: Taxonomy, data: st.DataObject
) -> None:
    text = data.draw(st.sampled_from(taxonomy.labels)) if len(taxonomy) else "x"
    text = text[: data.draw(st.integers(1, 20))]
    query, expected = fold_name(text), set()
    wanted = split_words(query)
    for index, concept in enumerate(taxonomy.concepts):
        above = [taxonomy.concept(id) for id in (concept.id, *taxonomy.ancestors(concept.id))]
        inherited = {w for c in above if not c.deprecated for w in words_of(c)}
        for name in map(fold_name, (concept.label, *concept.synonyms)):
            words = set(split_words(name))
            has_one = any(w.startswith(p) for w in words for p in wanted)
            has_all = all(any(w.startswith(p) for w in words | inherited) for p in wanted)
            if (
                not concept.deprecated
                and query
                and (name.startswith(query) or (has_one and has_all))
            ):
                expected.add(index)
    results = NameIndex.of(taxonomy).search(text, len(taxonomy) + 1)
    assert len(results) == len(set(results))
    assert set(results) == expected
