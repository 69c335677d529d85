from __future__ import annotations

import pytest

from taxoexpan.taxonomy.english import STOP_WORDS, singular


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        ("teas", "tea"),
        ("berries", "berry"),
        ("cookie", "cooky"),
        ("cookies", "cooky"),
        ("peaches", "peach"),
        ("dishes", "dish"),
        ("boxes", "box"),
        ("glasses", "glass"),
        ("waltzes", "waltz"),
    ],
)
def test_a_plural_and_its_singular_have_the_same_form(plural: str, expected: str) -> None:
    assert singular(plural) == expected


@pytest.mark.parametrize("word", ["gas", "glass", "citrus", "analysis", "tea", ""])
def test_short_words_and_other_endings_in_s_stay(word: str) -> None:
    assert singular(word) == word


def test_stop_words_have_no_name_of_a_thing() -> None:
    assert {"the", "of", "is", "we", "these"} <= STOP_WORDS
    assert "milk" not in STOP_WORDS
