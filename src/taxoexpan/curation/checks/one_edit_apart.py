"""Pairs of texts that are one edit apart, found by sorting hashes instead of comparing all pairs.

Two texts are one edit apart if they agree after removing one character from the longer text, or one
from each at the same position. So every text is hashed as a whole and without each single
character, sorting brings equal hashes together, and texts with a common hash are compared.

The hash of a text is Σ mix(c_i) · B^i modulo 2^64. With sums S_p over the characters before p, and
S over all, the text without its character p has the hash S_p + (S − S_{p+1}) / B. Division by B is
multiplication with its inverse, which exists because B is odd.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.adjacency import ranges
from taxoexpan.taxonomy.arrays import Indices

Hashes = NDArray[np.uint64]

MAX_GROUP_SIZE = 10
"""More texts than this with a common hash follow a pattern (class a, class b) and are ignored."""

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)


@dataclass(frozen=True)
class Edits:
    """Pairs of texts; `longer[k]` has an extra or another character at `positions[k]`."""

    longer: Indices
    shorter: Indices
    positions: Indices


@dataclass(frozen=True)
class _Texts:
    """Concatenated texts as code points."""

    codes: NDArray[np.uint32]
    starts: Indices
    lengths: Indices


def one_edit_apart(texts: Sequence[str]) -> Edits:
    """All pairs of distinct texts that differ by one added, removed or replaced character.

    Pairs that differ in a digit are left out, and so are groups of texts that follow a pattern.
    """
    lengths = np.fromiter(map(len, texts), np.int64, count=len(texts))
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    joined = _Texts(codes, np.cumsum(lengths) - lengths, lengths)
    return _without_digits(joined, _verified(joined, *_same_hash(*_hashes(joined))))


def _hashes(texts: _Texts) -> tuple[Hashes, Indices]:
    """The hashes of every text, whole and without each character, and the text of each hash."""
    codes, starts, lengths = texts.codes, texts.starts, texts.lengths
    positions = ranges(np.zeros_like(starts), lengths)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    sums = np.zeros(len(codes) + 1, dtype=np.uint64)
    np.cumsum(_mixed(codes) * _powers(int(lengths.max(initial=0)))[positions], out=sums[1:])
    before, until = sums[starts], sums[starts + lengths]
    # In a run of the same character, removing any of them gives the same text.
    run_start = positions == 0
    run_start[1:] |= codes[1:] != codes[:-1]
    removed = np.flatnonzero(run_start)
    owners = owners[removed]
    after = (until[owners] - sums[removed + 1]) * np.uint64(_INVERSE)
    shortened = sums[removed] - before[owners] + after
    return np.concatenate([until - before, shortened]), np.concatenate(
        [np.arange(len(lengths)), owners]
    )


def _mixed(codes: NDArray[np.uint32]) -> Hashes:
    """Code points as well-distributed 64-bit numbers (the last steps of splitmix64)."""
    mixed = codes.astype(np.uint64) + np.uint64(_BASE)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _powers(longest: int) -> Hashes:
    powers = np.full(longest + 1, _BASE, dtype=np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)


def _same_hash(hashes: Hashes, owners: Indices) -> tuple[Indices, Indices]:
    """All pairs of texts with a common hash, unless too many texts have it."""
    order = np.argsort(hashes)
    hashes, owners = hashes[order], owners[order]
    changes = np.flatnonzero(hashes[1:] != hashes[:-1]) + 1
    sizes = np.diff(changes, prepend=0, append=len(hashes))
    kept = np.repeat((sizes > 1) & (sizes <= MAX_GROUP_SIZE), sizes)
    hashes, owners = hashes[kept], owners[kept]
    first, second = [], []
    for distance in range(1, MAX_GROUP_SIZE):
        same = np.flatnonzero(hashes[distance:] == hashes[:-distance])
        first.append(owners[same])
        second.append(owners[same + distance])
    return np.concatenate(first), np.concatenate(second)


def _verified(texts: _Texts, first: Indices, second: Indices) -> Edits:
    """The pairs that really are one edit apart: not two edits, and no hash collision."""
    swap = texts.lengths[first] < texts.lengths[second]
    longer, shorter = np.where(swap, second, first), np.where(swap, first, second)
    extra = texts.lengths[longer] - texts.lengths[shorter]
    close = extra <= 1
    longer, shorter, extra = longer[close], shorter[close], extra[close]
    starts, others, ends = texts.starts[longer], texts.starts[shorter], texts.lengths[shorter]
    positions = _common_prefix(texts.codes, starts, others, ends)
    rest = ends - positions - 1 + extra
    starts, others = starts + positions + 1, others + positions + 1 - extra
    same = _common_prefix(texts.codes, starts, others, rest) == rest
    return Edits(longer[same], shorter[same], positions[same])


def _common_prefix(
    codes: NDArray[np.uint32], starts: Indices, others: Indices, counts: Indices
) -> Indices:
    """The number of equal characters after two starts, at most `counts`."""
    differing = np.flatnonzero(codes[ranges(starts, counts)] != codes[ranges(others, counts)])
    owners = np.repeat(np.arange(len(counts)), counts)[differing]
    owners, first = np.unique(owners, return_index=True)
    equal = counts.copy()
    equal[owners] = (differing - (np.cumsum(counts) - counts).repeat(counts)[differing])[first]
    return equal


def _without_digits(texts: _Texts, edits: Edits) -> Edits:
    """The edits that do not change a digit, because different numbers name different things."""
    longer, shorter, positions = edits.longer, edits.shorter, edits.positions
    added = texts.codes[texts.starts[longer] + positions]
    replaced = np.where(
        texts.lengths[longer] == texts.lengths[shorter],
        texts.codes[np.minimum(texts.starts[shorter] + positions, len(texts.codes) - 1)],
        added,
    )
    digits = [code for code in np.unique([added, replaced]).tolist() if chr(code).isdigit()]
    kept = ~(np.isin(added, digits) | np.isin(replaced, digits))
    return Edits(longer[kept], shorter[kept], positions[kept])
