from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from taxoexpan import Concept, Taxonomy
from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy.storage import (
    check_indices,
    check_taxonomy_arrays,
    check_texts,
    taxonomy_arrays,
    taxonomy_digest,
    taxonomy_from_arrays,
)


@pytest.mark.parametrize(
    ("text", "offsets", "reason"),
    [
        (b"\xff", [0, 1], "decode"),
        ("é".encode(), [0, 1, 2], "inside a character"),
        (b"ab", [0, 2, 1, 2], "are not offsets"),
        (b"ab", [1, 2], "are not offsets"),
        (b"ab", [0, 3], "are not offsets"),
        (b"ab", [], "wrong length"),
    ],
)
def test_wrong_texts_are_refused(text: bytes, offsets: list[int], reason: str) -> None:
    arrays = {
        "labels.text": np.frombuffer(text, np.uint8),
        "labels.offsets": np.array(offsets, np.int64),
    }
    with pytest.raises(ValueError, match=reason):
        check_texts(arrays, "labels")
    with pytest.raises(ValueError, match="wrong type or shape"):
        check_texts(arrays | {"labels.offsets": np.zeros(2)}, "labels")


def test_wrong_indices_are_refused() -> None:
    arrays = {"parents": np.array([0, 2, 1])}
    assert check_indices(arrays, "parents", 3).tolist() == [0, 2, 1]
    for wrong in ([0, 3], [-1]):
        with pytest.raises(ValueError, match="parents has an index out of range"):
            check_indices({"parents": np.array(wrong)}, "parents", 3)


def drinks() -> Taxonomy:
    return Taxonomy.from_columns(
        ["d", "t", "ö", "x"],
        ["drink", "tea", "öl\N{GREEN APPLE}", "old"],
        np.array([0, 0, 1]),
        np.array([1, 2, 3]),
        {1: ("chai", "cha")},
        {2: "what machines drink"},
        [3],
        {0: ("Getränk",)},
        ["reserved:1"],
    )


def test_a_restored_taxonomy_is_the_same() -> None:
    taxonomy = drinks()
    again = taxonomy_from_arrays(taxonomy_arrays(taxonomy))
    assert again == taxonomy
    assert taxonomy_digest(again) == taxonomy_digest(taxonomy)
    assert (again.roots, again.leaves, again.depth) == (taxonomy.roots, taxonomy.leaves, 3)
    assert again.concept("t") == Concept("t", "tea", ("chai", "cha"))
    assert again.path("x") == ("drink", "tea", "old")
    assert "ö" in again
    assert "nothing" not in again
    with pytest.raises(TaxonomyError, match="no concept has the id 'nothing'"):
        again.index("nothing")
    assert again.active == taxonomy.active
    assert again.without_deprecated_relations == taxonomy.without_deprecated_relations
    assert again.with_definitions({0: "liquid"}).concept("d").definition == "liquid"


def changed(name: str, values: list[int], kind: type[np.generic] = np.int64) -> dict[str, Any]:
    return taxonomy_arrays(drinks()) | {name: np.array(values, kind)}


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        (changed("levels", [0, 1, 1, 3]), "the levels of the concepts do not"),
        (changed("levels", [0, 1, 1]), "the levels of the concepts do not"),
        (changed("levels", [0, 1, 1, 2], np.int32), "levels has the wrong type"),
        (changed("parents_of.targets", [0, 0, 4]), "an index out of range"),
        (changed("parents_of.targets", [0, 0, -1]), "an index out of range"),
        (changed("parents_of.targets", [0, 0, 2]), "do not match"),
        (changed("parents_of.offsets", [0, 0, 1, 2]), "wrong length"),
        (changed("parents_of.offsets", [0, 0, 2, 1, 3]), "are not offsets"),
        (changed("deprecated", [4]), "an index out of range"),
        (changed("synonyms.rows", [0, 0, 1, 1, 2, 2]), "wrong length"),
        (changed("ids.text", [*b"dt\xc3\xb6t"], np.uint8), "ids has a text twice"),
        (taxonomy_arrays(Taxonomy([])), "there are no concepts"),
    ],
)
def test_wrong_arrays_are_refused(arrays: dict[str, Any], reason: str) -> None:
    check_taxonomy_arrays(taxonomy_arrays(drinks()))
    with pytest.raises(ValueError, match=reason):
        check_taxonomy_arrays(arrays)


def test_a_cycle_is_refused() -> None:
    arrays = taxonomy_arrays(Taxonomy([Concept("a", "a"), Concept("b", "b")], [("a", "b")]))
    circle = {"offsets": np.array([0, 1, 2]), "targets": np.array([1, 0])}
    for name in ("parents_of", "children_of"):
        arrays |= {f"{name}.{part}": array for part, array in circle.items()}
    for levels in ([0, 1], [1, 1], [2, 1]):
        with pytest.raises(ValueError, match="the levels of the concepts do not"):
            check_taxonomy_arrays(arrays | {"levels": np.array(levels)})


def test_the_digest_changes_with_any_text() -> None:
    taxonomy = drinks()
    assert taxonomy_digest(taxonomy) == taxonomy_digest(drinks())
    assert taxonomy_digest(taxonomy.with_definitions({0: "another"})) != taxonomy_digest(taxonomy)
