"""The metrics of the paper (Section 5.1.2), computed from the ranks of the true parents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from taxoexpan.errors import ConfigurationError, TaxoExpanError
from taxoexpan.taxonomy.arrays import Indices

TIES = 0.5
"""The fraction of equal scores that counts as higher; see `rank_true_parents`."""
TIES_AS_BEST = 0.0
"""The fraction that only a strictly higher score counts with, as in the authors' code."""

Count = Annotated[int, Field(ge=0, lt=2**63)]
"""A number of things in a stored file; larger ones could not be computed with."""
MetricName = Literal["mr", "hit_at_1", "hit_at_3", "hit_at_10", "mrr", "reciprocal_rank"]
Averaging = Literal["fraction", "any", "pooled"]

RANK_VALUES: dict[MetricName, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "mr": lambda ranks: ranks,
    "hit_at_1": lambda ranks: (ranks <= 1).astype(np.float64),
    "hit_at_3": lambda ranks: (ranks <= 3).astype(np.float64),
    "hit_at_10": lambda ranks: (ranks <= 10).astype(np.float64),
    "mrr": lambda ranks: 1 / np.ceil(ranks / 10),
    "reciprocal_rank": lambda ranks: 1 / ranks,
}
"""The functions from ranks to their values in each metric."""


@dataclass(frozen=True)
class Metrics:
    """The metrics, averaged over the parents of each query and then over queries, as published.

    `mrr` is the paper's scaled reciprocal rank, 1 / ⌈rank / 10⌉; `reciprocal_rank` is 1 / rank.
    """

    queries: Count
    mr: float
    hit_at_1: float
    hit_at_3: float
    hit_at_10: float
    mrr: float
    reciprocal_rank: float

    def as_dict(self) -> dict[str, float]:
        """Return the metrics by name."""
        return asdict(self)


def compute_metrics(ranks: Sequence[NDArray[Any]], averaging: Averaging = "fraction") -> Metrics:
    """Return the metrics from the ranks of every query's true parents, which start at 1.

    With `fraction`, every query counts once, divided among its parents, as in the paper; with
    `any`, only its best parent counts; with `pooled`, every parent counts once.
    """
    means = {m: float(per_query(ranks, m, averaging).mean()) for m in RANK_VALUES}
    return Metrics(queries=len(ranks), **means)


def per_query(
    ranks: Sequence[NDArray[Any]], metric: MetricName, averaging: Averaging = "fraction"
) -> NDArray[np.float64]:
    """Return the contribution of each query to a metric [Q], whose mean is the metric."""
    if averaging not in get_args(Averaging):
        choices = ", ".join(get_args(Averaging))
        raise ConfigurationError(f"{averaging!r} is unknown", fix=f"choose one of {choices}")
    counts = np.array([len(r) for r in ranks], dtype=np.int64)
    if not len(counts):
        raise TaxoExpanError("there are no ranks", fix="give the ranks of at least one query")
    if not counts.all():
        message = f"query {np.argmin(counts)} has no true parent, so it has no rank"
        raise TaxoExpanError(message, fix="leave it out")
    flat = np.concatenate(ranks).astype(np.float64)
    starts = np.cumsum(counts) - counts
    value = RANK_VALUES[metric]
    if averaging == "any":
        return value(np.minimum.reduceat(flat, starts))
    parents = counts if averaging == "fraction" else counts.mean()
    contributions: NDArray[np.float64] = np.add.reduceat(value(flat), starts) / parents
    return contributions


def rank_true_parents(
    scores: Tensor, parents: Sequence[Indices], ties: float = TIES
) -> list[NDArray[np.float64]]:
    """Return the rank of each true parent of each query by the scores [N, Q] of all anchors.

    The rank is 1 plus the number of anchors with a higher score, plus half of the number with an
    equal score: the mean rank if ties are broken at random, so a constant score ranks in the
    middle. Other true parents of the query are not counted, and NaN counts as higher.

    Every metric uses this rank as it is. With two equal best anchors, rank 1.5 is no hit at 1 but
    one at 3, and its reciprocal is 1/1.5; at rank 10.5 the scaled reciprocal rank is 1/2.

    The authors' code counts only strictly higher scores (`ties=TIES_AS_BEST`), so that a constant
    score has rank 1.
    """
    counts = np.array([len(p) for p in parents], dtype=np.int64)
    if not len(counts):
        return []
    is_given = np.arange(counts.max()) < counts[:, None]
    anchors = np.zeros(is_given.shape, dtype=np.int64)
    anchors[is_given] = np.concatenate(parents)
    parent_scores = scores.gather(0, torch.from_numpy(anchors.T).to(scores.device))
    is_parent = torch.from_numpy(is_given.T).to(scores.device)
    ranks = np.zeros(is_given.shape)
    # First, second, … parents in turn: most queries have only one, and need no copy of a column.
    for nth in range(is_given.shape[1]):
        columns = np.flatnonzero(is_given[:, nth])
        some = torch.from_numpy(columns).to(scores.device)
        block = scores if len(some) == scores.shape[1] else scores.index_select(1, some)
        excluded = parent_scores.index_select(1, some), is_parent.index_select(1, some)
        ranks[columns, nth] = 1 + _count_higher(block, parent_scores[nth, some], *excluded, ties)
    return np.split(ranks[is_given], np.cumsum(counts)[:-1])


def _count_higher(
    scores: Tensor, own: Tensor, excluded: Tensor, is_excluded: Tensor, ties: float
) -> NDArray[np.float64]:
    """Count the anchors with a higher score than `own` [Q], except excluded ones: [N, Q] → [Q].

    `excluded` [M, Q] are scores of anchors to exclude where `is_excluded` [M, Q] is true.
    """
    higher = len(scores) - (scores <= own).sum(0)
    higher -= (is_excluded & ~(excluded <= own)).sum(0)
    count = higher.cpu().numpy().astype(np.float64)
    if ties:
        equal = (scores == own).sum(0) - (is_excluded & (excluded == own)).sum(0)
        count += ties * equal.cpu().numpy()
    return count
