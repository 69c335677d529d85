from __future__ import annotations

import pytest

from taxoexpan.taxonomy import Concept, Taxonomy

JAMS = Taxonomy(
    [
        Concept("1", "strawberry jam"),
        Concept("2", "aubergine", ("garden egg", "eggplant")),
        Concept("3", "ice cream"),
        Concept("4", "colour picker"),
        Concept("5", "marmalade of oranges"),
        Concept("6", "quince jelly", deprecated=True),
        *(Concept(f"n{i}", name) for i, name in enumerate(["vitamin B6", "diabetes type 1"])),
        *(Concept(f"s{i}", name) for i, name in enumerate(["shirts", "sodium nitrate"])),
        *(Concept(f"w{i}", name) for i, name in enumerate(["memory bank", "rank", "ion exchange"])),
        *(Concept(f"r{i}", name) for i, name in enumerate(["collagen xviii", "honey jars"])),
    ]
)


@pytest.mark.parametrize(
    ("label", "id", "difference"),
    [
        ("Strawberry jams", "1", "singular and plural"),
        ("strawbery jam", "1", "two spellings"),
        ("strawbarry jam", "1", "differ in one letter"),
        ("straberry jam", "1", "differ in one letter"),
        ("strawbnerry jam", "1", "differ in one letter"),
        ("garden eggs", "2", "singular and plural"),
        ("egg plant", "2", "case, spaces or hyphens"),
        ("Icecream", "3", "case, spaces or hyphens"),
        ("color picker", "4", "two spellings"),
        ("marmelade of oranges", "5", "differ in one letter"),
    ],
)
def test_a_similar_name_is_found(label: str, id: str, difference: str) -> None:
    found = JAMS.similar_names.find(label)
    assert found is not None
    assert JAMS.ids[found.concept] == id
    assert difference in found.difference.text


@pytest.mark.parametrize(
    "label",
    [
        *("strawberry jam", "Ice-Cream", "garden egg"),  # known names
        *("raspberry jam", "strawberry", "kiwi", "", "-"),
        *("vitamin B12", "diabetes type 2", "collagen xxviii"),
        *("shorts", "sodium nitrite", "memory rank", "ion exchanger", "money jars"),
        "quince jellys",
    ],
)
def test_other_names_are_not_similar(label: str) -> None:
    assert JAMS.similar_names.find(label) is None


def test_an_empty_taxonomy_has_no_similar_names() -> None:
    assert Taxonomy([]).similar_names.find("strawberry jam") is None
