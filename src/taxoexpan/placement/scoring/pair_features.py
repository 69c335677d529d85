"""The features of a pair of an anchor and a query, and their weighted sum, the score.

This is the only definition of the features. The score is linear in the `Input` numbers of a pair.
Every input is computed from the taxonomy of the anchors: held-out concepts leave no trace in word
frequencies, counts of children or descriptions, and deprecated ones none in other anchors' inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum, auto

import numpy as np
import torch
from torch import Tensor

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
