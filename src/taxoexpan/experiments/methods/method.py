"""What every compared method does: learn from a problem, and score all anchors for queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.features.mentions import Mentions
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.history import History
from taxoexpan.training.metrics import rank_true_parents
from taxoexpan.training.training_log import TrainingLog

CELLS = 16_000_000
"""Scores held at a time, which decides how many queries are scored together."""


@dataclass(frozen=True)
class Queries:
    """Q concepts to place: their vectors [2, Q, D], and the indices of each one's true parents.

    `mentions` are the anchors that they mention.
    """

    vectors: Tensor
    parents: Sequence[Indices]
    mentions: Mentions | None = None

    def between(self, start: int, stop: int) -> Queries:
        """Those from one place to before another."""
        mentions = None if self.mentions is None else self.mentions.between(start, stop)
        return Queries(self.vectors[:, start:stop], self.parents[start:stop], mentions)


@dataclass(frozen=True)
class Problem:
    """What a method learns from: a taxonomy with vectors [2, N, D], and queries to validate on.

    The first vectors are of names and definitions, the second of head words; see
    `features.concepts`. All tensors are on one device. `mentions` are those of the
    taxonomy's concepts. `as_it_grows` says that the queries were held out as taxonomies grow, so
    that they tell how likely anchors without children are.
    """

    taxonomy: Taxonomy
    vectors: Tensor
    validation: Queries
    mentions: Mentions | None = None
    as_it_grows: bool = False


@dataclass(frozen=True)
class Placed:
    """The ranks of each query's true parents, and its best anchors with their scores: [Q, K]."""

    ranks: list[NDArray[np.floating]]
    best: Indices
    scores: NDArray[np.floating]


class Method(ABC):
    """Scores every anchor of a taxonomy as the parent of a query."""

    name: ClassVar[str]

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what it learns, given or by default; most rules are told nothing."""
        return {}

    @abstractmethod
    def fit(self, problem: Problem, seed: int, report: TrainingLog) -> History | None:
        """Learn, and offer the problem's own concepts; what has epochs gives their history."""

    @abstractmethod
    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Offer the concepts of this taxonomy as anchors, by what was learned; vectors [2, N, D].

        It may be larger than what was learned from, by the validation queries above all.
        """

    @abstractmethod
    def score(self, queries: Tensor, mentions: Mentions | None = None) -> Tensor:
        """What orders the anchors for queries, higher is better: [2, Q, D] → [N, Q].

        `mentions` are those of the queries, for methods that heed them.
        """


def true_ranks_by(
    method: Method, queries: Queries, anchors: int, ties: float = 0.0
) -> list[NDArray[np.floating]]:
    """The rank of each true parent of each query among the anchors, by a method's scores."""
    ranks: list[NDArray[np.floating]] = []
    for block in _blocks(queries, anchors):
        scores = method.score(block.vectors, block.mentions)
        ranks += rank_true_parents(scores, block.parents, ties)
    return ranks


def rank_queries(method: Method, queries: Queries, anchors: int, count: int) -> Placed:
    """Ranks as by `true_ranks_by`, and the best anchors, of which `count` are kept: one scoring."""
    ranks: list[NDArray[np.floating]] = []
    indices, scores = [np.zeros((0, count), dtype=np.int64)], [np.zeros((0, count))]
    for block in _blocks(queries, anchors):
        scored = method.score(block.vectors, block.mentions)
        best = scored.topk(count, dim=0)
        indices.append(best.indices.T.cpu().numpy())
        scores.append(best.values.T.cpu().numpy())
        ranks += rank_true_parents(scored, block.parents)
    return Placed(ranks, np.concatenate(indices), np.concatenate(scores))


def _blocks(queries: Queries, anchors: int) -> Iterator[Queries]:
    size = min(256, max(1, CELLS // anchors))
    for start in range(0, len(queries.parents), size):
        yield queries.between(start, min(start + size, len(queries.parents)))
