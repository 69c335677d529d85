"""The anchors of a ranking: concepts of a taxonomy with all data for comparisons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from taxoexpan.errors import ModelError
from taxoexpan.features.label_words import LabelWords
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.egonets import Egonets, build_egonets, spread_siblings
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.text_tower import TextTower, query_text
from taxoexpan.placement.scoring.families import Families
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices

ENCODER_BLOCK = 8192
"""Anchors that are encoded at a time."""


@dataclass(frozen=True)
class AnchorTexts:
    """The words of N anchors and, with a tower, the vectors [N, D] of their texts."""

    words: LabelWords
    as_anchors: Tensor | None = None
    as_queries: Tensor | None = None

    @classmethod
    def of(cls, taxonomy: Taxonomy, tower: TextTower | None) -> AnchorTexts:
        """Read and encode the texts of all concepts of a taxonomy."""
        words = LabelWords.from_taxonomy(taxonomy)
        if tower is None:
            return cls(words)
        queries = tower.encode_queries([query_text(concept) for concept in taxonomy.concepts])
        anchors = tower.encode_anchors(taxonomy.without_deprecated_relations)
        return cls(words, anchors, queries)

    @property
    def tower(self) -> tuple[Tensor, Tensor] | None:
        """The tower's vectors as anchors and as queries, if there is a tower."""
        if self.as_anchors is None or self.as_queries is None:
            return None
        return self.as_anchors, self.as_queries

    def select(self, anchors: Indices) -> AnchorTexts:
        """Return the texts of some anchors, given by index."""
        words = self.words.select(anchors)
        if self.tower is None:
            return AnchorTexts(words)
        rows = torch.from_numpy(anchors).to(self.tower[0].device)
        return AnchorTexts(words, *(vectors.index_select(0, rows) for vectors in self.tower))

    def to(self, device: torch.device) -> AnchorTexts:
        """Return the same texts with the vectors on a device."""
        if self.tower is None:
            return self
        as_anchors, as_queries = (vectors.to(device) for vectors in self.tower)
        return replace(self, as_anchors=as_anchors, as_queries=as_queries)


class Anchors:
    """The `chosen` concepts of a taxonomy, or all, as anchors, with the vectors of all concepts.

    As in training, deprecated concepts are only in their own egonets. The egonets are always the
    same. `texts` are about all concepts; only the learned fusion needs them.
    """

    def __init__(
        self,
        taxonomy: Taxonomy,
        vectors: ConceptVectors,
        siblings: int,
        chosen: Indices | None = None,
        texts: AnchorTexts | None = None,
    ) -> None:
        self.taxonomy = taxonomy.without_deprecated_relations
        self.vectors, self.siblings, self.texts = vectors, siblings, texts
        self.is_everyone = chosen is None or np.array_equal(chosen, np.arange(len(taxonomy)))
        self.chosen = np.arange(len(taxonomy)) if chosen is None else chosen

    @cached_property
    def words(self) -> LabelWords:
        """The words of the chosen anchors, which must have texts."""
        if self.texts is None:
            raise ModelError("the learned fusion needs the texts of the anchors")
        return self.texts.words if self.is_everyone else self.texts.words.select(self.chosen)

    @cached_property
    def tower(self) -> tuple[Tensor, Tensor] | None:
        """The tower's vectors of the chosen anchors, and of all concepts as children, if any."""
        if self.texts is None or self.texts.tower is None:
            return None
        own, children = self.texts.tower
        if not self.is_everyone:
            own = own.index_select(0, torch.from_numpy(self.chosen).to(own.device))
        return own, children

    @cached_property
    def families(self) -> Families:
        """The chosen anchors with all their children, for the features of pairs."""
        return Families(self.taxonomy, self.chosen, self.vectors)

    @property
    def child_counts(self) -> Indices:
        """The number of children of each concept of the taxonomy, without deprecated ones: [N]."""
        return self.taxonomy.children_of.degrees

    @torch.no_grad()
    def encode(self, network: MatchingNetwork) -> Tensor:
        """Compute the key of every anchor, once for all queries: [N, k]."""
        was_training = network.training
        network.eval()
        vectors, keys = self.vectors, list[Tensor]()
        for stored in self._egonets:
            egonets = stored.to(vectors.device)
            names = vectors.select_names(stored.concepts)
            keys.append(network.encode(names, egonets).to(vectors.storage))
        network.train(was_training)
        return torch.cat(keys)

    def stored(self) -> Anchors:
        """Return the same anchors for computations on the device that stores the vectors."""
        vectors = self.vectors.stored()
        texts = None if self.texts is None else self.texts.to(vectors.device)
        return Anchors(self.taxonomy, vectors, self.siblings, self.chosen, texts)

    @cached_property
    def _egonets(self) -> list[Egonets]:
        blocks = np.split(self.chosen, range(ENCODER_BLOCK, len(self.chosen), ENCODER_BLOCK))
        return [
            anchor_egonets(self.taxonomy, anchors, self.siblings).to(self.vectors.storage)
            for anchors in blocks
        ]


def anchor_egonets(taxonomy: Taxonomy, anchors: Indices, siblings: int) -> Egonets:
    """Build the deterministic egonets of some anchors for use outside training."""
    return build_egonets(taxonomy, anchors, spread_siblings(taxonomy, anchors, siblings))
