"""Embedding of concepts as queries, with the concepts that they mention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from taxoexpan.config import Config
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.features.mentions import Lexicon
from taxoexpan.network.queries import LabeledQueries, Queries
from taxoexpan.network.text_tower import TextTower, query_text
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.training.holdout import Holdout


@dataclass(frozen=True)
class Embedder:
    """An encoder of concepts with settings and a device; a `tower` encodes queries too."""

    encoder: Encoder
    config: Config
    device: torch.device
    tower: TextTower | None = None

    def array(self, concepts: Iterable[Concept]) -> Vectors:
        """Return the vectors of concepts as an array: [2, N, D]."""
        c = self.config
        weights = c.name_weight, c.definition_weight
        return embed_concepts(self.encoder, concepts, *weights, c.join_definitions)

    def tensor(self, concepts: Iterable[Concept]) -> Tensor:
        """Return the vectors of concepts on the device: [2, N, D]."""
        return torch.from_numpy(self.array(concepts)).to(self.device)

    def lexicon(self, taxonomy: Taxonomy) -> Lexicon | None:
        """Return the names to search for in definitions, if mentions are used."""
        return Lexicon.from_taxonomy(taxonomy) if self.config.uses_mentions else None

    def queries(self, concepts: Sequence[Concept], lexicon: Lexicon | None) -> Queries:
        """Embed concepts, and find the concepts of a lexicon that they mention."""
        mentions = None if lexicon is None else lexicon.mentions(concepts)
        tower = (
            None
            if self.tower is None
            else self.tower.encode_queries([query_text(c) for c in concepts])
        )
        return Queries(self.tensor(concepts), mentions, concepts, tower)

    def labeled_queries(self, holdout: Holdout, lexicon: Lexicon | None) -> LabeledQueries:
        """Embed held-out concepts; the lexicon belongs to the remaining taxonomy."""
        q = self.queries(holdout.concepts, lexicon)
        return LabeledQueries(q.vectors, q.mentions, q.concepts, q.tower, holdout.parents)
