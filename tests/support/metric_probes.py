"""Methods whose mean rank is known: equal scores, random scores, and true parents last."""

from __future__ import annotations

import torch
from torch import Tensor

from taxoexpan.evaluation.methods import Method, RegisteredMethod
from taxoexpan.network.concept_vectors import LabeledQueries, Queries
from taxoexpan.taxonomy import Taxonomy


class Zeros(Method):
    """The same score for every pair."""

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:  # noqa: ARG002
        self.size = len(taxonomy)

    def score(self, queries: Queries) -> Tensor:
        return torch.zeros(self.size, len(queries))


class RandomScores(Zeros):
    """Random scores without ties."""

    def score(self, queries: Queries) -> Tensor:
        generator = torch.Generator().manual_seed(0)
        columns = [torch.randperm(self.size, generator=generator) for _ in range(len(queries))]
        return torch.stack(columns, dim=1).float()


class Reversed(RandomScores):
    """Random scores, but the lowest ones for the true parents."""

    def score(self, queries: Queries) -> Tensor:
        assert isinstance(queries, LabeledQueries)
        scores = super().score(queries)
        for column, parents in enumerate(queries.parents):
            scores[torch.from_numpy(parents), column] = -1 - torch.arange(len(parents)).float()
        return scores


PROBES: dict[str, RegisteredMethod] = {
    name: RegisteredMethod(f"{__name__}:{method.__name__}", "a probe")
    for name, method in (("zeros", Zeros), ("random", RandomScores), ("reversed", Reversed))
}
