"""The interface of all trained methods: learn from a problem, then score anchors for queries."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from torch import Tensor

from taxoexpan.evaluation.rules import Method
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.concept_vectors import LabeledQueries
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.log import TrainingLog
from taxoexpan.training.record import History


@dataclass(frozen=True)
class Problem:
    """The training data of a method: a taxonomy, vectors [2, N, D], and validation queries."""

    taxonomy: Taxonomy
    vectors: Tensor
    validation: LabeledQueries
    mentions: Mentions | None = None


class TrainedMethod(Method):
    """A method that learns from a problem; runs with other seeds have other results."""

    @abstractmethod
    def fit(self, problem: Problem, seed: int, log: TrainingLog) -> History:
        """Train on a problem, whose concepts become the anchors; return the epochs."""


def fit_method(method: Method, problem: Problem, seed: int, log: TrainingLog) -> History | None:
    """Train a method; a rule without training only uses the problem's concepts as anchors."""
    if isinstance(method, TrainedMethod):
        return method.fit(problem, seed, log)
    method.set_anchors(problem.taxonomy, problem.vectors)
    return None
