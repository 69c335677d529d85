"""Taxonomies that tests are made of."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from taxoexpan import Suggestion
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

KINDS = ("milk", "tea", "cheese", "bread", "apple", "sauce", "soup", "berry")
SORTS = ("oat", "green", "goat", "rye", "red", "chili", "lentil", "blue", "almond", "black")

FOOD = Taxonomy(
    [Concept(name, name) for name in ("food", "fruit", "bread", "rye bread", "apple", "gala")],
    [
        ("food", "fruit"),
        ("food", "bread"),
        ("bread", "rye bread"),
        ("fruit", "apple"),
        ("apple", "gala"),
    ],
)
"""Three kinds of food on three levels."""


def tree(*paths: str, synonyms: Mapping[str, tuple[str, ...]] | None = None) -> Taxonomy:
    """A taxonomy of paths such as "food > drink > tea", in which labels are ids."""
    labels = [path.split(" > ") for path in paths]
    names = dict.fromkeys(name for path in labels for name in path)
    relations = dict.fromkeys(pair for path in labels for pair in pairwise(path))
    concepts = [Concept(name, name, (synonyms or {}).get(name, ())) for name in names]
    return Taxonomy(concepts, list(relations))


def random_taxonomy(seed: int, count: int = 30, most_parents: int = 3) -> Taxonomy:
    """Each concept under some earlier ones, or none."""
    generator = np.random.default_rng(seed)
    pairs = [
        (int(parent), child)
        for child in range(1, count)
        for parent in generator.choice(
            child, min(child, int(generator.integers(0, most_parents + 1))), replace=False
        )
    ] or [(0, 1)]
    parents, children = np.array(pairs).T
    names = [f"c{i}" for i in range(count)]
    return Taxonomy.from_columns(names, names, parents, children)


def star(children: int) -> Taxonomy:
    """One root with many children."""
    names = [f"c{i}" for i in range(children + 1)]
    return Taxonomy.from_columns(
        names, names, np.zeros(children, np.int64), np.arange(1, children + 1)
    )


def pantry_csv() -> str:
    """Ninety foods that are easy to place: oat milk is a milk, and a milk is a food."""
    lines = ["child,parent", "food,", *(f"{kind},food" for kind in KINDS)]
    lines += [f"{sort} {kind},{kind}" for kind in KINDS for sort in SORTS]
    return "\n".join(lines) + "\n"


def batch(*relations: tuple[str, str]) -> Additions:
    """Return additions of the children of these relations, with names as ids."""
    names = dict.fromkeys(child for _, child in relations)
    return Additions([Concept(name, name) for name in names], relations)


def own(query: Concept | str, parent: str, label: str = "", **fields: Any) -> Suggestion:
    """A suggestion that a person has made; it has no rank."""
    concept = query if isinstance(query, Concept) else Concept("", query)
    return Suggestion(concept, 0, Concept(parent, label), **fields)
