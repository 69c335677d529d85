"""The text tower, which encodes a query near the description of its parent.

It learns two linear maps of its vectors, and a vector of each word of a taxonomy.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.features.encoder import Encoder
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.english import singular
from taxoexpan.taxonomy.names import normalize_name

MAX_WORDS = 100_000
"""The number of words with a vector, at most; rarer words have none."""
PARENT = " < "
"""What separates the label of an anchor from that of its parent in the anchor's text."""

_WORD = re.compile(r"\w+")
PARENT_WEIGHT = 0.5
"""The weight of the parent in a composed anchor; a root counts as its own parent."""


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


def query_text(concept: Concept) -> str:
    """Return the text of a query: its label, and its definition if it has one."""
    return f"{concept.label}: {concept.definition}" if concept.definition else concept.label


def anchor_texts(taxonomy: Taxonomy) -> list[str]:
    """Return the text of each anchor, `label < label of its first parent: definition`.

    Children are left out, because the text must not depend on which children are known.
    """
    labels = taxonomy.labels
    definitions = taxonomy.definitions
    offsets = taxonomy.parents_of.offsets.tolist()
    targets = taxonomy.parents_of.targets.tolist()
    texts = []
    for index, label in enumerate(labels):
        text = label
        if offsets[index] < offsets[index + 1]:
            text += f"{PARENT}{labels[targets[offsets[index]]]}"
        texts.append(f"{text}: {definitions[index]}" if index in definitions else text)
    return texts


class KnownVectors:
    """The vectors of texts that a model has encoded, so that a training encodes each text once."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._vectors: list[Tensor] = []

    def encode(self, model: SentenceModel, texts: Sequence[str]) -> Tensor:
        """Return one unit vector per text: [N, D]."""
        if new := [text for text in dict.fromkeys(texts) if text not in self._rows]:
            self._vectors = [torch.cat([*self._vectors, model.encode(new)])]
            self._rows |= {text: row for row, text in enumerate(new, len(self._rows))}
        return self._vectors[0][[self._rows[text] for text in texts]]


@dataclass(frozen=True)
class TextTower:
    """The encoder with a sentence model, or its `tuned` copy, and the maps of a taxonomy.

    If it `composes`, an anchor is the sum of two known vectors instead of a text of its own.
    """

    encoder: Encoder
    device: torch.device
    tuned: SentenceModel | None = None
    maps: TextMaps | None = None
    known: KnownVectors | None = None
    composes: bool = False

    @property
    def dimension(self) -> int:
        """The size of a vector, D."""
        return self.encoder.dimension

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Return one unit vector per text, before the maps: [N, D]."""
        if self.tuned is not None:
            known = self.known
            return self.tuned.encode(texts) if known is None else known.encode(self.tuned, texts)
        return torch.from_numpy(self.encoder.encode(texts)).to(self.device)

    def encode_queries(self, texts: Sequence[str]) -> Tensor:
        """Return the unit vectors of queries, given by `query_text`: [N, D]."""
        vectors = self.encode(texts)
        maps = self.maps
        if maps is None:
            return vectors
        return maps.map_queries(EncodedTexts.of(texts, vectors, maps.rows))

    def describe_anchors(
        self, taxonomy: Taxonomy, anchors: Indices | None = None
    ) -> tuple[list[str], Tensor]:
        """Return the texts of anchors, or of some [n], and their unit vectors before the maps."""
        texts = anchor_texts(taxonomy)
        rows = np.arange(len(taxonomy)) if anchors is None else anchors
        texts = [texts[row] for row in rows.tolist()]
        if not self.composes or self.tuned is not None:
            return texts, self.encode(texts)
        own = [query_text(taxonomy.concept_at(row)) for row in rows.tolist()]
        parents = [taxonomy.labels[row] for row in taxonomy.first_parents[rows].tolist()]
        sums = self.encode(own) + PARENT_WEIGHT * self.encode(parents)
        return texts, nn.functional.normalize(sums, dim=1)

    def encode_anchors(self, taxonomy: Taxonomy, anchors: Indices | None = None) -> Tensor:
        """Return the unit vectors of anchors, or of some of them [n]: [n, D]."""
        (texts, vectors), maps = self.describe_anchors(taxonomy, anchors), self.maps
        if maps is None:
            return vectors
        return maps.map_anchors(EncodedTexts.of(texts, vectors, maps.rows))

    def to(self, device: torch.device) -> Self:
        """Return the same tower on another device."""
        maps = None if self.maps is None else self.maps.to(device)
        tuned = None if self.tuned is None else self.tuned.to(device)
        return replace(self, device=device, tuned=tuned, maps=maps)

    def without_known_texts(self) -> Self:
        """Return the same tower, and free what it has kept of the texts of a training."""
        if self.tuned is not None:
            self.tuned.drop_states()
        return replace(self, known=None)

    def weights(self) -> dict[str, Tensor]:
        """Return everything that was learned, by name; see `round_tuned_weights`."""
        learned = {} if self.tuned is None else dict(self.tuned.named_parameters())
        tuned = {name: weight.detach() for name, weight in learned.items() if weight.requires_grad}
        weights = {TUNED + name: weight.half() for name, weight in tuned.items()}
        return weights if self.maps is None else {**weights, **self.maps.weights()}

    def with_weights(self, weights: Mapping[str, Tensor], tuned_layers: int) -> Self:
        """Return the tower with the weights of another tower; refuse other names and shapes."""
        tuned = None
        maps = None
        if of_model := {name: each for name, each in weights.items() if name.startswith(TUNED)}:
            tuned = self.encoder.copy_model()
            tuned.freeze_lower_layers(tuned_layers)
            needed = {TUNED + n for n, weight in tuned.named_parameters() if weight.requires_grad}
            given = {name.removeprefix(TUNED): weight for name, weight in of_model.items()}
            if tuned.load_state_dict(given, strict=False).unexpected_keys or needed - {*of_model}:
                raise ValueError("the weights of the text encoder are not as expected")
        if others := {name: each for name, each in weights.items() if name not in of_model}:
            maps = TextMaps.from_weights(others, self.dimension)
        return replace(self, tuned=tuned, maps=maps).to(self.device)


@torch.no_grad()
def round_tuned_weights(model: SentenceModel) -> None:
    """Round tuned weights to half precision, in which they are stored, so that loading is exact."""
    for weight in model.parameters():
        if weight.requires_grad:
            weight.copy_(weight.half())


TUNED = "transformer."
"""What the names of stored weights of the tuned model begin with."""
