from __future__ import annotations

import pytest
from hypothesis import given
from strategies import names, quickly

from taxoexpan.taxonomy.names import name_key, normalize_name, words_key


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
