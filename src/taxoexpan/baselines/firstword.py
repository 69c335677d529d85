"""First word, first sense (Section 5.2.3): the parent is what the definition names first."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from taxoexpan.baselines.method import Method, Problem
from taxoexpan.mentions import FIRST, Mentions
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training import Report


class FirstWord(Method):
    """Places a concept under the likeliest sense of what its definition names first."""

    name = "FWFS"

    def fit(self, problem: Problem, seed: int, report: Report) -> None:  # noqa: ARG002
        """Nothing is learned."""
        self.place_in(problem.taxonomy, problem.vectors)

    def place_in(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Offer every concept of this taxonomy."""
        self.size, self.device = len(taxonomy), vectors.device

    def score(self, queries: Tensor, mentions: Mentions | None = None) -> Tensor:
        """2 for the likeliest sense of what is named first, 1 for others: [2, Q, D] → [N, Q]."""
        scores = torch.zeros(self.size, queries.shape[1], device=self.device)
        if mentions is not None:
            of, anchors, kinds = mentions.of_many(np.arange(len(mentions)))
            for kind, worth in ((FIRST + 1, 1.0), (FIRST, 2.0)):
                there = kinds == kind
                scores[torch.from_numpy(anchors[there]), torch.from_numpy(of[there])] = worth
        return scores
