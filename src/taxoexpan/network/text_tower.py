"""The text tower, which encodes a query near the description of its parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from taxoexpan.features.encoder import Encoder
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.network.text_maps import PARENT, EncodedTexts, TextMaps
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Indices


def query_text(concept: Concept) -> str:
    """Return the text of a query: its label, and its definition if it has one."""
    return f"{concept.label}: {concept.definition}" if concept.definition else concept.label


def anchor_texts(taxonomy: Taxonomy) -> list[str]:
    """Return the text of each anchor, `label < label of its first parent: definition`.

    Children are left out, because the text must not depend on which children are known.
    """
    labels, definitions = taxonomy.labels, taxonomy.definitions
    offsets, targets = taxonomy.parents_of.offsets.tolist(), taxonomy.parents_of.targets.tolist()
    texts = []
    for index, label in enumerate(labels):
        text = label
        if offsets[index] < offsets[index + 1]:
            text += f"{PARENT}{labels[targets[offsets[index]]]}"
        texts.append(f"{text}: {definitions[index]}" if index in definitions else text)
    return texts


PARENT_WEIGHT = 0.5
"""The weight of the parent in a composed anchor; a root counts as its own parent."""


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
        vectors, maps = self.encode(texts), self.maps
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

    def weights(self) -> dict[str, Tensor]:
        """Return everything that was learned, by name."""
        learned = {} if self.tuned is None else dict(self.tuned.named_parameters())
        weights = {TUNED + name: w.detach() for name, w in learned.items() if w.requires_grad}
        return weights if self.maps is None else {**weights, **self.maps.weights()}

    def with_weights(self, weights: Mapping[str, Tensor]) -> Self:
        """Return the tower with the weights of another tower; refuse other names and shapes."""
        tuned, maps = None, None
        if of_model := {name: each for name, each in weights.items() if name.startswith(TUNED)}:
            tuned = self.encoder.copy_model()
            tuned.choose_layers()
            needed = {TUNED + n for n, weight in tuned.named_parameters() if weight.requires_grad}
            given = {name.removeprefix(TUNED): weight for name, weight in of_model.items()}
            if tuned.load_state_dict(given, strict=False).unexpected_keys or needed - {*of_model}:
                raise ValueError("the weights of the text encoder are not as expected")
        if others := {name: each for name, each in weights.items() if name not in of_model}:
            maps = TextMaps.from_weights(others, self.dimension)
        return replace(self, tuned=tuned, maps=maps).to(self.device)


TUNED = "transformer."
"""What the names of stored weights of the tuned model begin with."""
