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
from taxoexpan.training.log import TrainingLog
from taxoexpan.training.metrics import rank_true_parents
from taxoexpan.training.record import History


@dataclass(frozen=True)
class Problem:
    """The training data of a method: a taxonomy, vectors [2, N, D], and validation queries."""

    taxonomy: Taxonomy
    vectors: Tensor
    validation: LabeledQueries
    mentions: Mentions | None = None


class Method(ABC):
    """A method that scores every anchor of a taxonomy as a parent of a query."""

    name: ClassVar[str]
    uses_seed: ClassVar[bool] = True
    """Whether runs with other seeds have other results."""

    @property
    def settings(self) -> dict[str, Any]:
        """All settings that affect the training."""
        return {}

    @abstractmethod
    def fit(self, problem: Problem, seed: int, log: TrainingLog) -> History | None:
        """Train on a problem, whose concepts become the anchors; return the epochs."""

    @abstractmethod
    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Use the concepts of another taxonomy as anchors, without training; vectors [2, N, D]."""

    @abstractmethod
    def score(self, queries: Queries) -> Tensor:
        """Score all anchors for queries, where higher is better: [N, Q]."""


def true_ranks_by(
    method: Method, queries: LabeledQueries, anchors: int, ties: float = 0.0
) -> list[NDArray[np.floating]]:
    """Return the ranks of each query's true parents among the anchors."""
    ranks: list[NDArray[np.floating]] = []
    for _, block in queries.blocks(anchors):
        ranks += rank_true_parents(method.score(block), block.parents, ties)
    return ranks


MLP_SETTINGS: dict[str, Any] = {
    "negative_sampling": "uniform",
    "num_negatives": 256,
    "batch_size": 256,
    "learning_rate": 0.0015,
}
"""The settings of the two MLPs that differ from the preset `paper`."""


def make_baseline(name: str, epochs: int | None = None) -> Method:
    """Return the baseline with this name; `epochs` limits the training of the two MLPs."""
    from taxoexpan.evaluation import dist_xgboost, networks, rules

    if name in ("parent-mlp", "deepset-mlp"):
        kind = networks.ParentMLP if name == "parent-mlp" else networks.DeepSetMLP
        limit = {"epochs": epochs} if epochs else {}
        return kind("paper", **MLP_SETTINGS, **limit)
    methods: dict[str, type[Method]] = {
        "popularity": rules.Popularity,
        "closest-parent": rules.ClosestParent,
        "closest-neighbor": rules.ClosestNeighbor,
        "dist-xgboost": dist_xgboost.DistXGBoost,
    }
    return methods[name]()
