"""The rules of Section 5.1.3, which learn nothing: by distance, and by the number of children.

All distances are cosine distances of the first vectors, one minus the cosine, so that the smallest
distance is the largest cosine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.experiments.methods.method import Method, Problem
from taxoexpan.features.mentions import MentionKind, Mentions
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.history import History
from taxoexpan.training.training_log import TrainingLog


class ClosestParent(Method):
    """Ranks anchors by their distance to the query."""

    name = "Closest-Parent"

    def fit(self, problem: Problem, seed: int, report: TrainingLog) -> History | None:
        """Offer the problem's own concepts."""
        del seed, report
        self.set_anchors(problem.taxonomy, problem.vectors)
        return None

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Keep the anchors' vectors at unit length [N, D]."""
        del taxonomy
        self.anchors = F.normalize(vectors[0], dim=1)

    def score(self, queries: Tensor, mentions: Mentions | None = None) -> Tensor:  # noqa: ARG002
        """The cosine of every pair: [2, Q, D] → [N, Q]."""
        return self.anchors @ F.normalize(queries[0], dim=1).T


class ClosestNeighbor(Method):
    """Ranks anchors by their distance to the query plus the mean distance of their children to it.

    The paper does not say what an anchor without children has for a mean: here it is 1, as of
    something unrelated. With its own distance once more leaves would come before most parents.
    """

    name = "Closest-Neighbor"

    @property
    def settings(self) -> dict[str, Any]:
        """What stands for the mean distance of no children."""
        return {"distance_of_no_children": 1.0}

    def fit(self, problem: Problem, seed: int, report: TrainingLog) -> History | None:
        """Offer the problem's own concepts."""
        del seed, report
        self.set_anchors(problem.taxonomy, problem.vectors)
        return None

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Keep each anchor's vector plus the mean of its children's [N, D].

        A cosine is linear in a unit vector, so that the mean of cosines is one with the mean.
        """
        anchors = F.normalize(vectors[0], dim=1)
        self.neighborhoods = anchors + _mean_children(taxonomy, anchors)

    def score(self, queries: Tensor, mentions: Mentions | None = None) -> Tensor:  # noqa: ARG002
        """Two less the sum of both distances, for every pair: [2, Q, D] → [N, Q]."""
        return self.neighborhoods @ F.normalize(queries[0], dim=1).T


class Popularity(Method):
    """Ranks anchors by how many children they have, for every query the same."""

    name = "Popularity"

    def fit(self, problem: Problem, seed: int, report: TrainingLog) -> History | None:
        """Offer the problem's own concepts."""
        del seed, report
        self.set_anchors(problem.taxonomy, problem.vectors)
        return None

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Keep the numbers of children [N]."""
        self.children = _degrees(taxonomy, vectors)

    def score(self, queries: Tensor, mentions: Mentions | None = None) -> Tensor:  # noqa: ARG002
        """The number of the anchor's children: [2, Q, D] → [N, Q]."""
        return self.children[:, None].repeat(1, queries.shape[1])


def _mean_children(taxonomy: Taxonomy, vectors: Tensor) -> Tensor:
    """The mean vector of each concept's children, zeros where it has none: [N, D] → [N, D]."""
    parents, children = taxonomy.children_of.of_many(np.arange(len(taxonomy)))
    of, rows = (torch.from_numpy(some).to(vectors.device) for some in (parents, children))
    counts = _degrees(taxonomy, vectors)[:, None]
    sums = torch.zeros_like(vectors).index_add_(0, of, vectors.index_select(0, rows))
    return sums / counts.clamp(min=1)


def _degrees(taxonomy: Taxonomy, vectors: Tensor) -> Tensor:
    """How many children each concept has [N], where the vectors are and of their type."""
    return torch.from_numpy(taxonomy.children_of.degrees).to(vectors)


class FirstWord(Method):
    """Places a concept under the likeliest sense of what its definition names first."""

    name = "FWFS"

    def fit(self, problem: Problem, seed: int, report: TrainingLog) -> None:  # noqa: ARG002
        """Nothing is learned."""
        self.set_anchors(problem.taxonomy, problem.vectors)

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Offer every concept of this taxonomy."""
        self.size, self.device = len(taxonomy), vectors.device

    def score(self, queries: Tensor, mentions: Mentions | None = None) -> Tensor:
        """2 for the likeliest sense of what is named first, 1 for others: [2, Q, D] → [N, Q]."""
        scores = torch.zeros(self.size, queries.shape[1], device=self.device)
        if mentions is not None:
            of, anchors, kinds = mentions.of_many(np.arange(len(mentions)))
            for kind, worth in (
                (MentionKind.FIRST_OTHER_SENSE, 1.0),
                (MentionKind.FIRST_IN_DEFINITION, 2.0),
            ):
                there = kinds == kind
                scores[torch.from_numpy(anchors[there]), torch.from_numpy(of[there])] = worth
        return scores
