"""The paper's rules without training (Section 5.1.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.evaluation.methods import Method
from taxoexpan.network.concept_vectors import Queries
from taxoexpan.taxonomy import Taxonomy


class ClosestParent(Method):
    """A ranking of anchors by their distance to the query."""

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:  # noqa: ARG002
        """Store the unit vectors of the anchors [N, D]."""
        self.anchors = F.normalize(vectors[0], dim=1)

    def score(self, queries: Queries) -> Tensor:
        """Return the cosine of every pair: [N, Q]."""
        return self.anchors @ F.normalize(queries.vectors[0], dim=1).T


class ClosestNeighbor(Method):
    """A ranking of anchors by their distance to the query plus the mean distance of their children.

    The paper does not define the mean for leaf anchors. Here it is 1, the distance of unrelated
    concepts; with the anchor's own distance, leaves would rank above most parents.
    """

    @property
    def settings(self) -> dict[str, Any]:
        """The mean distance to the children of a leaf anchor."""
        return {"distance_of_no_children": 1.0}

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Store each anchor's vector plus the mean vector of its children [N, D]."""
        anchors = F.normalize(vectors[0], dim=1)
        self.neighborhoods = anchors + _mean_of_children(taxonomy, anchors)

    def score(self, queries: Queries) -> Tensor:
        """Return two minus the sum of both distances for every pair: [N, Q]."""
        return self.neighborhoods @ F.normalize(queries.vectors[0], dim=1).T


class Popularity(Method):
    """A ranking of anchors by their number of children, which is the same for every query."""

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Store the numbers of children [N]."""
        self.children = _child_counts(taxonomy, vectors)

    def score(self, queries: Queries) -> Tensor:
        """Return the number of each anchor's children: [N, Q]."""
        return self.children[:, None].repeat(1, len(queries))


def _mean_of_children(taxonomy: Taxonomy, vectors: Tensor) -> Tensor:
    """Return the mean vector of each concept's children, or zeros for leaves: [N, D] → [N, D]."""
    both = taxonomy.children_of.of_many(np.arange(len(taxonomy)))
    parents, children = (torch.from_numpy(indices).to(vectors.device) for indices in both)
    counts = _child_counts(taxonomy, vectors)[:, None]
    sums = torch.zeros_like(vectors).index_add_(0, parents, vectors.index_select(0, children))
    return sums / counts.clamp(min=1)


def _child_counts(taxonomy: Taxonomy, vectors: Tensor) -> Tensor:
    """Return the number of children of each concept [N], with the device and type of `vectors`."""
    return torch.from_numpy(taxonomy.children_of.degrees).to(vectors)
