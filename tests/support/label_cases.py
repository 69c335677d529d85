"""Taxonomies and queries whose labels share words."""

from __future__ import annotations

from hypothesis import strategies as st

from taxoexpan.taxonomy import Concept, Taxonomy

WORDS = ["tea", "teas", "Green", "milk", "oat", "berries", "berry", "&"]
phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


@st.composite
def taxonomies(draw: st.DrawFn) -> Taxonomy:
    """Concepts with few words, so that many of them are shared, and chains of parents."""
    count = draw(st.integers(1, 12))
    concepts = [
        Concept(str(i), draw(phrases), tuple(draw(st.lists(phrases, max_size=2))))
        for i in range(count)
    ]
    relations = [
        (str(parent), str(child))
        for child in range(1, count)
        for parent in draw(st.sets(st.integers(max(0, child - 2), child - 1), max_size=2))
    ]
    return Taxonomy(concepts, relations)


queries = st.lists(
    st.lists(st.sampled_from([*WORDS, "yak", "zebu"]), min_size=1, max_size=5).map(" ".join),
    max_size=4,
)
