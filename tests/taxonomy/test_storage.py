from __future__ import annotations

import numpy as np
import pytest

from taxoexpan import Concept, Taxonomy
from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy.storage import (
    taxonomy_arrays,
    taxonomy_digest,
    taxonomy_from_arrays,
)


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


def test_the_digest_changes_with_any_text() -> None:
    taxonomy = drinks()
    assert taxonomy_digest(taxonomy) == taxonomy_digest(drinks())
    assert taxonomy_digest(taxonomy.with_definitions({0: "another"})) != taxonomy_digest(taxonomy)
