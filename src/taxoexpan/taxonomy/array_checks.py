"""Checks of arrays that come from a file, which may be damaged; a wrong one is a ValueError."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.packed_text import PackedTexts

BLOCK = 1 << 14
"""Texts that are checked at a time, which limits the memory."""
BASE = 0x9E3779B97F4A7C15
"""The base of the polynomials that are hashes of texts; it is odd, so it has an inverse."""
INVERSE = pow(BASE, -1, 1 << 64)

Arrays = Mapping[str, NDArray[Any]]


def check_type(arrays: Arrays, name: str, *types: type[np.generic]) -> NDArray[Any]:
    """Return a one-dimensional array of one of these types."""
    array = arrays[name]
    if array.ndim != 1 or array.dtype.type not in types:
        raise ValueError(f"{name} has the wrong type or shape")
    return array


def check_offsets(arrays: Arrays, name: str, end: int, rows: int | None = None) -> Indices:
    """Return offsets that ascend from 0 to `end`, for this number of rows."""
    offsets = check_type(arrays, name, np.int64)
    if not len(offsets) or (rows is not None and len(offsets) != rows + 1):
        raise ValueError(f"{name} has the wrong length")
    if offsets[0] != 0 or offsets[-1] != end or (offsets[1:] < offsets[:-1]).any():
        raise ValueError(f"{name} are no offsets")
    return offsets


def check_texts(arrays: Arrays, name: str, rows: int | None = None) -> PackedTexts:
    """Return packed texts, after checking that each of them is UTF-8."""
    text = check_type(arrays, f"{name}.text", np.uint8)
    offsets = check_offsets(arrays, f"{name}.offsets", len(text), rows)
    starts = offsets[:-1][offsets[:-1] < len(text)]
    if (text[starts] & 0xC0 == 0x80).any():
        raise ValueError(f"{name} has a text that begins inside a character")
    for start, stop in _blocks(len(offsets) - 1):
        text[offsets[start] : offsets[stop]].tobytes().decode("utf-8", "surrogatepass")
    return PackedTexts(text, offsets)


def check_indices(arrays: Arrays, name: str, size: int, length: int | None = None) -> Indices:
    """Return indices below `size`."""
    indices = check_type(arrays, name, np.int64)
    if length is not None and len(indices) != length:
        raise ValueError(f"{name} has the wrong length")
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        raise ValueError(f"{name} has an index out of range")
    return indices


def check_distinct(texts: PackedTexts, name: str) -> None:
    """Refuse texts that occur twice, without decoding more than those with equal hashes."""
    hashes = text_hashes(texts)
    ordered = np.sort(hashes)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    candidates = np.flatnonzero(np.isin(hashes, repeated)) if len(repeated) else repeated
    if len({texts[row] for row in candidates.tolist()}) < len(candidates):
        raise ValueError(f"{name} has a text twice")


def text_hashes(texts: PackedTexts) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each text: a polynomial of its bytes.

    All texts of a block are evaluated as one, so each of them is divided by its first power.
    """
    hashes = np.empty(len(texts), np.uint64)
    powers = inverses = np.ones(1, np.uint64)
    for start, stop in _blocks(len(texts)):
        offsets = texts.offsets[start : stop + 1]
        own = texts.text[offsets[0] : offsets[-1]].astype(np.uint64)
        if len(powers) <= len(own):
            powers, inverses = _powers(BASE, len(own) + 1), _powers(INVERSE, len(own) + 1)
        own += np.uint64(1)
        own *= powers[: len(own)]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(own)])
        offsets = offsets - offsets[0]
        hashes[start:stop] = (sums[offsets[1:]] - sums[offsets[:-1]]) * inverses[offsets[:-1]]
    return hashes


def _powers(base: int, count: int) -> NDArray[np.uint64]:
    powers = np.full(count, base, np.uint64)
    powers[0] = 1
    return np.cumprod(powers, out=powers)


def _blocks(count: int) -> Iterator[tuple[int, int]]:
    """Yield the first text of each block, and the one after the last."""
    for start in range(0, count, BLOCK):
        yield start, min(start + BLOCK, count)
