"""The words of labels as flat arrays that are stored in a model and read without a copy."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxoexpan.features.label_words import LabelWords
from taxoexpan.files.tensor_file import TensorInfo
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.sequences import PackedTexts
from taxoexpan.taxonomy.storage import check_texts

MATRICES = ("labels", "weighted", "paths", "named")
Arrays = Mapping[str, NDArray[Any]]


class StoredNames(Mapping[tuple[str, ...], int]):
    """The number of each name, found by binary search among sorted texts."""

    def __init__(self, texts: PackedTexts, numbers: Indices) -> None:
        self.texts, self.numbers = texts, numbers

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

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return (tuple(text.split(" ")) for text in self.texts)

    def __len__(self) -> int:
        return len(self.texts)


def words_arrays(words: LabelWords) -> dict[str, NDArray[Any]]:
    """Return the words of labels as arrays."""
    names, vocabulary = StoredNames.of(words.names), PackedTexts.pack(words.vocabulary)
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
        matrix: csr_array = getattr(words, name)
        arrays |= {
            f"{name}.data": matrix.data,
            f"{name}.indices": matrix.indices,
            f"{name}.indptr": matrix.indptr,
        }
    return arrays


def words_from_arrays(arrays: Arrays) -> LabelWords:
    """Restore the words from the arrays of `words_arrays`."""
    words = PackedTexts(arrays["vocabulary.text"], arrays["vocabulary.offsets"])
    names = PackedTexts(arrays["names.text"], arrays["names.offsets"])
    count = len(arrays["heads"])
    vocabulary = {word: number for number, word in enumerate(words)}
    if len(vocabulary) < len(words):
        raise ValueError("the vocabulary has a word twice")

    def matrix(name: str) -> csr_array:
        parts = tuple(arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
        width = len(names) if name == "named" else len(words)
        return csr_array(parts, shape=(count, width), copy=False)

    return LabelWords(
        vocabulary,
        StoredNames(names, arrays["names.numbers"]),
        arrays["idf"],
        matrix("labels"),
        matrix("weighted"),
        matrix("paths"),
        matrix("named"),
        arrays["heads"],
        float(arrays["unknown_weight"][0]),
    )


def check_words(tensors: Mapping[str, TensorInfo], arrays: Arrays, size: int) -> None:
    """Refuse invalid words of `size` concepts, by the ranges of tensors without reading them."""
    check_texts(arrays, "vocabulary")
    words, names = len(arrays["vocabulary.offsets"]) - 1, len(check_texts(arrays, "names"))
    expected: dict[str, tuple[tuple[str, ...], tuple[int, ...], float, float]] = {
        "names.numbers": (("I64",), (names,), 0, names - 1),
        "idf": (("F32",), (words,), -np.inf, np.inf),
        "heads": (("I64",), (size,), -1, words - 1),
        "unknown_weight": (("F64",), (1,), 0, np.inf),
    }
    for name in MATRICES:
        entries = tensors[f"{name}.data"].shape
        width, integers = names if name == "named" else words, ("I32", "I64")
        expected[f"{name}.data"] = (("F32",), entries[:1], -np.inf, np.inf)
        expected[f"{name}.indices"] = (integers, entries, 0, width - 1)
        expected[f"{name}.indptr"] = (integers, (size + 1,), 0, entries[0])
    for name, (types, shape, low, high) in expected.items():
        found = tensors[name]
        if found.dtype not in types or found.shape != shape:
            raise ValueError(f"{name} has the wrong type or shape")
        if found.low < low or found.high > high:
            raise ValueError(f"{name} has a number out of range")
    for name in MATRICES:
        indptr, entries = tensors[f"{name}.indptr"], tensors[f"{name}.data"].shape
        if not indptr.is_ascending or (indptr.low, indptr.high) != (0, entries[0]):
            raise ValueError(f"{name}.indptr are not offsets")
