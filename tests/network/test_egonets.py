from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.network.egonets import build_egonets, draw_siblings, spread_siblings
from tests.support.builders import random_taxonomy, star


@given(st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_an_egonet_holds_the_anchor_with_all_its_parents_and_children(seed: int) -> None:
    taxonomy = random_taxonomy(seed)
    anchors = np.random.default_rng(seed).permutation(len(taxonomy))[:10]
    egonets = build_egonets(taxonomy, anchors, spread_siblings(taxonomy, anchors, 100))
    concepts = egonets.concepts[egonets.nodes]
    above, middle, below = concepts.split(egonets.sizes)
    assert middle.tolist() == anchors.tolist()
    for slot, anchor in enumerate(anchors):
        parents = above[egonets.grandparent[egonets.grandparent_of == slot]]
        children = below[egonets.sibling_of == slot]
        assert sorted(parents.tolist()) == sorted(taxonomy.parents_of.of(anchor).tolist())
        assert sorted(children.tolist()) == sorted(taxonomy.children_of.of(anchor).tolist())
    assert len(set(egonets.concepts.tolist())) == len(egonets.concepts)


def test_a_hub_has_at_most_the_allowed_siblings_and_none_twice() -> None:
    taxonomy = star(1000)
    generator = np.random.default_rng(0)
    drawn = draw_siblings(taxonomy, np.array([0]), 50, 0.0, generator)
    assert len(np.unique(drawn.relations)) == 50


def test_each_child_of_a_hub_is_drawn_equally_often() -> None:
    taxonomy = star(20)
    generator = np.random.default_rng(0)
    counts = np.zeros(20)
    for _ in range(2000):
        counts[draw_siblings(taxonomy, np.array([0]), 5, 0.0, generator).relations] += 1
    assert counts.min() > 400
    assert counts.max() < 600


def test_spread_siblings_are_always_the_same_and_at_equal_distances() -> None:
    taxonomy = star(1000)
    first = spread_siblings(taxonomy, np.array([0]), 10).relations
    assert first.tolist() == list(range(0, 1000, 100))
    assert first.tolist() == spread_siblings(taxonomy, np.array([0]), 10).relations.tolist()
