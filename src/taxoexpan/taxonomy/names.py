"""Keys for comparing names, and an index of child concepts by the ends of their labels."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.english import singular

GAPS = re.compile(r"[\s\-_\u00ad\u2010-\u2015\u2212]+")


def normalize_name(name: str) -> str:
    """Return a name in lower case, with every run of spaces and hyphens as one space."""
    return GAPS.sub(" ", unicodedata.normalize("NFKC", name).casefold()).strip()


@lru_cache(maxsize=1 << 16)
def name_key(name: str) -> str:
    """Return a normalized name with its last word in the singular."""
    return words_key(normalize_name(name).split())


def words_key(words: Sequence[str]) -> str:
    """Return the `name_key` of a name that is normalized and split into words."""
    return " ".join([*words[:-1], *map(singular, words[-1:])])


class LabelEndings:
    """An index of children by the last words of their labels; it stores hashes to save memory."""

    def __init__(self, labels: Sequence[str], children_of: Adjacency) -> None:
        self._labels = labels
        self._children_of = children_of
        concepts: list[int] = []
        hashes: list[int] = []
        for concept, label in enumerate(labels):
            words = words_key(normalize_name(label).split()).split(" ")
            hashes += [hash(" ".join(words[start:])) for start in range(1, len(words))]
            concepts += [concept] * (len(words) - 1)
        hashed = np.array(hashes, dtype=np.int64)
        order = np.argsort(hashes, kind="stable")
        self._hashes = hashed[order]
        self._concepts = np.array(concepts, dtype=np.int64)[order]

    def children(self, parent: int, names: set[str]) -> list[int]:
        """Return a concept's children whose labels end with one of these name keys."""
        children = self._children_of.of(parent)
        found = set[int]()
        for name in names:
            first, last = (np.searchsorted(self._hashes, hash(name), e) for e in ("left", "right"))
            same = self._concepts[first:last]  # ascending, because the sorting is stable
            places = np.minimum(np.searchsorted(same, children), max(len(same) - 1, 0))
            found.update(children[same[places] == children].tolist() if len(same) else ())
        endings = tuple(f" {name}" for name in names)
        likely = [child for child in children.tolist() if child in found]
        return [child for child in likely if name_key(self._labels[child]).endswith(endings)]
