"""The features of a pair of an anchor and a query, and their weighted sum, the score.

This is the only definition of the features. The score is linear in the `Input` numbers of a pair.
Every input is computed from the taxonomy of the anchors: held-out concepts leave no trace in word
frequencies, counts of children or descriptions, and deprecated ones none in other anchors' inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum, auto
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from taxoexpan.network.concept_vectors import Queries
from taxoexpan.placement.scoring.anchors import Families
from taxoexpan.taxonomy.arrays import Floats

COSINE_SCALE = 10.0
"""Cosines are scaled by this, so that all weights have a similar size."""


class Signal(StrEnum):
    """The sources of features."""

    NETWORK = "network"
    TOWER = "text encoder"
    NAMES = "similar names"
    WORDS = "shared words"
    STRUCTURE = "structure"


class Input(IntEnum):
    """The inputs of features, as rows of a tensor [I, ...]; 0 for a missing tower or child."""

    NETWORK = 0
    """log f of the network."""
    TOWER_ANCHOR = auto()
    """The tower's cosine with the anchor's description."""
    TOWER_MEAN_CHILD = auto()
    NAME = auto()
    """The first of the seven cosines of `QueryCosines`."""
    HEAD = auto()
    NEAREST_CHILD = auto()
    NEAREST_CHILD_HEAD = auto()
    MEAN_CHILD = auto()
    MEAN_CHILD_HEAD = auto()
    TOWER_NEAREST_CHILD = auto()
    CHILDREN = auto()
    """The logarithm of one more than the number of children."""
    ONE = auto()
    """1 for every pair."""
    ENDING = auto()
    """The first of the six features of the labels' words; see `LabelWords.compare`."""
    INSIDE = auto()
    LAST_WORD = auto()
    QUERY_WORDS = auto()
    ANCHOR_WORDS = auto()
    PATH_WORDS = auto()


OF_COSINES = slice(Input.NAME, Input.TOWER_NEAREST_CHILD + 1)
OF_FAMILY = slice(Input.TOWER_MEAN_CHILD, Input.CHILDREN + 1)
"""The inputs that anchors with children have, and leaf anchors lack in part."""
OF_WORDS = slice(Input.ENDING, Input.PATH_WORDS + 1)


@dataclass(frozen=True)
class Feature:
    """A feature: its signal, input and scale, and whether it is 0 for anchors with children."""

    signal: Signal
    input: Input
    scale: float = 1.0
    leaves_only: bool = False


PAIR_FEATURES = {
    "network": Feature(Signal.NETWORK, Input.NETWORK),
    "tower_anchor": Feature(Signal.TOWER, Input.TOWER_ANCHOR, COSINE_SCALE),
    "tower_nearest_child": Feature(Signal.TOWER, Input.TOWER_NEAREST_CHILD, COSINE_SCALE),
    "tower_mean_child": Feature(Signal.TOWER, Input.TOWER_MEAN_CHILD, COSINE_SCALE),
    "name": Feature(Signal.NAMES, Input.NAME, COSINE_SCALE),
    "head": Feature(Signal.NAMES, Input.HEAD, COSINE_SCALE),
    "nearest_child": Feature(Signal.NAMES, Input.NEAREST_CHILD, COSINE_SCALE),
    "nearest_child_head": Feature(Signal.NAMES, Input.NEAREST_CHILD_HEAD, COSINE_SCALE),
    "mean_child": Feature(Signal.NAMES, Input.MEAN_CHILD, COSINE_SCALE),
    "mean_child_head": Feature(Signal.NAMES, Input.MEAN_CHILD_HEAD, COSINE_SCALE),
    "children": Feature(Signal.STRUCTURE, Input.CHILDREN),
    "leaf": Feature(Signal.STRUCTURE, Input.ONE, leaves_only=True),
    "ending": Feature(Signal.WORDS, Input.ENDING),
    "inside": Feature(Signal.WORDS, Input.INSIDE),
    "last_word": Feature(Signal.WORDS, Input.LAST_WORD),
    "query_words": Feature(Signal.WORDS, Input.QUERY_WORDS),
    "anchor_words": Feature(Signal.WORDS, Input.ANCHOR_WORDS),
    "path_words": Feature(Signal.WORDS, Input.PATH_WORDS),
    "leaf_network": Feature(Signal.NETWORK, Input.NETWORK, leaves_only=True),
    "leaf_tower": Feature(Signal.TOWER, Input.TOWER_ANCHOR, COSINE_SCALE, leaves_only=True),
    "leaf_name": Feature(Signal.NAMES, Input.NAME, COSINE_SCALE, leaves_only=True),
}
"""The features in their order. Leaf anchors are recognized by other things than anchors with
children, so some inputs have a second weight for leaf anchors."""


def pair_features(inputs: Tensor, is_leaf: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the features of pairs, in `out` if it is given: [I, ...] → [F, ...]."""
    features = inputs.new_empty(len(PAIR_FEATURES), *inputs.shape[1:]) if out is None else out
    for values, feature in zip(features, PAIR_FEATURES.values(), strict=True):
        torch.mul(inputs[feature.input], feature.scale, out=values)
        if feature.leaves_only:
            values *= is_leaf
    return features


@dataclass(frozen=True)
class SignalFusion:
    """The learned fusion: the weight of each feature."""

    weights: tuple[float, ...]

    @classmethod
    def from_mapping(cls, weights: Mapping[str, float]) -> SignalFusion:
        """Create from weights by the names of features; other weights are 0."""
        return cls(tuple(float(weights.get(name, 0.0)) for name in PAIR_FEATURES))

    def as_mapping(self) -> dict[str, float]:
        """Return the weights by the names of their features."""
        return dict(zip(PAIR_FEATURES, self.weights, strict=True))

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals with a nonzero weight."""
        pairs = zip(PAIR_FEATURES.values(), self.weights, strict=True)
        weighed = {feature.signal for feature, weight in pairs if weight}
        return tuple(signal for signal in Signal if signal in weighed)

    def input_weights(self) -> Floats:
        """Return the weight of each input, for anchors with and without children: [2, I]."""
        totals = np.zeros((2, len(Input)))
        for feature, weight in zip(PAIR_FEATURES.values(), self.weights, strict=True):
            totals[int(feature.leaves_only) :, feature.input] += feature.scale * weight
        return totals

    def contributions(self, features: Floats) -> dict[Signal, Floats]:
        """Return the contribution of each signal to P scores: [F, P] → [P] per signal."""
        parts = np.array(self.weights)[:, None] * features
        return {
            signal: parts[[each.signal == signal for each in PAIR_FEATURES.values()]].sum(axis=0)
            for signal in Signal
        }


MAX_PAIRS_BY_DEVICE = {"cpu": 1 << 17, "cuda": 1 << 23}
"""Pairs that are scored at a time: few enough for the cache of a CPU."""


class ReusedMemory:
    """Tensors that are overwritten by each block of queries, since new memory is slow."""

    def __init__(self) -> None:
        self._tensors: dict[str, Tensor] = {}

    def take(self, name: str, like: Tensor, rows: int, columns: int) -> Tensor:
        """Return an uninitialized tensor [rows, columns] of the type of another one."""
        known = self._tensors.get(name)
        if known is None or known.shape != (rows, columns):
            known = self._tensors[name] = like.new_empty(rows, columns)
        return known


class QueryCosines:
    """The cosines of B queries, which are valid until the next block uses the same memory."""

    def __init__(
        self,
        families: Families,
        queries: Queries,
        memory: ReusedMemory,
        children: Tensor | None = None,
    ) -> None:
        self.families = families
        self.queries = queries
        self.children = children
        self._memory = memory

    @cached_property
    def names(self) -> Tensor:
        """The cosines with the names that occur [n, B]."""
        return self._product("names", self.families.names, self.queries.vectors[0])

    @cached_property
    def heads(self) -> Tensor:
        """The cosines with the head words that occur [V, B]."""
        return self._product("heads", self.families.heads, self.queries.vectors[1])

    @cached_property
    def texts(self) -> Tensor | None:
        """The cosines with the texts of the concepts that occur [n, B], if there is a tower."""
        if self.children is None or self.queries.tower is None:
            return None
        return self.children @ self.queries.tower.T

    def of_anchors(self, rows: slice) -> tuple[Tensor, Tensor]:
        """Return the cosines with the names and the head words of some anchors: [a, B] each."""
        names = self.names.index_select(0, self.families.own[rows])
        return names, self.heads.index_select(0, self.families.own_heads[rows])

    def of_parents(self) -> Iterator[Tensor]:
        """Yield the inputs `OF_COSINES` of all anchors with children, [I, B] each."""
        families = self.families
        by_name = families.children
        by_head = families.head_children
        yield self.names.index_select(0, families.own_of_parents)
        yield self.heads.index_select(0, families.heads_of_parents)
        yield (nearest := by_name.maximum(self.names))
        yield by_head.maximum(self.heads)
        yield by_name.mean(self.names)
        yield by_head.mean(self.heads)
        yield torch.zeros_like(nearest) if self.texts is None else by_name.maximum(self.texts)

    def _product(self, name: str, vectors: Tensor, queries: Tensor) -> Tensor:
        result = self._memory.take(name, vectors, len(vectors), len(queries))
        return torch.mm(vectors, queries.T, out=result)


class CosineScores:
    """Cosines of a block of B queries, times `weights` [2, 7] for parents and for leaf anchors."""

    def __init__(self, weights: Floats, cosines: QueryCosines) -> None:
        self._cosines = cosines
        self._families = cosines.families
        parents, leaves = weights.tolist()
        self._leaf_weights = leaves[: Input.HEAD - Input.NAME + 1]
        names = cosines.names
        self._of_parents = names.new_zeros(len(self._families.parents), names.shape[1])
        for values, weight in zip(cosines.of_parents(), parents, strict=True):
            self._of_parents.add_(values, alpha=weight)

    def add_to(self, result: Tensor, rows: slice) -> None:
        """Add the scores of some anchors to a result [n, B]."""
        first, last = self._families.parents.searchsorted([rows.start, rows.stop]).tolist()
        parents = self._families.rows_of_parents[first:last] - rows.start
        before = result.index_select(0, parents)
        for values, weight in zip(self._cosines.of_anchors(rows), self._leaf_weights, strict=True):
            result.add_(values, alpha=weight)
        result.index_copy_(0, parents, before.add_(self._of_parents[first:last]))


def row_slices(
    count: int, size: int, limits: dict[str, int], device: torch.device, step: int = 1
) -> Iterator[slice]:
    """Split rows of `size` pairs into slices that fit the device, in multiples of `step`."""
    pairs = limits.get(device.type, limits["cpu"])
    rows = max(1, pairs // max(size, 1) // step) * step
    for start in range(0, count, rows):
        yield slice(start, min(start + rows, count))
