"""What a text tower learns about a taxonomy: two linear maps, and a vector of each of its words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.english import singular
from taxoexpan.taxonomy.names import normalize_name

MAX_WORDS = 100_000
"""The number of words with a vector, at most; rarer words have none."""
PARENT = " < "
"""What separates the label of an anchor from that of its parent in the anchor's text."""

_WORD = re.compile(r"\w+")


def text_words(text: str) -> list[str]:
    """Return the words of a text; the words after the label of an anchor begin with `<`."""
    own, _, above = normalize_name(text).partition(PARENT)
    marked = [f"<{singular(word)}" for word in _WORD.findall(above)]
    return [singular(word) for word in _WORD.findall(own)] + marked


def vocabulary_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the most frequent words of texts, in alphabetical order."""
    counts = Counter(word for text in texts for word in text_words(text))
    return tuple(sorted(word for word, _ in counts.most_common(MAX_WORDS)))


@dataclass(frozen=True)
class EncodedTexts:
    """N texts: their unit vectors [N, D], and the rows of their known words."""

    vectors: Tensor
    words: Adjacency

    @classmethod
    def of(cls, texts: Sequence[str], vectors: Tensor, rows: Mapping[str, int]) -> Self:
        """Find the words of texts, whose vectors are given, in a vocabulary."""
        found = [[rows[word] for word in text_words(text) if word in rows] for text in texts]
        owners = np.repeat(np.arange(len(texts)), [len(each) for each in found])
        known = np.array([row for each in found for row in each], dtype=np.int64)
        return cls(vectors, Adjacency.from_pairs(owners, known, len(texts)))

    def mapped(self, matrix: Tensor, words: Tensor, texts: Indices | None = None) -> Tensor:
        """Map all vectors, or those of some texts [n], and add the vectors of words: [n, D].

        The sum over n words is divided by √n, so that long texts do not outweigh the map.
        """
        device = self.vectors.device
        chosen = np.arange(len(self.vectors)) if texts is None else texts
        owners, known = self.words.of_many(chosen)
        scales = torch.from_numpy(np.bincount(owners, minlength=len(chosen))[owners]).to(device)
        added = words[torch.from_numpy(known).to(device)] / scales.sqrt()[:, None]
        mapped = self.vectors[torch.from_numpy(chosen).to(device)] @ matrix
        return F.normalize(mapped.index_add(0, torch.from_numpy(owners).to(device), added), dim=1)


@dataclass(frozen=True)
class TextMaps:
    """Maps of the vectors of queries and of anchors [D, D], and the vectors of words [V, D]."""

    queries: Tensor
    anchors: Tensor
    words: Tensor
    vocabulary: tuple[str, ...]

    @classmethod
    def unchanged(cls, vocabulary: tuple[str, ...], dimension: int, device: torch.device) -> Self:
        """Return maps that leave all vectors as they are."""
        identity = torch.eye(dimension, device=device)
        words = torch.zeros(len(vocabulary), dimension, device=device)
        return cls(identity, identity.clone(), words, vocabulary)

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.vocabulary)}

    def map_queries(self, texts: EncodedTexts, rows: Indices | None = None) -> Tensor:
        """Map the texts of queries, or some of them [n]: [n, D]."""
        return texts.mapped(self.queries, self.words, rows)

    def map_anchors(self, texts: EncodedTexts, rows: Indices | None = None) -> Tensor:
        """Map the texts of anchors, or some of them [n]: [n, D]."""
        return texts.mapped(self.anchors, self.words, rows)

    def to(self, device: torch.device) -> Self:
        """Return the same maps on another device."""
        queries, anchors, words = (x.to(device) for x in (self.queries, self.anchors, self.words))
        return type(self)(queries, anchors, words, self.vocabulary)

    def weights(self) -> dict[str, Tensor]:
        """Return the tensors by name; the words are UTF-8 text, one per line."""
        text = torch.tensor(list("\n".join(self.vocabulary).encode()), dtype=torch.uint8)
        tensors = (self.queries, self.anchors, self.words, text)
        return dict(zip(NAMES, tensors, strict=True))

    @classmethod
    def from_weights(cls, weights: Mapping[str, Tensor], dimension: int) -> Self:
        """Read what `weights` returned; refuse other names, types and shapes."""
        unexpected = ValueError("the maps of the text encoder are not as expected")
        if {*weights} != {*NAMES}:
            raise unexpected
        queries, anchors, words, text = (weights[name] for name in NAMES)
        if text.dtype != torch.uint8 or text.dim() != 1:
            raise unexpected
        try:
            vocabulary = tuple(bytes(text.tolist()).decode().split("\n")) if len(text) else ()
        except UnicodeDecodeError:
            raise unexpected from None
        if len({*vocabulary}) != len(vocabulary):
            raise unexpected
        lengths = (dimension, dimension, len(vocabulary))
        for matrix, length in zip((queries, anchors, words), lengths, strict=True):
            if matrix.dtype != torch.float32 or matrix.shape != (length, dimension):
                raise unexpected
        return cls(queries, anchors, words, vocabulary)


NAMES = ("maps.queries", "maps.anchors", "maps.words", "maps.vocabulary")
"""The names of stored maps."""
