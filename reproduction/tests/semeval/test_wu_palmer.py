from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.semeval.wu_palmer import WuPalmer
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support.builders import random_taxonomy


def ways_up(taxonomy: Taxonomy, id: str) -> Iterator[list[str]]:
    """Every way from a concept to the root above all roots."""
    parents = taxonomy.parents(id)
    for parent in parents:
        yield from ([id, *way] for way in ways_up(taxonomy, parent))
    if not parents:
        yield [id, "top"] if len(taxonomy.roots) > 1 else [id]


def slow_similarity(taxonomy: Taxonomy, one: str, other: str) -> float:
    some, others = (list(ways_up(taxonomy, id)) for id in (one, other))
    common = {x for way in some for x in way} & {x for way in others for x in way}

    def depth(id: str) -> int:
        return 1 if id == "top" else min(map(len, ways_up(taxonomy, id)))

    def length(ways: list[list[str]], id: str) -> int:
        return min(way.index(id) for way in ways if id in way)

    lengths = {id: length(some, id) + length(others, id) for id in common}
    return max(2 * depth(id) / (lengths[id] + 2 * depth(id)) for id in common)


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_the_similarity_is_the_best_over_all_paths_up(seed: int) -> None:
    taxonomy = random_taxonomy(seed, count=4 + seed % 9, most_parents=2)
    similarity = WuPalmer(taxonomy)
    everyone = np.arange(len(taxonomy))
    for one in everyone:
        slow = [slow_similarity(taxonomy, taxonomy.ids[one], id) for id in taxonomy.ids]
        np.testing.assert_allclose(similarity.of_pairs(np.full(len(everyone), one), everyone), slow)
        assert similarity(int(one), int(one)) == 1


def test_several_roots_stand_under_one_more() -> None:
    concepts = [Concept(id, id) for id in "abcd"]
    similarity = WuPalmer(Taxonomy(concepts, [("a", "b"), ("c", "d")]))
    assert similarity(0, 1) == pytest.approx(2 * 2 / (1 + 2 * 2))
    assert similarity(1, 3) == pytest.approx(2 * 1 / (4 + 2 * 1))
    alone = WuPalmer(Taxonomy(concepts[:2], [("a", "b")]))
    assert alone(0, 1) == pytest.approx(2 * 1 / (1 + 2 * 1))
