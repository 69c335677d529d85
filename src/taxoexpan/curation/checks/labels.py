"""An index of labels, and checks for labels that are repeated, similar, or synonyms of others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from taxoexpan.curation.checks.findings import Finding, make_finding
from taxoexpan.curation.checks.structure import label_and_id
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency, ranges
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.taxonomy.similar_names import (
    MIN_LENGTH,
    compact_key,
    first_difference,
    form_difference,
    letter_difference,
)

MAX_LISTED = 5
"""Concepts that a message lists."""

FindLines = Callable[[Collection[str]], Mapping[str, int]]
"""Finds the lines on which concepts are described, as far as they differ from their order."""
MAX_GROUP_SIZE = 10
"""More names than this that agree without a character follow a pattern: class a, class b."""
_BASE = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class LabelIndex:
    """The distinct labels, their normalized forms, and the concepts with each label."""

    taxonomy: Taxonomy
    labels: Sequence[str]
    normalized: Sequence[str]
    concepts: Adjacency
    find_lines: FindLines

    def of_label(self, number: int) -> list[int]:
        """Return the concepts with a label, in file order."""
        return self.in_file_order(self.concepts.of(number).tolist())

    def in_file_order(self, concepts: Iterable[int]) -> list[int]:
        """Sort concepts by their positions in the file."""
        return sorted(
            concepts, key=lambda each: (self._lines.get(self.taxonomy.ids[each], 0), each)
        )

    @cached_property
    def _lines(self) -> Mapping[str, int]:
        """The lines of all concepts, computed only if there are findings."""
        return self.find_lines(self.taxonomy.ids)

    @property
    def comparable(self) -> list[int]:
        """The numbers of the labels whose normalized form is not empty."""
        return [number for number, name in enumerate(self.normalized) if name]

    @classmethod
    def of(cls, taxonomy: Taxonomy, find_lines: FindLines) -> LabelIndex:
        """Build the index of a taxonomy's labels, stripped and normalized."""
        numbers: dict[str, int] = {}
        stripped = map(str.strip, taxonomy.labels)
        number_of = np.fromiter(
            (numbers.setdefault(label, len(numbers)) for label in stripped),
            np.int64,
            count=len(taxonomy),
        )
        labeled = np.flatnonzero(number_of != numbers.get("", -1))
        return cls(
            taxonomy,
            list(numbers),
            list(map(normalize_name, numbers)),
            Adjacency.from_pairs(number_of[labeled], labeled, len(numbers)),
            find_lines,
        )


_PARENT = "which is its parent"
_CHILD = "which is its child"


class Neighbors(NamedTuple):
    """Two related concepts, with descriptions of the relation in both directions."""

    first: int
    second: int
    relation: str
    reverse: str


def find_siblings(
    taxonomy: Taxonomy, some: Sequence[int], others: Sequence[int]
) -> Neighbors | None:
    """Return the first two siblings, one from each list."""
    child_under = {parent: one for one in some for parent in parent_indices(taxonomy, one)}
    for other in others:
        for parent in parent_indices(taxonomy, other):
            if parent in child_under:
                relation = f"and both are children of {label_and_id(taxonomy, parent)}"
                return Neighbors(child_under[parent], other, relation, relation)
    return None


def find_neighbors(
    taxonomy: Taxonomy, some: Sequence[int], others: Sequence[int]
) -> Neighbors | None:
    """Return the first parent and child, or else the first siblings, one from each list."""
    child_under = {parent: one for one in some for parent in parent_indices(taxonomy, one)}
    own = set(some)
    for other in others:
        if other in child_under:
            return Neighbors(child_under[other], other, _PARENT, _CHILD)
        for parent in parent_indices(taxonomy, other):
            if parent in own:
                return Neighbors(parent, other, _CHILD, _PARENT)
    return find_siblings(taxonomy, some, others)


def parent_indices(taxonomy: Taxonomy, index: int) -> list[int]:
    """Return the indices of a concept's parents."""
    parents: list[int] = taxonomy.parents_of.of(index).tolist()
    return parents


def repeated_labels(index: LabelIndex) -> Iterator[Finding]:
    """Find labels of several concepts, and report the last of these concepts in the file."""
    taxonomy = index.taxonomy
    for number in np.flatnonzero(index.concepts.degrees > 1).tolist():
        label = index.labels[number]
        concepts = index.of_label(number)
        families = _families(taxonomy, concepts)
        for siblings, parent in families.items():
            message = (
                f"{label!r} is the label of {len(siblings)} children of "
                f"{label_and_id(taxonomy, parent)}; merge them or give them different labels "
                f"({_others(taxonomy, siblings)})"
            )
            yield make_finding("repeated-sibling", taxonomy.ids[siblings[-1]], message)
        if max(map(len, families), default=0) < len(concepts):
            count = len(concepts)
            others = _others(taxonomy, concepts)
            message = f"{label!r} is the label of {count} concepts ({others})"
            yield make_finding("repeated-label", taxonomy.ids[concepts[-1]], message)


def labels_as_synonyms(index: LabelIndex) -> Iterator[Finding]:
    """Find labels that are synonyms of another concept; report the later of the two concepts."""
    taxonomy = index.taxonomy
    labeled: dict[str, list[int]] = defaultdict(list)
    for number in index.comparable:
        labeled[index.normalized[number]] += index.concepts.of(number).tolist()
    for name, unsorted in _synonyms(taxonomy, labeled).items():
        some = index.in_file_order(labeled[name])
        others = index.in_file_order(unsorted)
        neighbors = find_neighbors(taxonomy, some, others)
        concept, other = neighbors[:2] if neighbors else (some[0], others[-1])
        if index.in_file_order((concept, other))[1] == concept:
            place = concept
            relation = neighbors.relation if neighbors else ""
            message = f"{taxonomy.labels[concept]!r} is also a synonym of "
            message += label_and_id(taxonomy, other)
        else:
            place = other
            relation = neighbors.reverse if neighbors else ""
            message = f"the synonym {_synonym(taxonomy, other, name)!r} of "
            message += f"{taxonomy.labels[other]!r} is also the label of "
            message += label_and_id(taxonomy, concept)
        if relation:
            message += f", {relation}; merge them if they are the same concept, or "
            message += "remove the synonym"
        if len(others) > 1:
            message += f" (and a synonym of {len(others) - 1} more)"
        yield make_finding("label-is-synonym", taxonomy.ids[place], message, bool(relation))


def _families(taxonomy: Taxonomy, concepts: Sequence[int]) -> dict[tuple[int, ...], int]:
    """Return the distinct groups of siblings, each with one common parent."""
    children: dict[int, list[int]] = defaultdict(list)
    for concept in concepts:
        for parent in parent_indices(taxonomy, concept):
            children[parent].append(concept)
    families: dict[tuple[int, ...], int] = {}
    for parent, siblings in children.items():
        if len(siblings) > 1:
            families.setdefault(tuple(siblings), parent)
    return families


def _others(taxonomy: Taxonomy, indices: Sequence[int]) -> str:
    """List the ids of all concepts except the last, up to a limit."""
    ids = [taxonomy.ids[index] for index in indices[:-1][:MAX_LISTED]]
    return f"also: {', '.join(ids)}" + (", …" if len(indices) > MAX_LISTED + 1 else "")


def _synonym(taxonomy: Taxonomy, concept: int, name: str) -> str:
    """Return the synonym of a concept with this normalized form."""
    return next(each for each in taxonomy.synonyms[concept] if normalize_name(each) == name)


def _synonyms(taxonomy: Taxonomy, labeled: dict[str, list[int]]) -> dict[str, list[int]]:
    """Return each label that is a synonym of other concepts, with these concepts."""
    synonyms: dict[str, list[int]] = defaultdict(list)
    for index in sorted(taxonomy.synonyms):
        own = normalize_name(taxonomy.labels[index])
        for name in {normalize_name(synonym): None for synonym in taxonomy.synonyms[index]}:
            if name != own and name in labeled:
                synonyms[name].append(index)
    return synonyms


SimilarPair = tuple[int, int, str, bool]
"""The numbers of two labels, their difference, and whether they are certainly the same name."""


def similar_labels(index: LabelIndex) -> Iterator[Finding]:
    """Find labels that may name the same concept; report the later of the two concepts."""
    taxonomy = index.taxonomy
    pairs = [*_forms_of_one_name(index), *_one_edit_apart(index)]
    for first, second, difference, same_name in sorted(pairs):
        some = index.of_label(first)
        others = index.of_label(second)
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
            yield first, second, *difference


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
            yield first, second, *difference


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
    before = sums[ends - lengths]
    until = sums[ends]
    # In a run of the same character, removing any of them gives the same name.
    removable = (positions == 0) | np.append(True, codes[1:] != codes[:-1])[: len(codes)]
    digits = [code for code in np.unique(codes).tolist() if chr(code).isdigit()]
    removed = np.flatnonzero(removable & ~np.isin(codes, digits))
    owners = np.repeat(np.arange(len(names)), lengths)[removed]
    after = (until[owners] - sums[removed + 1]) * np.uint64(pow(_BASE, -1, 1 << 64))
    shortened = sums[removed] - before[owners] + after
    return np.append(until - before, shortened), np.append(np.arange(len(names)), owners)
