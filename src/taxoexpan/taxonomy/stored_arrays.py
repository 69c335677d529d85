"""A taxonomy as flat arrays that are saved in a model, and read back without a copy of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.array_checks import (
    check_distinct,
    check_indices,
    check_offsets,
    check_texts,
    check_type,
)
from taxoexpan.taxonomy.packed_text import PackedNameMapping, PackedTextMapping, PackedTexts
from taxoexpan.taxonomy.taxonomy import Taxonomy

Arrays = dict[str, NDArray[Any]]


def taxonomy_arrays(taxonomy: Taxonomy) -> Arrays:
    """Return all that a taxonomy holds; texts are bytes and the offsets at which they begin."""
    size = len(taxonomy)
    texts = {
        "ids": PackedTexts.pack(taxonomy.ids),
        "labels": PackedTexts.pack(taxonomy.labels),
        "definitions": PackedTextMapping.pack(taxonomy.definitions, size).texts,
        "reserved": PackedTexts.pack(sorted(taxonomy.reserved)),
    }
    names = {
        "synonyms": PackedNameMapping.pack(taxonomy.synonyms, size),
        "foreign_names": PackedNameMapping.pack(taxonomy.foreign_names, size),
    }
    arrays: Arrays = {
        "deprecated": np.array(sorted(taxonomy.deprecated), dtype=np.int64),
        "levels": taxonomy.levels,
    }
    for name, mapping in names.items():
        texts[name] = mapping.names
        arrays[f"{name}.rows"] = mapping.offsets
    for name, packed in texts.items():
        arrays |= {f"{name}.text": packed.text, f"{name}.offsets": packed.offsets}
    for name in ("parents_of", "children_of"):
        adjacency: Adjacency = getattr(taxonomy, name)
        arrays |= {f"{name}.offsets": adjacency.offsets, f"{name}.targets": adjacency.targets}
    return arrays


def taxonomy_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Taxonomy:
    """Restore a taxonomy from the arrays of `taxonomy_arrays`; nothing is read before it is used.

    The arrays are trusted; `check_taxonomy_arrays` finds out whether they can be.
    """

    def texts(name: str) -> PackedTexts:
        return PackedTexts(arrays[f"{name}.text"], arrays[f"{name}.offsets"])

    def names(name: str) -> PackedNameMapping:
        return PackedNameMapping(texts(name), arrays[f"{name}.rows"])

    def adjacency(name: str) -> Adjacency:
        return Adjacency(arrays[f"{name}.offsets"], arrays[f"{name}.targets"])

    return Taxonomy.from_parts(
        texts("ids"),
        texts("labels"),
        names("synonyms"),
        PackedTextMapping(texts("definitions")),
        frozenset(arrays["deprecated"].tolist()),
        names("foreign_names"),
        frozenset(texts("reserved")),
        adjacency("parents_of"),
        adjacency("children_of"),
        arrays["levels"],
    )


def check_taxonomy_arrays(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse arrays that are not those of a valid taxonomy: without cycles, with distinct ids."""
    ids = check_texts(arrays, "ids")
    size = len(ids)
    if not size:
        raise ValueError("there are no concepts")
    check_distinct(ids, "ids")
    for name in ("labels", "definitions"):
        check_texts(arrays, name, size)
    check_texts(arrays, "reserved")
    for name in ("synonyms", "foreign_names"):
        check_offsets(arrays, f"{name}.rows", len(check_texts(arrays, name)), size)
    check_indices(arrays, "deprecated", size)
    _check_relations(arrays, size)


def _check_relations(arrays: Mapping[str, NDArray[Any]], size: int) -> None:
    """Refuse two directions that differ, repeated relations, and levels that are not theirs.

    Since the level of every concept is above those of its parents, there is no cycle.
    """
    pairs = []
    for name in ("parents_of", "children_of"):
        targets = check_indices(arrays, f"{name}.targets", size)
        offsets = check_offsets(arrays, f"{name}.offsets", len(targets), size)
        pairs.append((np.repeat(np.arange(size), np.diff(offsets)), targets))
    (children, above), (parents, below) = pairs
    upwards, downwards = np.sort(above * size + children), np.sort(parents * size + below)
    if not np.array_equal(upwards, downwards) or (np.diff(upwards) == 0).any():
        raise ValueError("the parents and the children of the concepts do not match")
    levels = check_type(arrays, "levels", np.int64)
    if len(levels) != size:
        raise ValueError("levels has the wrong length")
    expected = np.zeros(size, np.int64)
    offsets = arrays["parents_of.offsets"]
    placed = np.flatnonzero(np.diff(offsets))
    if len(placed):
        expected[placed] = np.maximum.reduceat(levels[above], offsets[placed]) + 1
    if not np.array_equal(levels, expected) or (levels[above] >= levels[children]).any():
        raise ValueError("the levels of the concepts are not those of their relations")
