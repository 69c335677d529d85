"""The check for labels that are nearly the same, such as spelling variants and misspellings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from taxoexpan.curation.checks.findings import Finding, label_and_id, make_finding
from taxoexpan.curation.checks.labels import LabelIndex, find_siblings
from taxoexpan.taxonomy.adjacency import ranges
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.similar_names import (
    MIN_LENGTH,
    compact_key,
    first_difference,
    form_difference,
    letter_difference,
)

MAX_GROUP_SIZE = 10
"""More names than this that agree without a character follow a pattern: class a, class b."""

_BASE = 0x9E3779B97F4A7C15


class SimilarPair(NamedTuple):
    """The numbers of two labels, their difference, and whether they are certainly the same name."""

    first: int
    second: int
    difference: str
    same_name: bool


def similar_labels(index: LabelIndex) -> Iterator[Finding]:
    """Find labels that may name the same concept; report the later of the two concepts."""
    taxonomy = index.taxonomy
    pairs = [*_forms_of_one_name(index), *_one_edit_apart(index)]
    for first, second, difference, same_name in sorted(pairs):
        some, others = index.of_label(first), index.of_label(second)
        siblings = find_siblings(taxonomy, some, others)
        pair = siblings[:2] if siblings else (some[0], others[0])
        other, concept = index.in_file_order(pair)
        label = taxonomy.labels[concept].strip()
        message = f"{label!r} and {label_and_id(taxonomy, other)} {difference}"
        message += f", {siblings.relation}" if siblings else ""
        if same_name:
            message += "; merge them if they are the same concept"
        else:
            message += "; check whether one of them is misspelled"
        severe = same_name and siblings is not None
        yield make_finding("similar-label", taxonomy.ids[concept], message, severe)


def _forms_of_one_name(index: LabelIndex) -> Iterator[SimilarPair]:
    """Yield labels that differ only in case, spaces and hyphens, or in singular and plural."""
    forms: dict[str, list[int]] = defaultdict(list)
    for number in index.comparable:
        forms[compact_key(index.normalized[number])].append(number)
    for numbers in forms.values():
        for first, second in pairwise(numbers):
            difference = form_difference(index.normalized[first], index.normalized[second])
            yield SimilarPair(first, second, *difference)


def _one_edit_apart(index: LabelIndex) -> Iterator[SimilarPair]:
    """Yield labels that differ in one character, if that is probably a mistake."""
    numbers: dict[str, int] = {}
    for number in index.comparable:
        numbers.setdefault(index.normalized[number], number)
    names = [name for name in numbers if len(name) >= MIN_LENGTH]
    word_counts = Counter(word for name in numbers for word in set(name.split()))
    for longer, shorter, position in one_edit_apart(names):
        difference = letter_difference(longer, shorter, position, word_counts)
        if difference and compact_key(longer) != compact_key(shorter):
            first, second = sorted((numbers[longer], numbers[shorter]))
            yield SimilarPair(first, second, *difference)


def one_edit_apart(names: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    """Yield pairs of names with one added or replaced character: longer, shorter, position.

    The character is not a digit, because different numbers name different things.
    """
    hashes, owners = _shortened_hashes(names)
    order = np.argsort(hashes)
    ordered = hashes[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    sizes = np.diff(starts, append=len(ordered))
    for group in np.flatnonzero((sizes > 1) & (sizes <= MAX_GROUP_SIZE)).tolist():
        alike = owners[order[starts[group] : starts[group] + sizes[group]]]
        for pair in combinations(sorted(alike.tolist()), 2):
            shorter, longer = sorted((names[number] for number in pair), key=len)
            extra = len(longer) - len(shorter)
            position = first_difference(longer, shorter)
            # Other names with a common hash are two edits apart, or have it by chance.
            if extra <= 1 and longer[position + 1 :] == shorter[position + 1 - extra :]:
                yield longer, shorter, position


def _shortened_hashes(names: Sequence[str]) -> tuple[NDArray[np.uint64], Indices]:
    """Return hashes of each name, whole and without each character, and the name of each hash.

    The hash of a name is Σ m(c_i) · B^i modulo 2^64, with random numbers m(c). With sums S_p over
    the characters before p, and S over all, the name without its character p has the hash
    S_p + (S − S_{p+1}) / B. B is odd, so it has an inverse.
    """
    lengths = np.fromiter(map(len, names), np.int64, count=len(names))
    codes = np.frombuffer("".join(names).encode("utf-32-le", "surrogatepass"), np.uint32)
    positions = ranges(np.zeros_like(lengths), lengths)
    mixed = np.random.default_rng(0).integers(1 << 64, size=0x110000, dtype=np.uint64)[codes]
    powers = np.full(int(lengths.max(initial=0)) + 1, _BASE, dtype=np.uint64)
    powers[0] = 1
    sums = np.append(np.uint64(0), np.cumsum(mixed * np.cumprod(powers)[positions]))
    ends = np.cumsum(lengths)
    before, until = sums[ends - lengths], sums[ends]
    # In a run of the same character, removing any of them gives the same name.
    removable = (positions == 0) | np.append(True, codes[1:] != codes[:-1])[: len(codes)]
    digits = [code for code in np.unique(codes).tolist() if chr(code).isdigit()]
    removed = np.flatnonzero(removable & ~np.isin(codes, digits))
    owners = np.repeat(np.arange(len(names)), lengths)[removed]
    after = (until[owners] - sums[removed + 1]) * np.uint64(pow(_BASE, -1, 1 << 64))
    shortened = sums[removed] - before[owners] + after
    return np.append(until - before, shortened), np.append(np.arange(len(names)), owners)
