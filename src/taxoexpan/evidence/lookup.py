"""Concepts by their index, each looked up once."""

from __future__ import annotations

from functools import cache

from taxoexpan.evidence.words import name_words
from taxoexpan.taxonomy import Taxonomy


class Lookup:
    """What a taxonomy says of a concept at an index: itself, its path, the words of its names."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self.concept = cache(taxonomy.concept_at)
        self.path = cache(lambda index: taxonomy.path(taxonomy.ids[index]))
        self.words = cache(lambda index: name_words(self.concept(index)))

    def standing(self, index: int, seen_from: int) -> str:
        """Where one concept stands, seen from another: above, below, beside or elsewhere."""
        parents, children = self.taxonomy.parents_of, self.taxonomy.children_of
        above = parents.of(seen_from)
        if index in above:
            return "above"
        if index in children.of(seen_from):
            return "below"
        return "beside" if set(above.tolist()) & set(parents.of(index).tolist()) else "elsewhere"
