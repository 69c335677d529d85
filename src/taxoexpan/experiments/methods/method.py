"""The interface of all compared methods: learn from a problem, and score anchors for queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.features.mentions import Mentions
from taxoexpan.network.queries import LabeledQueries, Queries
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.history import History
from taxoexpan.training.metrics import rank_true_parents
from taxoexpan.training.training_log import TrainingLog


@dataclass(frozen=True)
class Problem:
    """The training data of a method: a taxonomy, its vectors [2, N, D], and validation queries.

    The first vectors are of names and definitions, the second of head words (see
    `features.embedding`). All tensors are on one device. `mentions` are those of the taxonomy's
    concepts.
    """

    taxonomy: Taxonomy
    vectors: Tensor
    validation: LabeledQueries
    mentions: Mentions | None = None


@dataclass(frozen=True)
class MethodRanking:
    """How a method ranks queries: the ranks of the true parents, and the best anchors [Q, K]."""

    ranks: list[NDArray[np.floating]]
    best: Indices
    scores: NDArray[np.floating]


class Method(ABC):
    """Scores every anchor of a taxonomy as a parent of a query."""

    name: ClassVar[str]
    uses_seed: ClassVar[bool] = True
    """Whether runs with other seeds have other results."""

    @property
    def settings(self) -> dict[str, Any]:
        """All settings that affect the training, with their defaults; most rules have none."""
        return {}

    @abstractmethod
    def fit(self, problem: Problem, seed: int, log: TrainingLog) -> History | None:
        """Learn, and use the problem's own concepts as anchors; return the history of epochs."""

    @abstractmethod
    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Use the concepts of a taxonomy as anchors, without learning again; vectors [2, N, D].

        The taxonomy may be larger than the training taxonomy.
        """

    @abstractmethod
    def score(self, queries: Queries) -> Tensor:
        """Score all anchors for queries, higher is better: [N, Q]."""


def true_ranks_by(
    method: Method, queries: LabeledQueries, anchors: int, ties: float = 0.0
) -> list[NDArray[np.floating]]:
    """Return the ranks of each query's true parents among the anchors."""
    ranks: list[NDArray[np.floating]] = []
    for _, block in queries.blocks(anchors):
        ranks += rank_true_parents(method.score(block), block.parents, ties)
    return ranks


def rank_queries(
    method: Method, queries: LabeledQueries, anchors: int, count: int
) -> MethodRanking:
    """Return the ranks of the true parents and the `count` best anchors, scoring only once."""
    ranks: list[NDArray[np.floating]] = []
    indices, scores = [np.zeros((0, count), dtype=np.int64)], [np.zeros((0, count))]
    for _, block in queries.blocks(anchors):
        block_scores = method.score(block)
        best = block_scores.topk(count, dim=0)
        indices.append(best.indices.T.cpu().numpy())
        scores.append(best.values.T.cpu().numpy())
        ranks += rank_true_parents(block_scores, block.parents)
    return MethodRanking(ranks, np.concatenate(indices), np.concatenate(scores))
