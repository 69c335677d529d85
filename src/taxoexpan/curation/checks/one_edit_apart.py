"""Texts that are one edit apart, found in one sort of hashes instead of by comparing all pairs.

Two texts are one edit apart when they agree after one character is left out of the longer one, or
out of each at the same place. So every text is hashed whole and with each single character left
out, equal hashes are brought together by sorting, and what comes together is compared.

The hash of a text is Σ mix(c_i) · B^i modulo 2^64. With sums S_p over the characters before p, and
S over all, the text without its character p has S_p + (S − S_{p+1}) / B; dividing is multiplying
with B's inverse, which an odd B has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.adjacency import ranges
from taxoexpan.taxonomy.arrays import Indices

Hashes = NDArray[np.uint64]

MOST_ALIKE = 10
"""Where more texts than this meet in one, they follow a pattern: class a, class b, class c."""

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)


@dataclass(frozen=True)
class Edits:
    """Pairs of texts; `longer[k]` has at `places[k]` what `shorter[k]` lacks or has otherwise."""

    longer: Indices
    shorter: Indices
    places: Indices


@dataclass(frozen=True)
class _Texts:
    """Texts end to end, as code points."""

    codes: NDArray[np.uint32]
    starts: Indices
    lengths: Indices


def one_edit_apart(texts: Sequence[str]) -> Edits:
    """All pairs of distinct texts between which one character is added, removed or replaced.

    A pair that differs in a digit is left out, and so are those where a pattern makes too many.
    """
    lengths = np.fromiter(map(len, texts), np.int64, count=len(texts))
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    laid_out = _Texts(codes, np.cumsum(lengths) - lengths, lengths)
    return _without_digits(laid_out, _verified(laid_out, *_meetings(*_hashed(laid_out))))


def _hashed(texts: _Texts) -> tuple[Hashes, Indices]:
    """The hashes of every text, whole and with each character left out, and whose they are."""
    codes, starts, lengths = texts.codes, texts.starts, texts.lengths
    places = ranges(np.zeros_like(starts), lengths)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    sums = np.zeros(len(codes) + 1, dtype=np.uint64)
    np.cumsum(_mixed(codes) * _powers(int(lengths.max(initial=0)))[places], out=sums[1:])
    before, until = sums[starts], sums[starts + lengths]
    # Of a run of one character any may be left out; the first stands for all.
    fresh = places == 0
    fresh[1:] |= codes[1:] != codes[:-1]
    left_out = np.flatnonzero(fresh)
    owners = owners[left_out]
    behind = (until[owners] - sums[left_out + 1]) * np.uint64(_INVERSE)
    shortened = sums[left_out] - before[owners] + behind
    return np.concatenate([until - before, shortened]), np.concatenate(
        [np.arange(len(lengths)), owners]
    )


def _mixed(codes: NDArray[np.uint32]) -> Hashes:
    """Neighbouring code points far apart (the last steps of splitmix64)."""
    mixed = codes.astype(np.uint64) + np.uint64(_BASE)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _powers(longest: int) -> Hashes:
    powers = np.full(longest + 1, _BASE, dtype=np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)


def _meetings(hashes: Hashes, owners: Indices) -> tuple[Indices, Indices]:
    """All pairs of texts that share a hash, unless too many share it."""
    order = np.argsort(hashes)
    hashes, owners = hashes[order], owners[order]
    changes = np.flatnonzero(hashes[1:] != hashes[:-1]) + 1
    sizes = np.diff(changes, prepend=0, append=len(hashes))
    kept = np.repeat((sizes > 1) & (sizes <= MOST_ALIKE), sizes)
    hashes, owners = hashes[kept], owners[kept]
    first, second = [], []
    for apart in range(1, MOST_ALIKE):
        same = np.flatnonzero(hashes[apart:] == hashes[:-apart])
        first.append(owners[same])
        second.append(owners[same + apart])
    return np.concatenate(first), np.concatenate(second)


def _verified(texts: _Texts, first: Indices, second: Indices) -> Edits:
    """Those pairs that are one edit apart indeed, and not two or a collision."""
    turned = texts.lengths[first] < texts.lengths[second]
    longer, shorter = np.where(turned, second, first), np.where(turned, first, second)
    by = texts.lengths[longer] - texts.lengths[shorter]
    close = by <= 1
    longer, shorter, by = longer[close], shorter[close], by[close]
    starts, others, ends = texts.starts[longer], texts.starts[shorter], texts.lengths[shorter]
    places = _agreement(texts.codes, starts, others, ends)
    rest = ends - places - 1 + by
    same = _agreement(texts.codes, starts + places + 1, others + places + 1 - by, rest) == rest
    return Edits(longer[same], shorter[same], places[same])


def _agreement(
    codes: NDArray[np.uint32], starts: Indices, others: Indices, counts: Indices
) -> Indices:
    """How many characters from two starts onwards are the same, of `counts` at most."""
    differing = np.flatnonzero(codes[ranges(starts, counts)] != codes[ranges(others, counts)])
    owners = np.repeat(np.arange(len(counts)), counts)[differing]
    owners, first = np.unique(owners, return_index=True)
    agreement = counts.copy()
    agreement[owners] = (differing - (np.cumsum(counts) - counts).repeat(counts)[differing])[first]
    return agreement


def _without_digits(texts: _Texts, edits: Edits) -> Edits:
    """Numbered things are different things."""
    longer, shorter, places = edits.longer, edits.shorter, edits.places
    added = texts.codes[texts.starts[longer] + places]
    replaced = np.where(
        texts.lengths[longer] == texts.lengths[shorter],
        texts.codes[np.minimum(texts.starts[shorter] + places, len(texts.codes) - 1)],
        added,
    )
    digits = [code for code in np.unique([added, replaced]).tolist() if chr(code).isdigit()]
    kept = ~(np.isin(added, digits) | np.isin(replaced, digits))
    return Edits(longer[kept], shorter[kept], places[kept])
