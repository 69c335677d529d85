"""The flat arrays of a taxonomy that are saved in a model, their validation, and a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.sequences import LazyMapping, PackedTexts
from taxoexpan.taxonomy.taxonomy import Taxonomy

BLOCK = 1 << 14
"""Texts that are checked at a time, which limits the memory."""
Arrays = Mapping[str, NDArray[Any]]


def check_type(arrays: Arrays, name: str, *types: type[np.generic]) -> NDArray[Any]:
    """Return an array; it must be one-dimensional and have one of these types."""
    array = arrays[name]
    if array.ndim != 1 or array.dtype.type not in types:
        raise ValueError(f"{name} has the wrong type or shape")
    return array


def check_offsets(arrays: Arrays, name: str, end: int, rows: int | None = None) -> Indices:
    """Return the offsets of `rows` rows, which must ascend from 0 to `end`."""
    offsets = check_type(arrays, name, np.int64)
    if not len(offsets) or (rows is not None and len(offsets) != rows + 1):
        raise ValueError(f"{name} has the wrong length")
    if offsets[0] != 0 or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
        raise ValueError(f"{name} are not offsets")
    return offsets


def check_texts(arrays: Arrays, name: str, rows: int | None = None) -> PackedTexts:
    """Return packed strings, each of which must be valid UTF-8."""
    text = check_type(arrays, f"{name}.text", np.uint8)
    offsets = check_offsets(arrays, f"{name}.offsets", len(text), rows)
    starts = offsets[:-1][offsets[:-1] < len(text)]
    if (text[starts] & 0xC0 == 0x80).any():
        raise ValueError(f"{name} has a text that begins inside a character")
    for start in range(0, len(offsets) - 1, BLOCK):
        ends = offsets[start : start + BLOCK + 1]
        text[ends[0] : ends[-1]].tobytes().decode("utf-8", "surrogatepass")
    return PackedTexts(text, offsets)


def check_indices(arrays: Arrays, name: str, size: int) -> Indices:
    """Return indices, which must be below `size`."""
    indices = check_type(arrays, name, np.int64)
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        raise ValueError(f"{name} has an index out of range")
    return indices


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
    """Restore a taxonomy lazily from arrays that `check_taxonomy_arrays` has checked."""

    def texts(name: str) -> PackedTexts:
        return PackedTexts(arrays[f"{name}.text"], arrays[f"{name}.offsets"])

    def names(name: str) -> LazyMapping[tuple[str, ...]]:
        packed, rows = texts(name), arrays[f"{name}.rows"]
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


def check_taxonomy_arrays(arrays: Arrays) -> None:
    """Refuse arrays that are not a valid taxonomy without cycles and with distinct ids."""
    ids = check_texts(arrays, "ids")
    size = len(ids)
    if not size:
        raise ValueError("there are no concepts")
    if len(set(ids)) < size:
        raise ValueError("ids has a text twice")
    for name in ("labels", "definitions"):
        check_texts(arrays, name, size)
    check_texts(arrays, "reserved")
    for name in ("synonyms", "foreign_names"):
        check_offsets(arrays, f"{name}.rows", len(check_texts(arrays, name)), size)
    check_indices(arrays, "deprecated", size)
    _check_relations(arrays, size)


def _check_relations(arrays: Arrays, size: int) -> None:
    """Refuse contradictory directions, repeated relations, and wrong levels (and so all cycles)."""
    pairs = []
    for name in ("parents_of", "children_of"):
        targets = check_indices(arrays, f"{name}.targets", size)
        offsets = check_offsets(arrays, f"{name}.offsets", len(targets), size)
        pairs.append((np.repeat(np.arange(size), np.diff(offsets)), targets))
    (children, above), (parents, below) = pairs
    upwards, downwards = np.sort(above * size + children), np.sort(parents * size + below)
    if not np.array_equal(upwards, downwards) or (np.diff(upwards) == 0).any():
        raise ValueError("the parents and the children of the concepts do not match")
    levels, expected = check_type(arrays, "levels", np.int64), np.zeros(size, np.int64)
    starts = arrays["parents_of.offsets"]
    placed = np.flatnonzero(np.diff(starts))
    if len(placed) and len(levels) == size:
        expected[placed] = np.maximum.reduceat(levels[above], starts[placed]) + 1
    if not np.array_equal(levels, expected) or (levels[above] >= levels[children]).any():
        raise ValueError("the levels of the concepts do not fit their relations")


def taxonomy_digest(taxonomy: Taxonomy) -> str:
    """Return a digest that identifies a taxonomy."""
    digest = hashlib.sha256()
    for name, array in taxonomy_arrays(taxonomy).items():
        digest.update(f"{name} {len(array)} ".encode() + array.tobytes())
    return digest.hexdigest()
