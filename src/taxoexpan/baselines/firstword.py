"""First word, first sense (Section 5.2.3): the parent is what the definition names first."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from taxoexpan.adjacency import Adjacency
from taxoexpan.baselines.method import Method, Problem
from taxoexpan.supervision import named_senses
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training import Report

WORTH = (2.0, 1.0)
"""The score of the first sense of what is named, and of every other; all else has none."""


class FirstWord(Method):
    """Places a concept under the likeliest sense of what its definition names first."""

    name = "FWFS"

    def fit(self, problem: Problem, seed: int, report: Report) -> None:  # noqa: ARG002
        """Nothing is learned."""
        self.place_in(problem.taxonomy, problem.vectors)

    def place_in(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Offer every concept of this taxonomy."""
        self.size, self.device = len(taxonomy), vectors.device

    def score(self, queries: Tensor, named: Adjacency | None = None) -> Tensor:
        """2 for the first sense that is named, 1 for the others: [2, Q, D] → [N, Q]."""
        scores = torch.zeros(self.size, queries.shape[1], device=self.device)
        if named is not None:
            of, anchors, later = (
                torch.from_numpy(each).to(self.device)
                for each in named_senses(named, np.arange(len(named)))
            )
            scores[anchors, of] = torch.tensor(WORTH, device=self.device)[later]
        return scores
