from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_growth import grown

from taxoexpan import Concept, Taxonomy
from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy.stored_arrays import (
    check_taxonomy_arrays,
    taxonomy_arrays,
    taxonomy_from_arrays,
)
from taxoexpan.taxonomy.stored_columns import taxonomy_digest


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


def test_a_restored_taxonomy_grows_like_another() -> None:
    taxonomy = drinks()
    again = taxonomy_from_arrays(taxonomy_arrays(taxonomy))
    assert grown(again, 1) == grown(taxonomy, 1)
    assert again.without(["t"]) == taxonomy.without(["t"])


def test_arrays_of_different_taxonomies_are_refused() -> None:
    arrays = taxonomy_arrays(drinks())
    smaller = taxonomy_arrays(drinks().without(["x"]))
    with pytest.raises(TaxonomyError, match="the parts of the taxonomy have different sizes"):
        taxonomy_from_arrays(arrays | {"levels": smaller["levels"]})


def test_an_empty_taxonomy_can_be_stored() -> None:
    assert len(taxonomy_from_arrays(taxonomy_arrays(Taxonomy([])))) == 0


def changed(name: str, values: list[int], kind: type[np.generic] = np.int64) -> dict[str, Any]:
    return taxonomy_arrays(drinks()) | {name: np.array(values, kind)}


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        (changed("levels", [0, 1, 1, 3]), "the levels of the concepts are not"),
        (changed("levels", [0, 1, 1]), "levels has the wrong length"),
        (changed("levels", [0, 1, 1, 2], np.int32), "levels has the wrong type"),
        (changed("parents_of.targets", [0, 0, 4]), "an index out of range"),
        (changed("parents_of.targets", [0, 0, -1]), "an index out of range"),
        (changed("parents_of.targets", [0, 0, 2]), "do not match"),
        (changed("parents_of.offsets", [0, 0, 1, 2]), "wrong length"),
        (changed("parents_of.offsets", [0, 0, 2, 1, 3]), "are no offsets"),
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
        with pytest.raises(ValueError, match="the levels of the concepts are not"):
            check_taxonomy_arrays(arrays | {"levels": np.array(levels)})


def test_random_taxonomies_pass_the_checks() -> None:
    taxonomy = drinks()
    for seed in range(5):
        taxonomy = grown(taxonomy, seed)
        check_taxonomy_arrays(taxonomy_arrays(taxonomy))
