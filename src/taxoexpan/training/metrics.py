"""The paper's metrics (Section 5.1.2), from the ranks of the true parents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.errors import ConfigurationError, TaxoExpanError
from taxoexpan.taxonomy.arrays import Indices

Figure = Literal["mr", "hit_at_1", "hit_at_3", "hit_at_10", "mrr", "reciprocal_rank"]
Averaging = Literal["fraction", "any", "pooled"]

WORTH: dict[Figure, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "mr": lambda ranks: ranks,
    "hit_at_1": lambda ranks: (ranks <= 1).astype(np.float64),
    "hit_at_3": lambda ranks: (ranks <= 3).astype(np.float64),
    "hit_at_10": lambda ranks: (ranks <= 10).astype(np.float64),
    "mrr": lambda ranks: 1 / np.ceil(ranks / 10),
    "reciprocal_rank": lambda ranks: 1 / ranks,
}
"""What a rank is worth in each figure."""


@dataclass(frozen=True)
class Metrics:
    """Averaged over each query's parents first, then over queries, as the published figures are.

    `mr` is the mean rank; `hit_at_k` the mean share of a query's parents within the first k;
    `mrr` the paper's scaled reciprocal rank, 1 / ⌈rank / 10⌉; `reciprocal_rank` the plain one,
    which still tells models apart where every parent is among the first ten. `compute_metrics` can
    also average them otherwise.
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


def compute_metrics(ranks: Sequence[NDArray[Any]], averaging: Averaging = "fraction") -> Metrics:
    """The metrics of the ranks of every query's true parents, which begin at 1.

    With `fraction` every query counts once, and its parents share it, as in the published figures;
    with `any` a query is as good as its best parent; with `pooled` every parent counts once.
    """

    def mean(figure: Figure) -> float:
        return float(per_query(ranks, figure, averaging).mean())

    return Metrics(
        queries=len(ranks),
        mr=mean("mr"),
        hit_at_1=mean("hit_at_1"),
        hit_at_3=mean("hit_at_3"),
        hit_at_10=mean("hit_at_10"),
        mrr=mean("mrr"),
        reciprocal_rank=mean("reciprocal_rank"),
    )


def per_query(
    ranks: Sequence[NDArray[Any]], figure: Figure, averaging: Averaging = "fraction"
) -> NDArray[np.float64]:
    """What each query adds to a figure, [Q]; the mean of these is the figure."""
    for choice, choices in ((figure, get_args(Figure)), (averaging, get_args(Averaging))):
        if choice not in choices:
            raise ConfigurationError(f"{choice!r} is not known here; choose {', '.join(choices)}")
    counts = np.array([len(r) for r in ranks], dtype=np.int64)
    if not len(counts):
        raise TaxoExpanError("there are no ranks; give those of at least one query")
    if not counts.all():
        message = f"query {np.argmin(counts)} has no true parent, so it has no rank"
        raise TaxoExpanError(f"{message}; leave it out")
    flat, starts = np.concatenate(ranks).astype(np.float64), np.cumsum(counts) - counts
    worth = WORTH[figure]
    if averaging == "any":
        return worth(np.minimum.reduceat(flat, starts))
    parents = counts if averaging == "fraction" else counts.mean()
    shares: NDArray[np.float64] = np.add.reduceat(worth(flat), starts) / parents
    return shares


def ranks_in(
    scores: Tensor, parents: Sequence[Indices], ties: float = 0.0, filtered: bool = True
) -> list[NDArray[np.float64]]:
    """The rank of each true parent of each query by the scores [N, Q] of all anchors.

    One plus the number of anchors that score strictly higher, as in the authors' evaluation; of
    those that score the same, the share `ties` counts as higher: none is optimistic, half of them
    realistic, all pessimistic. What is no number counts as higher. A query's other true parents are
    left out where the ranks are `filtered`, and count like any other anchor where they are not.
    """
    counts = np.array([len(p) for p in parents], dtype=np.int64)
    _refuse_unlike(scores, counts, ties)
    if not len(counts):
        return []
    given = np.arange(counts.max()) < counts[:, None]
    anchors = np.zeros(given.shape, dtype=np.int64)
    anchors[given] = np.concatenate(parents)
    own = scores.gather(0, torch.from_numpy(anchors.T).to(scores.device))
    true = torch.from_numpy(given.T).to(scores.device)
    ranks = np.zeros(given.shape)
    # First, second, … parents in turn: most queries have only one, and need no copy of a column.
    for nth in range(given.shape[1]):
        queries = np.flatnonzero(given[:, nth])
        some = torch.from_numpy(queries).to(scores.device)
        block = scores if len(some) == scores.shape[1] else scores.index_select(1, some)
        out = slice(None) if filtered else slice(nth, nth + 1)
        left_out = own[out].index_select(1, some), true[out].index_select(1, some)
        ranks[queries, nth] = 1 + _ahead(block, own[nth, some], *left_out, ties)
    return np.split(ranks[given], np.cumsum(counts)[:-1])


def _ahead(
    scores: Tensor, own: Tensor, left_out: Tensor, is_left_out: Tensor, ties: float
) -> NDArray[np.float64]:
    """How many anchors are ahead of one that scores `own` [Q], among all but some: [Q].

    `scores` [N, Q] are those of all anchors, `left_out` [M, Q] those of the ones to leave out,
    itself among them, as far as `is_left_out` [M, Q].
    """
    higher = len(scores) - (scores <= own).sum(0)
    higher -= (is_left_out & ~(left_out <= own)).sum(0)
    ahead = higher.cpu().numpy().astype(np.float64)
    if ties:
        alike = (scores == own).sum(0) - (is_left_out & (left_out == own)).sum(0)
        ahead += ties * alike.cpu().numpy()
    return ahead


def _refuse_unlike(scores: Tensor, counts: Indices, ties: float) -> None:
    if not 0 <= ties <= 1:
        raise ConfigurationError(f"ties is {ties!r}; it must be from 0 to 1")
    if scores.shape[1] != len(counts):
        message = f"there are scores of {scores.shape[1]} queries, and parents of {len(counts)}"
        raise TaxoExpanError(f"{message}; give one column of scores for each query")
