"""The ranks of the true parents among all anchors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.taxonomy.arrays import Indices

TIES = 0.5
"""The fraction of the anchors with an equal score that counts as higher."""
TIES_AS_BEST = 0.0
"""The same fraction in the authors' code, where only strictly higher scores count."""


def rank_true_parents(
    scores: Tensor, parents: Sequence[Indices], ties: float = TIES
) -> list[NDArray[np.float64]]:
    """Return the rank of each true parent of each query by the scores [N, Q] of all anchors.

    The rank is 1 plus the number of anchors with a higher score, plus the fraction `ties` of those
    with an equal score. By default this is half of them, the mean rank if ties are broken at
    random, so a constant score ranks in the middle; with `TIES_AS_BEST` it would have rank 1.
    Other true parents of the query are not counted, and NaN counts as higher.

    Every metric uses this rank as it is. With two equal best anchors, rank 1.5 is no hit at 1 but
    one at 3, and its reciprocal is 1/1.5; at rank 10.5 the scaled reciprocal rank is 1/2.
    """
    if not len(parents):
        return []
    anchors, is_given = _pad(parents)
    parent_scores = scores.gather(0, torch.from_numpy(anchors.T).to(scores.device))
    is_parent = torch.from_numpy(is_given.T).to(scores.device)
    ranks = np.zeros(is_given.shape)
    # First, second, … parents in turn: most queries have only one, and need no copy of a column.
    for nth in range(is_given.shape[1]):
        rows = np.flatnonzero(is_given[:, nth])
        queries = torch.from_numpy(rows).to(scores.device)
        is_all = len(queries) == scores.shape[1]
        ranks[rows, nth] = 1 + _count_higher(
            scores if is_all else scores.index_select(1, queries),
            parent_scores[nth, queries],
            parent_scores.index_select(1, queries),
            is_parent.index_select(1, queries),
            ties,
        )
    return np.split(ranks[is_given], np.cumsum(is_given.sum(1))[:-1])


def _pad(parents: Sequence[Indices]) -> tuple[Indices, NDArray[np.bool_]]:
    """Return the at most M parents of each query in one array, and which are given: [Q, M] each."""
    counts = np.array([len(anchors) for anchors in parents], dtype=np.int64)
    is_given = np.arange(counts.max()) < counts[:, None]
    padded = np.zeros(is_given.shape, dtype=np.int64)
    padded[is_given] = np.concatenate(parents)
    return padded, is_given


def _count_higher(
    scores: Tensor, threshold: Tensor, excluded: Tensor, is_excluded: Tensor, ties: float
) -> NDArray[np.float64]:
    """Count the anchors above a threshold [Q], except excluded ones: [N, Q] → [Q].

    `excluded` [M, Q] are scores of anchors to exclude where `is_excluded` [M, Q] is true. They are
    all true parents of the query: also the one whose score is the threshold, as it equals itself.
    """
    # Not (score <= threshold), instead of (score > threshold), so that NaN counts as higher.
    higher = len(scores) - (scores <= threshold).sum(0)
    higher -= (is_excluded & ~(excluded <= threshold)).sum(0)
    count = higher.cpu().numpy().astype(np.float64)
    if ties:
        equal = (scores == threshold).sum(0) - (is_excluded & (excluded == threshold)).sum(0)
        count += ties * equal.cpu().numpy()
    return count
