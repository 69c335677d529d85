"""A taxonomy as flat arrays that are saved in a model, and read back without a copy of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.adjacency import Adjacency
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

    The arrays are trusted, since they come from a valid taxonomy: ids are not compared, and cycles
    are not searched.
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
