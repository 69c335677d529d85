"""The flat arrays of a taxonomy that are saved in a model, and a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.sequences import LazyMapping, PackedTexts
from taxoexpan.taxonomy.taxonomy import Taxonomy

Arrays = Mapping[str, NDArray[Any]]


def taxonomy_arrays(taxonomy: Taxonomy) -> dict[str, NDArray[Any]]:
    """Return a taxonomy as arrays; strings are stored as bytes and offsets."""
    size = len(taxonomy)
    texts = {
        "ids": PackedTexts.pack(taxonomy.ids),
        "labels": PackedTexts.pack(taxonomy.labels),
        "definitions": PackedTexts.pack(taxonomy.definitions.get(i, "") for i in range(size)),
        "reserved": PackedTexts.pack(sorted(taxonomy.reserved)),
    }
    arrays: dict[str, NDArray[Any]] = {
        "deprecated": np.array(sorted(taxonomy.deprecated), dtype=np.int64),
        "levels": taxonomy.levels,
    }
    for name in ("synonyms", "foreign_names"):
        names = [getattr(taxonomy, name).get(index, ()) for index in range(size)]
        texts[name] = PackedTexts.pack(chain.from_iterable(names))
        arrays[f"{name}.rows"] = np.cumsum([0, *map(len, names)], dtype=np.int64)
    for name, packed in texts.items():
        arrays |= {f"{name}.text": packed.text, f"{name}.offsets": packed.offsets}
    for name in ("parents_of", "children_of"):
        adjacency: Adjacency = getattr(taxonomy, name)
        arrays |= {f"{name}.offsets": adjacency.offsets, f"{name}.targets": adjacency.targets}
    return arrays


def taxonomy_from_arrays(arrays: Arrays) -> Taxonomy:
    """Restore a taxonomy lazily from the arrays of `taxonomy_arrays`."""

    def texts(name: str) -> PackedTexts:
        return PackedTexts(arrays[f"{name}.text"], arrays[f"{name}.offsets"])

    def names(name: str) -> LazyMapping[tuple[str, ...]]:
        packed = texts(name)
        rows = arrays[f"{name}.rows"]
        return LazyMapping(rows, lambda i: packed[int(rows[i]) : int(rows[i + 1])])

    def adjacency(name: str) -> Adjacency:
        return Adjacency(arrays[f"{name}.offsets"], arrays[f"{name}.targets"])

    definitions = texts("definitions")
    return Taxonomy.from_parts(
        texts("ids"),
        texts("labels"),
        names("synonyms"),
        LazyMapping(definitions.offsets, definitions.__getitem__),
        frozenset(arrays["deprecated"].tolist()),
        names("foreign_names"),
        frozenset(texts("reserved")),
        adjacency("parents_of"),
        adjacency("children_of"),
        arrays["levels"],
    )


def taxonomy_digest(taxonomy: Taxonomy) -> str:
    """Return a digest that identifies a taxonomy."""
    digest = hashlib.sha256()
    for name, array in taxonomy_arrays(taxonomy).items():
        digest.update(f"{name} {len(array)} ".encode() + array.tobytes())
    return digest.hexdigest()
