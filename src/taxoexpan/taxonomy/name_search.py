"""The search for concepts by name, and by the names of the concepts above them."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.taxonomy.taxonomy import Taxonomy

TOKENS = re.compile(r"\w+|[^\w\s]")
LAST = "\U0010ffff"
"""A character that sorts after all others: it ends the range of a prefix."""


@dataclass(frozen=True)
class NameIndex:
    """A search index of the names of all active concepts, without case and accents.

    Names are numbered in the order of results: labels before synonyms, short before long.
    """

    taxonomy: Taxonomy
    concepts: Indices
    """The index of the concept of each name."""
    names: Sequence[str]
    """The distinct folded names, sorted."""
    name_postings: Adjacency
    words: Sequence[str]
    """The distinct words of all names, sorted."""
    word_postings: Adjacency
    word_counts: Indices
    """The number of words of each name."""

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> NameIndex:
        """Index the labels, synonyms and foreign names."""
        named = sorted((rank, len(name), i, name) for rank, i, name in _all_names(taxonomy))
        folded = [name for *_, name in named]
        names, name_postings = _invert([name] for name in folded)
        words, word_postings = _invert(split_words(name) for name in folded)
        concepts = np.array([i for _, _, i, _ in named], dtype=np.int64)
        counts = np.bincount(word_postings.targets, minlength=len(named))
        return cls(taxonomy, concepts, names, name_postings, words, word_postings, counts)

    def search(self, text: str, limit: int, near: Collection[int] = ()) -> list[int]:
        """Return the indices of matching concepts, best first.

        First come exact matches, then names that begin with the string, then names with words that
        begin with its words, in any order, then names with some of the words whose other words are
        in names of concepts above them. In each of these, concepts that are `near` come first.
        """
        folded = fold_name(text)
        if not folded or limit < 1:
            return []
        found: dict[int, None] = {}
        preferred = np.array(sorted(near), dtype=np.int64)
        for numbers in self._stages(folded):
            matching = self.concepts[numbers]
            is_far = ~np.isin(matching, preferred)
            for concept in matching[np.argsort(is_far, kind="stable")].tolist():
                found.setdefault(concept)
                if len(found) == limit:
                    return list(found)
        return list(found)

    def _stages(self, folded: str) -> Iterator[Indices]:
        """Yield the numbers of matching names, from the strictest rule to the weakest."""
        first = bisect_left(self.names, folded)
        last = first + (first < len(self.names) and self.names[first] == folded)
        yield np.sort(self.name_postings.between(first, last).targets)
        last = bisect_left(self.names, folded + LAST, first)
        yield np.sort(self.name_postings.between(first, last).targets)
        words = split_words(folded)
        if words:
            own = np.stack([self._has(word) for word in words])
            yield np.flatnonzero(own.all(axis=0))
            yield self._by_path(own)

    def _by_path(self, own: NDArray[np.bool_]) -> Indices:
        """Return the numbers of the names with some words, whose other words are above them.

        Given is whether each name has each word [W, names]. Names with more of the words, and with
        fewer other words, come first.
        """
        matched = own.sum(axis=0)
        found = np.flatnonzero(matched)
        for has in own:
            below = self._below(np.unique(self.concepts[has]))
            found = found[has[found] | below[self.concepts[found]]]
        others = self.word_counts[found] - matched[found]
        return found[np.lexsort([others, -matched[found]])]

    def _below(self, concepts: Indices) -> NDArray[np.bool_]:
        """Return for each concept of the taxonomy whether it is at or below one of these."""
        reach = self.taxonomy.descendant_intervals
        _, starts, stops = reach.intervals(concepts)
        size = len(self.taxonomy) + 1
        steps = np.bincount(starts, minlength=size) - np.bincount(stops, minlength=size)
        covered: NDArray[np.bool_] = np.cumsum(steps)[reach.numbers] > 0
        return covered

    def _has(self, prefix: str) -> NDArray[np.bool_]:
        """Return for each name whether one of its words begins with a prefix."""
        first = bisect_left(self.words, prefix)
        last = bisect_left(self.words, prefix + LAST, first)
        has = np.zeros(len(self.concepts), dtype=np.bool_)
        has[self.word_postings.between(first, last).targets] = True
        return has


def fold_name(name: str) -> str:
    """Return a name without case, accents and repeated spaces."""
    if name.isascii():
        return normalize_name(name)
    letters = unicodedata.normalize("NFKD", name)
    plain = "".join([letter for letter in letters if not unicodedata.combining(letter)])
    return normalize_name(plain)


def split_words(folded: str) -> list[str]:
    """Return the words of a folded name, including symbols and emoji, but not punctuation."""
    return [
        token
        for token in TOKENS.findall(folded)
        if len(token) > 1 or token.isalnum() or unicodedata.category(token)[0] == "S"
    ]


def _all_names(taxonomy: Taxonomy) -> Iterator[tuple[int, int, str]]:
    """Yield each folded name with the rank of its kind and the index of its concept."""
    kinds = (dict(enumerate((label,) for label in taxonomy.labels)), taxonomy.synonyms)
    for rank, names_of in enumerate((*kinds, taxonomy.foreign_names)):
        for index, names in names_of.items():
            if index not in taxonomy.deprecated:
                for name in dict.fromkeys(map(fold_name, names)):
                    if name:
                        yield rank, index, name


def _invert(terms_of: Iterable[Sequence[str]]) -> tuple[list[str], Adjacency]:
    """Return the distinct terms, sorted, and the numbers of the names with each term."""
    pairs = [(term, number) for number, terms in enumerate(terms_of) for term in terms]
    terms = sorted({term for term, _ in pairs})
    rows = {term: row for row, term in enumerate(terms)}
    flat = np.array([(rows[term], number) for term, number in pairs], dtype=np.int64).reshape(-1, 2)
    return terms, Adjacency.from_pairs(flat[:, 0], flat[:, 1], len(terms))
