"""The paper's metrics (Section 5.1.2), from the ranks of the true parents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Metrics:
    """Averaged over each query's parents first, then over queries, as the published figures are.

    `mr` is the mean rank; `hit_at_k` the mean share of a query's parents within the first k;
    `mrr` the paper's scaled reciprocal rank, 1 / ⌈rank / 10⌉; `reciprocal_rank` the plain one,
    which still tells models apart where every parent is among the first ten.
    """

    queries: int
    mr: float
    hit_at_1: float
    hit_at_3: float
    hit_at_10: float
    mrr: float
    reciprocal_rank: float

    def as_dict(self) -> dict[str, float]:
        """The figures by name."""
        return asdict(self)


def metrics_of(ranks: Sequence[NDArray[Any]]) -> Metrics:
    """The metrics of the ranks of every query's true parents, which begin at 1."""
    counts = np.array([len(r) for r in ranks])
    flat = np.concatenate(ranks) if len(ranks) else np.zeros(0)
    starts = np.cumsum(counts) - counts

    def mean(values: NDArray[np.float64]) -> float:
        return float((np.add.reduceat(values, starts) / counts).mean())

    return Metrics(
        queries=len(ranks),
        mr=mean(flat.astype(np.float64)),
        hit_at_1=mean((flat <= 1).astype(np.float64)),
        hit_at_3=mean((flat <= 3).astype(np.float64)),
        hit_at_10=mean((flat <= 10).astype(np.float64)),
        mrr=mean(1 / np.ceil(flat / 10)),
        reciprocal_rank=mean(1 / flat),
    )
