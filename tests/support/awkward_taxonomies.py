"""Taxonomies with names that are hard to write to a file."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from taxoexpan.taxonomy import Taxonomy
from tests.support.strategies import growths, names

LABELS = names(breaks=True) | st.sampled_from(["a", "a-2", "b", "a (x)", "path", "child,parent"])
IDS = names(breaks=True) | st.sampled_from(["x", "a", "a|b", "x|a", "#", "path", "1", "a > b"])


@st.composite
def awkward(
    draw: st.DrawFn,
    ids: st.SearchStrategy[str] | None = None,
    labels: st.SearchStrategy[str] | None = None,
    synonyms: st.SearchStrategy[str] | None = None,
    most_parents: int = 3,
) -> Taxonomy:
    """A taxonomy with names that are hard to write; the label is the id unless labels are given."""
    words = names(breaks=True)
    growth = draw(growths(ids=ids, labels=labels, most_parents=most_parents))
    concepts = [
        replace(
            concept,
            synonyms=tuple(draw(st.lists(synonyms, max_size=2))) if synonyms is not None else (),
            definition=draw(st.just("") | words) if synonyms is not None else "",
            deprecated=draw(st.booleans()) if synonyms is not None else False,
        )
        for concept in growth.old.concepts
    ]
    return Taxonomy(concepts, growth.old.relations)
