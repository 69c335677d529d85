"""The words that the labels of queries share with anchors, weighted by rarity (IDF).

They are stored in a model as flat arrays that are read without a copy.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.english import singular
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.taxonomy.sequences import PackedTexts

NUM_WORD_FEATURES = 6
"""Whether the query's label ends in a name of the anchor; whether it contains one elsewhere;
whether both labels have the same last word; the weighted fractions of the query's words in the
anchor's label, of the anchor's words in the query's label, and of the query's words in the labels
above the anchor."""

MAX_PATH = 6
"""Ancestors of an anchor, along first parents, whose words count."""

Numbers = NDArray[np.float32]


def label_words(name: str) -> list[str]:
    """Split a name into words, each in the singular."""
    return [singular(word) for word in normalize_name(name).split()]


@dataclass(frozen=True)
class QueryWords:
    """The M words and L names of Q queries that anchors know, and last words (or -2) [Q]."""

    word_of: Indices
    words: Indices
    weighted: Numbers
    name_of: Indices
    names: Indices
    is_ending: NDArray[np.bool_]
    heads: Indices


@dataclass(frozen=True)
class LabelWords:
    """The V words and K names of N anchors, as sparse matrices with one row per anchor.

    `weighted` [N, V] are the words of `labels` as weights that sum to 1, `paths` [N, V] the further
    words of the labels above, `named` [N, K] the names, and `heads` [N] the last words, or -1.
    """

    vocabulary: dict[str, int]
    names: Mapping[tuple[str, ...], int]
    idf: Numbers
    labels: csr_array
    weighted: csr_array
    paths: csr_array
    named: csr_array
    heads: Indices
    unknown_weight: float

    @classmethod
    def from_taxonomy(cls, taxonomy: Taxonomy) -> LabelWords:
        """Collect all names, and all words, which deprecated concepts do not affect."""
        parents = first_parents(taxonomy.without_deprecated_relations)
        return cls.from_concepts(taxonomy.concepts, parents, taxonomy.active_indices)

    @classmethod
    def from_concepts(
        cls, concepts: Iterable[Concept], parents: Indices, counted: Indices | None = None
    ) -> LabelWords:
        """Collect words, given first parents (or -1); only `counted` concepts weigh them."""
        vocabulary: dict[str, int] = {}
        names: dict[tuple[str, ...], int] = {}
        rows: list[list[int]] = []
        named: list[list[int]] = []
        for concept in concepts:
            split = [tuple(label_words(name)) for name in (concept.label, *concept.synonyms)]
            rows.append([vocabulary.setdefault(word, len(vocabulary)) for word in split[0]])
            named.append([names.setdefault(each, len(names)) for each in split if each])
        labels = _incidence(rows, len(vocabulary))
        of_counted = labels if counted is None else labels[counted]
        count = of_counted.shape[0]
        frequency = np.asarray(of_counted.sum(axis=0)).ravel()
        idf = np.log((count + 1) / (frequency + 1)).astype(np.float32)
        return cls(
            vocabulary,
            names,
            idf,
            labels,
            _normalized(labels, idf),
            _path_words(labels, parents),
            _incidence(named, len(names)),
            np.array([row[-1] if row else -1 for row in rows], dtype=np.int64),
            float(np.log(count + 1)),
        )

    def __len__(self) -> int:
        return len(self.heads)

    def select(self, anchors: Indices) -> LabelWords:
        """Return the words of some anchors, with the weights from all anchors."""
        chosen = {name: getattr(self, name)[anchors] for name in (*MATRICES, "heads")}
        return replace(self, **chosen)

    def of_queries(self, concepts: Sequence[Concept]) -> QueryWords:
        """Return the words of queries by this vocabulary; unknown words only lower the weights."""
        found: list[tuple[int, int]] = []
        named: list[tuple[int, int, bool]] = []
        totals = np.zeros(len(concepts))
        heads = np.full(len(concepts), -2)
        for query, concept in enumerate(concepts):
            words = label_words(concept.label)
            distinct = dict.fromkeys(words)  # in order: the order of a set changes from run to run
            numbers = [self.vocabulary[word] for word in distinct if word in self.vocabulary]
            found += [(query, number) for number in numbers]
            totals[query] = self.unknown_weight * (len(distinct) - len(numbers))
            named += [(query, *name) for name in self._names_in(words)]
            heads[query] = self.vocabulary.get(words[-1], -2) if words else -2
        word_of, known = np.array(found, dtype=np.int64).reshape(-1, 2).T
        totals += np.bincount(word_of, self.idf[known], len(concepts))
        weighted = (self.idf[known] / np.maximum(totals, 1e-6)[word_of]).astype(np.float32)
        name_of, names, is_ending = np.array(named, dtype=np.int64).reshape(-1, 3).T
        return QueryWords(word_of, known, weighted, name_of, names, is_ending == 1, heads)

    def has_name_in(self, concept: Concept) -> bool:
        """Return whether the concept's label contains a name of an anchor and other words."""
        return any(True for _ in self._names_in(label_words(concept.label)))

    def _names_in(self, words: Sequence[str]) -> Iterator[tuple[int, bool]]:
        """Yield each name that is a proper part of these words, and whether it is at the end."""
        longest = min(self.longest_name, len(words) - 1)
        for start in range(len(words)):
            for stop in range(start + 1, min(start + longest, len(words)) + 1):
                name = self.names.get(tuple(words[start:stop]))
                if name is not None:
                    yield name, stop == len(words)

    @cached_property
    def longest_name(self) -> int:
        """The number of words of the longest name."""
        if isinstance(self.names, StoredNames):
            return self.names.longest
        return max(map(len, self.names), default=0)

    def compare(self, queries: QueryWords, start: int, stop: int) -> Numbers:
        """Return the features of the anchors `start` to `stop` with all queries: [6, A, Q]."""
        rows = slice(start, stop)
        count = len(queries.heads)
        features = np.empty((NUM_WORD_FEATURES, stop - start, count), np.float32)

        def table(numbers: Indices, of: Indices, values: Numbers, size: int) -> csr_array:
            return csr_array((values, (numbers, of)), shape=(size, count))

        for row, is_kind in enumerate((queries.is_ending, ~queries.is_ending)):
            names = queries.names[is_kind]
            of = queries.name_of[is_kind]
            contained = table(names, of, np.ones(len(of), np.float32), len(self.names))
            features[row] = (self.named[rows] @ contained).toarray().clip(max=1)
        features[2] = self.heads[rows, None] == queries.heads[None]
        words = queries.words
        of = queries.word_of
        size = len(self.vocabulary)
        weighted = table(words, of, queries.weighted, size)
        present = table(words, of, np.ones(len(of), np.float32), size)
        features[3] = (self.labels[rows] @ weighted).toarray()
        features[4] = (self.weighted[rows] @ present).toarray()
        features[5] = (self.paths[rows] @ weighted).toarray()
        return features


def first_parents(taxonomy: Taxonomy) -> Indices:
    """Return the first parent of each concept, or -1 for roots: [N]."""
    return np.where(taxonomy.parents_of.degrees > 0, taxonomy.first_parents, -1)


def _incidence(rows: Sequence[Sequence[int]], width: int) -> csr_array:
    """Return a matrix with a 1 for each distinct number of each row: [N, width]."""
    distinct = [sorted(set(row)) for row in rows]
    offsets = np.cumsum([0, *map(len, distinct)])
    columns = np.array([number for row in distinct for number in row], dtype=np.int64)
    data = np.ones(len(columns), dtype=np.float32)
    return csr_array((data, columns, offsets), shape=(len(rows), width))


def _normalized(labels: csr_array, idf: Numbers) -> csr_array:
    """Return the weights of the words in each row, which sum to 1."""
    weights = labels @ diags_array(idf)
    totals = np.asarray(weights.sum(axis=1)).ravel()
    return csr_array(diags_array(1 / np.maximum(totals, 1e-6)) @ weights, dtype=np.float32)


def _path_words(labels: csr_array, parents: Indices) -> csr_array:
    """Return the words above each concept, without the words of its own label: [N, V]."""
    children = np.flatnonzero(parents >= 0)
    ones = np.ones(len(children), dtype=np.float32)
    up = csr_array((ones, (children, parents[children])), shape=(len(parents), len(parents)))
    above = up @ labels
    words = csr_array(labels.shape, dtype=np.float32)
    for _ in range(MAX_PATH):
        words = words + above
        above = up @ above
    words = words - words.multiply(labels)
    words.eliminate_zeros()
    words.data[:] = 1
    return csr_array(words, dtype=np.float32)


MATRICES = ("labels", "weighted", "paths", "named")
CSR_PARTS = ("data", "indices", "indptr")
Arrays = Mapping[str, NDArray[Any]]


class StoredNames(Mapping[tuple[str, ...], int]):
    """The number of each name, found by binary search among sorted texts."""

    def __init__(self, texts: PackedTexts, numbers: Indices) -> None:
        self.texts = texts
        self.numbers = numbers

    @classmethod
    def of(cls, names: Mapping[tuple[str, ...], int]) -> StoredNames:
        """Sort names, unless they are already sorted."""
        if isinstance(names, StoredNames):
            return names
        ordered = sorted((" ".join(words), number) for words, number in names.items())
        numbers = np.array([number for _, number in ordered], dtype=np.int64)
        return cls(PackedTexts.pack(text for text, _ in ordered), numbers)

    def __getitem__(self, words: tuple[str, ...]) -> int:
        text = " ".join(words)
        row = bisect_left(self.texts, text)
        if row == len(self.texts) or self.texts[row] != text:
            raise KeyError(words)
        return int(self.numbers[row])

    @property
    def longest(self) -> int:
        """The number of words of the longest name."""
        texts = self.texts
        spaces = np.flatnonzero(texts.text == ord(" "))
        owners = np.searchsorted(texts.offsets, spaces, side="right")
        return int(np.bincount(owners).max()) + 1 if len(spaces) else 1

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return (tuple(text.split(" ")) for text in self.texts)

    def __len__(self) -> int:
        return len(self.texts)


def words_arrays(words: LabelWords) -> dict[str, NDArray[Any]]:
    """Return the words of labels as arrays."""
    names = StoredNames.of(words.names)
    vocabulary = PackedTexts.pack(words.vocabulary)
    arrays: dict[str, NDArray[Any]] = {
        "vocabulary.text": vocabulary.text,
        "vocabulary.offsets": vocabulary.offsets,
        "names.text": names.texts.text,
        "names.offsets": names.texts.offsets,
        "names.numbers": names.numbers,
        "idf": words.idf,
        "heads": words.heads,
        "unknown_weight": np.array([words.unknown_weight]),
    }
    for name in MATRICES:
        arrays |= {f"{name}.{part}": getattr(getattr(words, name), part) for part in CSR_PARTS}
    return arrays


def words_from_arrays(arrays: Arrays) -> LabelWords:
    """Restore the words from the arrays of `words_arrays`."""
    words = PackedTexts(arrays["vocabulary.text"], arrays["vocabulary.offsets"])
    names = PackedTexts(arrays["names.text"], arrays["names.offsets"])
    return LabelWords(
        {word: number for number, word in enumerate(words)},
        StoredNames(names, arrays["names.numbers"]),
        arrays["idf"],
        **{name: _stored_matrix(arrays, name) for name in MATRICES},
        heads=arrays["heads"],
        unknown_weight=float(arrays["unknown_weight"][0]),
    )


def _stored_matrix(arrays: Arrays, name: str) -> csr_array:
    """Restore a matrix without a copy."""
    width = len(arrays["names.numbers"]) if name == "named" else len(arrays["idf"])
    parts = tuple(arrays[f"{name}.{part}"] for part in CSR_PARTS)
    return csr_array(parts, shape=(len(arrays["heads"]), width), copy=False)


def check_words(arrays: Arrays, size: int) -> None:
    """Refuse words of other concepts, and matrices that scipy would write outside of."""
    if len(arrays["heads"]) != size:
        raise ValueError("the words belong to other concepts")
    for name in MATRICES:
        _stored_matrix(arrays, name).check_format()
