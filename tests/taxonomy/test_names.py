from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.names import name_key, normalize_name, words_key
from tests.support.strategies import names, quickly


@pytest.mark.parametrize(
    "other",
    ["Red Wine", "red  wine", "red-wine", " RED_WINE ", "red‐wine", "red–wine", "ｒed\twine"],
)
def test_case_spaces_and_hyphens_are_normalized(other: str) -> None:
    assert normalize_name(other) == "red wine"


@pytest.mark.parametrize(("one", "other"), [("redwine", "red wine"), ("résumé", "resume")])
def test_other_differences_are_kept(one: str, other: str) -> None:
    assert normalize_name(one) != normalize_name(other)


def test_normalization_follows_unicode() -> None:
    assert normalize_name("STRASSE") == normalize_name("Straße")
    assert normalize_name("cafe\u0301") == normalize_name("CAFÉ")


@given(names(breaks=True))
@quickly
def test_normalization_is_idempotent(name: str) -> None:
    assert normalize_name(normalize_name(name)) == normalize_name(name)


def test_the_key_of_a_name_has_its_last_word_in_the_singular() -> None:
    assert name_key("Red-Wines") == name_key("red wine") == "red wine"
    assert name_key("wines cellar") != name_key("wine cellar")
    assert words_key(["red", "wines"]) == name_key("red wines")


LABELS = st.lists(
    st.lists(st.sampled_from(["oat", "Milk", "milks", "soy-milk"]), min_size=1, max_size=3).map(
        " ".join
    ),
    min_size=2,
    max_size=8,
)


@given(LABELS, st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=16))
@quickly
def test_children_are_found_by_the_last_words_of_their_labels(
    labels: list[str], relations: list[tuple[int, int]]
) -> None:
    size = len(labels)
    downwards = [(str(a), str(b)) for a, b in relations if a < b < size]
    concepts = [Concept(str(i), label) for i, label in enumerate(labels)]
    taxonomy = Taxonomy(concepts, downwards)
    for keys in ({"milk"}, {"oat"}, {"oat milk", "milk"}, {"soy milk"}):
        endings = tuple(f" {key}" for key in keys)
        for parent in range(size):
            expected = [
                child
                for child in taxonomy.children_of.of(parent).tolist()
                if name_key(labels[child]).endswith(endings)
            ]
            assert taxonomy.label_endings.children(parent, keys) == expected


def test_a_label_without_words_is_no_child_to_find() -> None:
    taxonomy = Taxonomy([Concept("a", "food"), Concept("b", "-")], [("a", "b")])
    assert taxonomy.label_endings.children(0, {"food", ""}) == []
