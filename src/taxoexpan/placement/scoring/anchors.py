"""The anchors and the queries of a ranking, with all data for comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.config import Config
from taxoexpan.errors import ModelError
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder import Encoder, Vectors
from taxoexpan.features.label_words import LabelWords
from taxoexpan.features.mentions import Lexicon
from taxoexpan.network.concept_vectors import ConceptVectors, LabeledQueries, Queries
from taxoexpan.network.egonets import Egonets, build_egonets, spread_siblings
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.text_tower import TextTower, query_text
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.holdout import Holdout

ENCODER_BLOCK = 8192
"""Anchors that are encoded at a time."""


@dataclass(frozen=True)
class Embedder:
    """An encoder of concepts with settings and a device; a `tower` encodes queries too."""

    encoder: Encoder
    config: Config
    device: torch.device
    tower: TextTower | None = None

    @property
    def tunes_encoder(self) -> bool:
        """Whether layers of the encoder's sentence model are to be fine-tuned."""
        wanted = self.config.tower_epochs and self.config.learn_fusion
        return bool(wanted) and self.encoder.part_with_model() is not None

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
        tower = None
        if self.tower is not None:
            tower = self.tower.encode_queries([query_text(c) for c in concepts])
        return Queries(self.tensor(concepts), mentions, concepts, tower)

    def labeled_queries(self, holdout: Holdout, lexicon: Lexicon | None) -> LabeledQueries:
        """Embed held-out concepts; the lexicon belongs to the remaining taxonomy."""
        q = self.queries(holdout.concepts, lexicon)
        return LabeledQueries(q.vectors, q.mentions, q.concepts, q.tower, holdout.parents)


class Families:
    """The children of A anchors (I of them with children), as rows of the concepts that occur."""

    def __init__(self, taxonomy: Taxonomy, chosen: Indices, vectors: ConceptVectors) -> None:
        self.device = vectors.device
        counts = taxonomy.children_of.degrees[chosen]
        self.parents: Indices = np.flatnonzero(counts)
        """The rows of the anchors with children, ascending [I]."""
        self._offsets = np.append(0, np.cumsum(counts[self.parents]))
        self._children = taxonomy.children_of.of_many(chosen)[1]
        everyone = np.array_equal(chosen, np.arange(len(taxonomy)))
        used = None if everyone else np.unique(np.concatenate([chosen, self._children]))
        self._own = chosen if used is None else np.searchsorted(used, chosen)
        self._child_rows = self._children if used is None else np.searchsorted(used, self._children)
        self._used = None if used is None else self._moved(used)
        self._vectors = vectors if self._used is None else vectors.select(self._used)
        self.log_counts = self._moved(counts[self.parents]).to(vectors.names.dtype).log1p_()
        """The logarithm of one more than the number of children [I]."""

    @property
    def names(self) -> Tensor:
        """The name vectors of the concepts that occur [n, D]."""
        return self._vectors.names

    @cached_property
    def own(self) -> Tensor:
        """The row of each anchor among the concepts that occur [A]."""
        return self._moved(self._own)

    @cached_property
    def rows_of_parents(self) -> Tensor:
        """The rows of the anchors with children, on the device [I]."""
        return self._moved(self.parents)

    @cached_property
    def own_of_parents(self) -> Tensor:
        """The row of each anchor with children among the concepts that occur [I]."""
        return self.own.index_select(0, self.rows_of_parents)

    @cached_property
    def heads_of_parents(self) -> Tensor:
        """The row of the head word of each anchor with children in `heads` [I]."""
        return self.own_heads.index_select(0, self.rows_of_parents)

    @cached_property
    def _head_rows(self) -> tuple[Indices, Indices]:
        """The distinct head words in use, and the head word of each concept that occurs."""
        return np.unique(self._vectors.head_of.cpu().numpy(), return_inverse=True)

    @cached_property
    def heads(self) -> Tensor:
        """The vectors of the head words in use [V, D]."""
        used = self._head_rows[0]
        everyone = len(used) == len(self._vectors.heads)
        heads = self._vectors.heads
        return heads if everyone else heads.index_select(0, self._moved(used))

    @cached_property
    def own_heads(self) -> Tensor:
        """The row of each anchor's head word in `heads` [A]."""
        return self._moved(self._head_rows[1][self._own])

    @cached_property
    def children(self) -> RowGroups:
        """The children of each anchor with children, among the concepts that occur."""
        return self._groups(self._child_rows, self._offsets)

    @cached_property
    def head_children(self) -> RowGroups:
        """The head words of the children of each anchor with children, in `heads`."""
        return self._groups(self._head_rows[1][self._child_rows], self._offsets)

    def mean_of(self, vectors: Tensor) -> Tensor:
        """Return the mean over the children of each anchor with children: [N, D] → [I, D]."""
        return self._groups(self._children, self._offsets).mean(vectors)

    def occurring(self, vectors: Tensor) -> Tensor:
        """Select the concepts that occur from all concepts: [N, D] → [n, D]."""
        return vectors if self._used is None else vectors.index_select(0, self._used)

    def write(self, values: Tensor, rows: slice, result: Tensor) -> None:
        """Write values of the anchors with children [k, I, B] to a slice of rows [k, a, B]."""
        first, last = self.parents.searchsorted([rows.start, rows.stop]).tolist()
        own = self._moved(self.parents[first:last] - rows.start)
        result[:, own] = values[:, first:last]

    def _groups(self, rows: Indices, offsets: Indices) -> RowGroups:
        group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        return RowGroups(*map(self._moved, (rows, offsets[:-1], group)))

    def _moved(self, array: Indices) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


@dataclass(frozen=True)
class RowGroups:
    """G nonempty groups of rows [M], with the start of each group [G] and the group of each row."""

    rows: Tensor
    starts: Tensor
    group: Tensor

    def maximum(self, values: Tensor) -> Tensor:
        """Return the maximum of each group: [n, B] → [G, B]."""
        members = values.index_select(0, self.rows)
        result = values.new_full((len(self.starts), values.shape[1]), -torch.inf)
        return result.scatter_reduce_(0, self.group[:, None].expand_as(members), members, "amax")

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean of each group: [n, B] → [G, B]."""
        if not len(self.rows):
            return values.new_zeros(0, values.shape[1])
        return F.embedding_bag(self.rows, values, self.starts, mode="mean")


@dataclass(frozen=True)
class AnchorTexts:
    """The words of N anchors and, with a tower, its vectors [N, D] as anchors and as queries."""

    words: LabelWords
    tower: tuple[Tensor, Tensor] | None = None

    @classmethod
    def of(cls, taxonomy: Taxonomy, tower: TextTower | None) -> AnchorTexts:
        """Read and encode the texts of all concepts of a taxonomy."""
        words = LabelWords.from_taxonomy(taxonomy)
        if tower is None:
            return cls(words)
        queries = tower.encode_queries([query_text(concept) for concept in taxonomy.concepts])
        return cls(words, (tower.encode_anchors(taxonomy.without_deprecated_relations), queries))

    def select(self, anchors: Indices) -> AnchorTexts:
        """Return the texts of some anchors, given by index."""
        words = self.words.select(anchors)
        if self.tower is None:
            return AnchorTexts(words)
        rows = torch.from_numpy(anchors).to(self.tower[0].device)
        as_anchors, as_queries = (vectors.index_select(0, rows) for vectors in self.tower)
        return AnchorTexts(words, (as_anchors, as_queries))

    def to(self, device: torch.device) -> AnchorTexts:
        """Return the same texts with the vectors on a device."""
        if self.tower is None:
            return self
        as_anchors, as_queries = self.tower
        return replace(self, tower=(as_anchors.to(device), as_queries.to(device)))


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
        self.vectors = vectors
        self.siblings = siblings
        self.texts = texts
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

    @torch.no_grad()
    def encode(self, network: MatchingNetwork) -> Tensor:
        """Compute the key of every anchor, once for all queries: [N, k]."""
        was_training = network.training
        network.eval()
        vectors = self.vectors
        keys = list[Tensor]()
        for stored in self._egonets:
            egonets = stored.to(vectors.device)
            names = vectors.select_names(stored.concepts)
            keys.append(network.encode(names, egonets).to(vectors.storage))
        network.train(was_training)
        return torch.cat(keys)

    def stored(self) -> Anchors:
        """Return the same anchors for computations on the device that stores the vectors."""
        vectors = self.vectors.to(self.vectors.storage)
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
