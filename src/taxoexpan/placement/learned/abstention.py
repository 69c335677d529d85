"""Abstention: the detection of new concepts that have no suitable parent in the taxonomy.

A concept of another domain has no near neighbors in the taxonomy. How near the neighbors of a
concept usually are is learned from held-out leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from taxoexpan.network.concept_vectors import Queries
from taxoexpan.placement.scoring.pair_features import QueryCosines, ReusedMemory
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Floats
from taxoexpan.taxonomy.reach_intervals import AncestorIntervals
from taxoexpan.thresholds import MIN_FOR_ABSTENTION

FALSE_ALARM_RATE = 0.05
"""The fraction of the concepts with a suitable parent that are reported to have none."""
NEAREST = 10
"""The number of neighbors."""
ABSTENTION_FEATURES = {"mean cosine of the nearest names": 2.0, "the same by the text encoder": 1.0}
"""The features, and their weights after standardization.

The weights were fitted to the labels of 12 vocabularies, each against labels of the others
(docs/decisions/scores-and-confidence.md).
"""


Deviation = Annotated[float, Field(ge=1e-9)]


@dataclass(frozen=True)
class AbstentionModel:
    """The mean and deviation of each feature of held-out leaves, and the least weighted sum."""

    center: tuple[float, float]
    scale: tuple[Deviation, Deviation]
    threshold: float

    def closeness(self, features: Floats) -> Floats:
        """Return how near each query is to the taxonomy: [Q, F] → [Q]."""
        standardized = (features - np.array(self.center)) / np.array(self.scale)
        return np.asarray(standardized @ np.array([*ABSTENTION_FEATURES.values()]))

    def has_parent(self, features: Floats) -> NDArray[np.bool_]:
        """Return whether each query has a suitable parent."""
        return self.closeness(features) >= self.threshold


def learn_abstention(ranker: Ranker, queries: Queries) -> AbstentionModel | None:
    """Learn from held-out leaves, unless they are too few."""
    if len(queries) < MIN_FOR_ABSTENTION:
        return None
    features = abstention_features(ranker, queries)
    center = features.mean(axis=0)
    scale = features.std(axis=0) + 1e-9
    model = AbstentionModel(tuple(center.tolist()), tuple(scale.tolist()), 0.0)
    threshold = float(np.quantile(model.closeness(features), FALSE_ALARM_RATE))
    return AbstentionModel(model.center, model.scale, threshold)


@torch.no_grad()
def abstention_features(ranker: Ranker, queries: Queries) -> Floats:
    """Return the `ABSTENTION_FEATURES` of queries [Q, F]."""
    anchors = ranker.anchors
    memory = ReusedMemory()
    tower = anchors.tower if ranker.fusion is not None else None
    texts = None if tower is None else anchors.families.occurring(tower[1])
    blocks = (some for _, some in queries.blocks(len(ranker.keys)))
    cosines = (QueryCosines(anchors.families, some, memory, texts) for some in blocks)
    return np.concatenate([features_of_cosines(each) for each in cosines])


def features_of_cosines(cosines: QueryCosines) -> Floats:
    """Return the `ABSTENTION_FEATURES` from cosines with all concepts, 0 without texts: [Q, F]."""
    names = cosines.names
    columns = [
        torch.zeros_like(names[0])
        if each is None
        else each.topk(min(NEAREST, len(names)), dim=0).values.mean(0)
        for each in (names, cosines.texts)
    ]
    return np.asarray(torch.stack(columns, dim=1).double().cpu().numpy())


def nearest_region(taxonomy: Taxonomy, anchors: Sequence[str]) -> str | None:
    """Return the deepest concept at or above more than half of the anchors, if any."""
    indices = np.array([taxonomy.index(id) for id in anchors], dtype=np.int64)
    _, ancestors = AncestorIntervals(taxonomy.parents_of, indices).pairs(indices)
    concepts, counts = np.unique(ancestors, return_counts=True)
    common = np.flatnonzero(2 * counts > len(indices))
    if not len(common):
        return None
    deepest = np.lexsort((-counts[common], -taxonomy.levels[concepts[common]]))[0]
    return taxonomy.ids[int(concepts[common[deepest]])]
