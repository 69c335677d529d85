"""The features of a pair of an anchor and a query, and their weighted sum, the score.

This is the only definition of the features. The score is linear in the `Input` numbers of a pair.
Every input is computed from the taxonomy of the anchors: held-out concepts leave no trace in word
frequencies, counts of children or descriptions, and deprecated ones none in other anchors' inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum, auto
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.network.concept_vectors import Queries
from taxoexpan.network.matching import FusionHead
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
    """The first of the eight inputs of the network's fusion head; see `cosine_features`."""
    HEAD = auto()
    NEAREST_CHILD = auto()
    NEAREST_CHILD_HEAD = auto()
    MEAN_CHILD = auto()
    MEAN_CHILD_HEAD = auto()
    CHILDREN = auto()
    """The logarithm of one more than the number of children."""
    ONE = auto()
    """1 for every pair; the last input of the fusion head."""
    TOWER_NEAREST_CHILD = auto()
    ENDING = auto()
    """The first of the six features of the labels' words; see `LabelWords.compare`."""
    INSIDE = auto()
    LAST_WORD = auto()
    QUERY_WORDS = auto()
    ANCHOR_WORDS = auto()
    PATH_WORDS = auto()


OF_HEAD = slice(Input.NAME, Input.ONE + 1)
"""The inputs of the network's fusion head."""
OF_COSINES = slice(Input.NAME, Input.TOWER_NEAREST_CHILD + 1)
OF_FAMILY = slice(Input.TOWER_MEAN_CHILD, Input.TOWER_NEAREST_CHILD + 1)
"""The inputs that anchors with children have, and leaf anchors lack in part."""
OF_WORDS = slice(Input.ENDING, Input.PATH_WORDS + 1)


@dataclass(frozen=True)
class Feature:
    """A feature: its signal, input and scale, and whether it is 0 for anchors with children."""

    signal: Signal
    input: Input
    scale: float = 1.0
    leaves_only: bool = False


FEATURES = {
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
    features = inputs.new_empty(len(FEATURES), *inputs.shape[1:]) if out is None else out
    for values, feature in zip(features, FEATURES.values(), strict=True):
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
        return cls(tuple(float(weights.get(name, 0.0)) for name in FEATURES))

    def as_mapping(self) -> dict[str, float]:
        """Return the weights by the names of their features."""
        return dict(zip(FEATURES, self.weights, strict=True))

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals with a nonzero weight."""
        pairs = zip(FEATURES.values(), self.weights, strict=True)
        weighed = {feature.signal for feature, weight in pairs if weight}
        return tuple(signal for signal in Signal if signal in weighed)

    def input_weights(self) -> Floats:
        """Return the weight of each input, for anchors with and without children: [2, I]."""
        totals = np.zeros((2, len(Input)))
        for feature, weight in zip(FEATURES.values(), self.weights, strict=True):
            totals[int(feature.leaves_only) :, feature.input] += feature.scale * weight
        return totals

    def contributions(self, features: Floats) -> dict[Signal, Floats]:
        """Return the contribution of each signal to P scores: [F, P] → [P] per signal."""
        parts = np.array(self.weights)[:, None] * features
        return {
            signal: parts[[each.signal == signal for each in FEATURES.values()]].sum(axis=0)
            for signal in Signal
        }


LEAF_COSINES = [0, 1, Input.ONE - Input.NAME]
"""Those that a leaf anchor has: the cosines of its name and of its head word, and 1."""
MAX_PAIRS = {"cpu": 1 << 17, "cuda": 1 << 23}
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
        self.families, self.queries, self.children = families, queries, children
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

    @cached_property
    def _of_children(self) -> tuple[Tensor, ...]:
        """The cosines with the nearest and the mean child, as in `Input`, and by tower [I, B]."""
        by_name, by_head = self.families.children, self.families.head_children
        nearest = by_name.maximum(self.names)
        texts = self.texts
        by_tower = torch.zeros_like(nearest) if texts is None else by_name.maximum(texts)
        nearest_head = by_head.maximum(self.heads)
        return nearest, nearest_head, by_name.mean(self.names), by_head.mean(self.heads), by_tower

    def fill_leaves(self, inputs: Sequence[Tensor], rows: slice) -> None:
        """Write the two cosines of some anchors as leaves, [a, B] each."""
        torch.index_select(self.names, 0, self.families.own[rows], out=inputs[0])
        torch.index_select(self.heads, 0, self.families.own_heads[rows], out=inputs[1])

    def fill_parents(self, inputs: Sequence[Tensor], rows: slice) -> None:
        """Write the inputs `OF_COSINES` of some anchors with children, [i, B] each."""
        families, of_children = self.families, self._of_children
        own, heads = families.own_of_parents[rows], families.heads_of_parents[rows]
        torch.index_select(self.names, 0, own, out=inputs[0])
        torch.index_select(self.heads, 0, heads, out=inputs[1])
        for values, place in zip(of_children, (2, 3, 4, 5, 8), strict=True):
            inputs[place].copy_(values[rows])
        inputs[6].copy_(families.log_counts[rows, None])
        inputs[7].fill_(1.0)

    def _product(self, name: str, vectors: Tensor, queries: Tensor) -> Tensor:
        result = self._memory.take(name, vectors, len(vectors), len(queries))
        return torch.mm(vectors, queries.T, out=result)


class CosineScorer:
    """Weights [2, 9] of cosines and [2] of the fusion head, for parents and leaf anchors."""

    def __init__(
        self,
        head: FusionHead | None,
        families: Families,
        weights: Floats,
        head_weights: Floats,
    ) -> None:
        self.families = families
        names = families.names
        hidden = names.new_zeros(0, 8) if head is None else head.hidden.detach()
        output = names.new_zeros(1, 0) if head is None else head.output.detach()
        self.hidden = F.pad(hidden, (0, 1))
        self.floor = hidden.new_zeros(len(hidden), 1)
        self.leaf_hidden, bias = hidden[:, LEAF_COSINES].split([2, 1], 1)
        of_both = weights[0], weights[1, LEAF_COSINES]
        self.outputs, self.leaf_outputs = (
            torch.cat([weight * output, names.new_tensor(own.tolist())[None]], 1)
            for own, weight in zip(of_both, head_weights.tolist(), strict=True)
        )
        # A product is cheaper without the bias: max(x + b, 0) = max(x, -b) + b.
        self.leaf_floor = -bias
        self.leaf_outputs[:, -1:] += head_weights[1].item() * (output @ bias)


class CosineScores:
    """The scores of one block of B queries; anchors with children are scored first."""

    def __init__(self, scorer: CosineScorer, cosines: QueryCosines) -> None:
        self._scorer, self._cosines = scorer, cosines
        self._leaf_pairs: _Pairs | None = None
        self._of_parents = self._scores_of_parents()

    def add_to(self, result: Tensor, rows: slice) -> None:
        """Add the scores of some anchors to a result [n, B]."""
        families = self._scorer.families
        first, last = families.parents.searchsorted([rows.start, rows.stop]).tolist()
        parents = families.rows_of_parents[first:last] - rows.start
        before = result.index_select(0, parents)
        self._add_as_leaves(result, rows)
        result.index_copy_(0, parents, before.add_(self._of_parents[first:last]))

    def _add_as_leaves(self, result: Tensor, rows: slice) -> None:
        """Add the scores of some anchors as if none of them had children."""
        scorer, pairs = self._scorer, self._leaf_pairs
        if pairs is None or pairs.count != len(result):
            hidden, floor = scorer.leaf_hidden, scorer.leaf_floor
            pairs = self._leaf_pairs = _Pairs(hidden, floor, 3, *result.shape)
            pairs.inputs[2].fill_(1.0)
        self._cosines.fill_leaves(pairs.inputs, rows)
        pairs.activate()
        result.view(1, -1).addmm_(scorer.leaf_outputs, pairs.table)

    def _scores_of_parents(self) -> Tensor:
        """Return the scores of the anchors with children: [I, B]."""
        scorer, names = self._scorer, self._cosines.names
        size, count = names.shape[1], len(scorer.families.parents)
        scores = names.new_empty(count, size)
        pairs: _Pairs | None = None
        for rows in row_slices(count, size, MAX_PAIRS, names.device):
            if pairs is None or pairs.count != rows.stop - rows.start:
                pairs = _Pairs(scorer.hidden, scorer.floor, 9, rows.stop - rows.start, size)
            self._cosines.fill_parents(pairs.inputs, rows)
            pairs.activate()
            torch.mm(scorer.outputs, pairs.table, out=scores[rows].view(1, -1))
        return scores


class _Pairs:
    """Hidden units and inputs of pairs, stacked for one matrix product: [H + I, C * S]."""

    def __init__(self, hidden: Tensor, floor: Tensor, inputs: int, count: int, size: int) -> None:
        units, used = hidden.shape
        self.count, self._hidden, self._floor = count, hidden, floor
        self.table = hidden.new_empty(units + inputs, count * size)
        self._units, self._used = self.table[:units], self.table[units : units + used]
        self.inputs = self.table[units:].view(inputs, count, size).unbind()

    def activate(self) -> None:
        """Compute the hidden units of the inputs."""
        torch.mm(self._hidden, self._used, out=self._units)
        torch.clamp(self._units, self._floor, out=self._units)


def row_slices(
    count: int, size: int, limits: dict[str, int], device: torch.device, step: int = 1
) -> Iterator[slice]:
    """Split rows of `size` pairs into slices that fit the device, in multiples of `step`."""
    pairs = limits.get(device.type, limits["cpu"])
    rows = max(1, pairs // max(size, 1) // step) * step
    for start in range(0, count, rows):
        yield slice(start, min(start + rows, count))
