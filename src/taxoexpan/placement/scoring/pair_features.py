"""The features of a pair of an anchor and a query, which the fusion weighs.

Every feature is computed from the taxonomy that the anchors belong to. Concepts that are held out
of it leave no trace: not in word frequencies, not in counts of children, not in descriptions. Nor
do deprecated concepts in the features of other anchors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import torch
from torch import Tensor

from taxoexpan.features.label_words import NUM_WORD_FEATURES, LabelWords
from taxoexpan.network.cosine_features import LOG_COUNT
from taxoexpan.network.text_tower import TextTower, anchor_texts, query_text
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices

COSINE_SCALE = 10.0
"""Cosines are scaled by this, so that all weights have a similar size."""


class Signal(StrEnum):
    """The sources of features."""

    NETWORK = "network"
    TOWER = "fine-tuned encoder"
    NAMES = "similar names"
    WORDS = "shared words"
    STRUCTURE = "structure"


FEATURES: dict[str, Signal] = {
    "network": Signal.NETWORK,
    "tower_anchor": Signal.TOWER,
    "tower_nearest_child": Signal.TOWER,
    "tower_mean_child": Signal.TOWER,
    "name": Signal.NAMES,
    "head": Signal.NAMES,
    "nearest_child": Signal.NAMES,
    "nearest_child_head": Signal.NAMES,
    "mean_child": Signal.NAMES,
    "mean_child_head": Signal.NAMES,
    "children": Signal.STRUCTURE,
    "leaf": Signal.STRUCTURE,
    "ending": Signal.WORDS,
    "inside": Signal.WORDS,
    "last_word": Signal.WORDS,
    "query_words": Signal.WORDS,
    "anchor_words": Signal.WORDS,
    "path_words": Signal.WORDS,
    "leaf_network": Signal.NETWORK,
    "leaf_tower": Signal.TOWER,
    "leaf_name": Signal.NAMES,
}
"""The features in their order, and where each comes from. The last three are features of leaf
anchors only, which are recognized by other things than anchors with children."""
NUM_FEATURES = len(FEATURES)
COSINE_FEATURES = [
    name
    for name, signal in FEATURES.items()
    if signal == Signal.NAMES and not name.startswith("leaf_")
]
"""The features of the names' cosines, in the order of `network.cosine_features`."""
WORD_FEATURES = [name for name, signal in FEATURES.items() if signal == Signal.WORDS]
"""The features of the labels' words, in the order of `LabelWords.compare`."""


@dataclass(frozen=True)
class AnchorTexts:
    """What the texts of N anchors are compared by.

    Args:
        words: the words of their labels.
        as_anchors: the tower's vectors of their descriptions [N, D], or None without a tower.
        as_queries: the tower's vectors of their own names and definitions [N, D], as children.
    """

    words: LabelWords
    as_anchors: Tensor | None = None
    as_queries: Tensor | None = None

    @classmethod
    def of(cls, taxonomy: Taxonomy, tower: TextTower | None) -> AnchorTexts:
        """Read and encode the texts of all concepts of a taxonomy."""
        words = LabelWords.from_taxonomy(taxonomy)
        if tower is None:
            return cls(words)
        queries = tower.encode([query_text(concept) for concept in taxonomy.concepts])
        described = anchor_texts(taxonomy.without_deprecated_relations)
        return cls(words, tower.encode(described), queries)

    def select(self, anchors: Indices) -> AnchorTexts:
        """Return the texts of some anchors, by index."""
        if self.as_anchors is None or self.as_queries is None:
            return AnchorTexts(self.words.select(anchors))
        rows = torch.from_numpy(anchors).to(self.as_anchors.device)
        return AnchorTexts(
            self.words.select(anchors),
            self.as_anchors.index_select(0, rows),
            self.as_queries.index_select(0, rows),
        )

    def to(self, device: torch.device) -> AnchorTexts:
        """Return the same texts with the vectors on a device."""
        moved = (None if v is None else v.to(device) for v in (self.as_anchors, self.as_queries))
        as_anchors, as_queries = moved
        return replace(self, as_anchors=as_anchors, as_queries=as_queries)


def combine_features(
    network: Tensor,
    cosines: Tensor,
    words: Tensor,
    tower: Sequence[Tensor] | None,
    leaf: Tensor,
) -> Tensor:
    """Return the features of pairs in their order, given their parts: [F, ...].

    Args:
        network: log f of each pair [...].
        cosines: the cosine features [8, ...].
        words: the features of the labels' words [6, ...].
        tower: the tower's cosines with the anchor, its nearest child and its mean child [...] each.
        leaf: 1 where the anchor has no children, or else 0.
    """
    features = network.new_zeros(NUM_FEATURES, *network.shape)
    features[0] = network
    for row, cosine in enumerate(tower or (), start=1):
        torch.mul(cosine, COSINE_SCALE, out=features[row])
    torch.mul(cosines[:6], COSINE_SCALE, out=features[4:10])
    features[10], features[11] = cosines[LOG_COUNT], leaf
    features[12 : 12 + NUM_WORD_FEATURES] = words
    torch.mul(features[[0, 1, 4]], leaf, out=features[18:21])
    return features
