"""What every compared method does: learn from a problem, and score all anchors for queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.adjacency import Adjacency, Indices
from taxoexpan.metrics import ranks_in
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training import History, Report

CELLS = 16_000_000
"""Scores held at a time, which decides how many queries are scored together."""


@dataclass(frozen=True)
class Queries:
    """Q concepts to place: their vectors [2, Q, D], and the indices of each one's true parents.

    `named` are the anchors that their definitions name first, where they have some.
    """

    vectors: Tensor
    parents: Sequence[Indices]
    named: Adjacency | None = None

    def between(self, start: int, stop: int) -> Queries:
        """Those from one place to before another."""
        named = None if self.named is None else self.named.between(start, stop)
        return Queries(self.vectors[:, start:stop], self.parents[start:stop], named)


@dataclass(frozen=True)
class Problem:
    """What a method learns from: a taxonomy with vectors [2, N, D], and queries to validate on.

    The first vectors are of names and definitions, the second of head words; see
    `features.concepts`. All tensors are on one device. `named` are the concepts that each
    concept's definition names first.
    """

    taxonomy: Taxonomy
    vectors: Tensor
    validation: Queries
    named: Adjacency | None = None


class Method(ABC):
    """Scores every anchor of a taxonomy as the parent of a query."""

    name: ClassVar[str]

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what it learns, given or by default; most rules are told nothing."""
        return {}

    @abstractmethod
    def fit(self, problem: Problem, seed: int, report: Report) -> History | None:
        """Learn, and offer the problem's own concepts; what has epochs gives their history."""

    @abstractmethod
    def place_in(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Offer the concepts of this taxonomy as anchors, by what was learned; vectors [2, N, D].

        It may be larger than what was learned from, by the validation queries above all.
        """

    @abstractmethod
    def score(self, queries: Tensor, named: Adjacency | None = None) -> Tensor:
        """What orders the anchors for queries, higher is better: [2, Q, D] → [N, Q].

        `named` are the anchors that each query's definition names first, for those who heed it.
        """


def ranks_by(
    method: Method, queries: Queries, anchors: int, ties: float = 0.0, filtered: bool = True
) -> list[NDArray[np.floating]]:
    """The rank of each true parent of each query among the anchors, by a method's scores."""
    ranks: list[NDArray[np.floating]] = []
    for block in _blocks(queries, anchors):
        ranks += ranks_in(method.score(block.vectors, block.named), block.parents, ties, filtered)
    return ranks


def best_by(method: Method, queries: Queries, anchors: int, count: int) -> Indices:
    """The best anchors of each query by a method's scores, best first: [Q, count]."""
    best = [
        method.score(block.vectors, block.named).topk(min(count, anchors), dim=0).indices.T
        for block in _blocks(queries, anchors)
    ]
    return torch.cat(best).cpu().numpy() if best else np.zeros((0, count), dtype=np.int64)


def _blocks(queries: Queries, anchors: int) -> Iterator[Queries]:
    size = min(256, max(1, CELLS // anchors))
    for start in range(0, len(queries.parents), size):
        yield queries.between(start, min(start + size, len(queries.parents)))
