"""Small taxonomies with given labels, for the tests of the checks."""

from __future__ import annotations

from taxoexpan.taxonomy import Concept, Taxonomy

REMEDY = "merge them if they are the same concept"
"""The advice of findings about similar names."""


def build(labels: dict[str, str], *relations: str) -> Taxonomy:
    concepts = [Concept(id, label) for id, label in labels.items()]
    return Taxonomy(concepts, [(pair[0], pair[1]) for pair in relations])


def siblings(*labels: str) -> Taxonomy:
    ids = "abcdefghijkl"[: len(labels)]
    names = dict(zip(ids, labels, strict=True))
    return build({"r": "everything", **names}, *(f"r{id}" for id in ids))


def cousins(first: str, second: str) -> Taxonomy:
    names = {"r": "everything", "x": "one", "y": "other", "a": first, "b": second}
    return build(names, "rx", "ry", "xa", "yb")
