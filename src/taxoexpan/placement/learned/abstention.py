"""Abstention: the detection of new concepts that have no suitable parent in the taxonomy.

It is learned without labels: the branch that contains the parent of a held-out leaf is closed, so
that no anchor is suitable. The scores and similarities are compared with and without this branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.network.queries import LabeledQueries, Queries
from taxoexpan.placement.learned.regression import logistic
from taxoexpan.placement.scoring.ranking import RankedBlock, Ranker
from taxoexpan.placement.scoring.scorer import best_of
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.taxonomy.reach_intervals import AncestorIntervals

MAX_BRANCH = 0.2
"""A branch that is closed holds at most this fraction of the concepts."""
MIN_HELD_OUT = 50
"""With fewer held-out leaves in such branches, nothing is learned."""
FALSE_ALARM_RATE = 0.05
"""The fraction of the concepts with a suitable parent that are reported to have none."""
NEAREST = 10
FEATURES = (
    "log f of the best anchor",
    "log-probability of the best anchor",
    "cosine of the nearest concept",
    "cosine of the tenth nearest concept",
    "cosine of the nearest head word",
    "agreement of the ten best anchors",
)


@dataclass(frozen=True)
class AbstentionModel:
    """A logistic regression over standardized features, with a threshold for its log-odds."""

    center: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    threshold: float

    def log_odds(self, features: Floats) -> Floats:
        """Return the log-odds that each query has a suitable parent: [Q, F] → [Q]."""
        table = _standardized(features, np.array(self.center), np.array(self.scale))
        return np.asarray(table @ np.array(self.weights))

    def has_parent(self, features: Floats) -> NDArray[np.bool_]:
        """Return whether each query has a suitable parent."""
        return self.log_odds(features) >= self.threshold


def learn_abstention(ranker: Ranker, queries: LabeledQueries) -> AbstentionModel | None:
    """Learn from held-out leaves; return None if too few of them have a branch to close."""
    branches = branches_to_close(ranker.anchors.taxonomy, queries.first_parents)
    in_branch = np.flatnonzero(branches >= 0)
    if len(in_branch) < MIN_HELD_OUT:
        return None
    opened = abstention_features(ranker, queries)
    closed = abstention_features(ranker, queries, branches)[in_branch]
    both = np.concatenate([opened, closed])
    center, scale = both.mean(axis=0), both.std(axis=0) + 1e-9
    truth = np.concatenate([np.ones(len(opened)), np.zeros(len(closed))])
    weights = logistic(_standardized(both, center, scale), truth)
    log_odds = _standardized(opened, center, scale) @ weights
    threshold = float(np.quantile(log_odds, FALSE_ALARM_RATE))
    return AbstentionModel(
        tuple(center.tolist()), tuple(scale.tolist()), tuple(weights.tolist()), threshold
    )


@torch.no_grad()
def abstention_features(ranker: Ranker, queries: Queries, closed: Indices | None = None) -> Floats:
    """Return each query's `FEATURES` [Q, F] without a closed branch [Q], or with all (-1)."""
    ranker = ranker.with_leaf_bonus(0.0)
    vectors, taxonomy = ranker.anchors.vectors, ranker.anchors.taxonomy
    count, features = min(NEAREST, len(taxonomy)), []
    for start, some in queries.blocks(len(ranker.keys)):
        log_f = ranker.log_match(ranker.scores(some)).clone()
        names, heads = vectors.names @ some.vectors[0].T, vectors.heads @ some.vectors[1].T
        heads = heads.index_select(0, vectors.head_of)
        if closed is not None:
            inside = _inside(taxonomy, closed[start : start + len(some)]).to(log_f.device)
            for each in (log_f, names, heads):
                each.masked_fill_(inside, -torch.inf)
        best, anchors = best_of(log_f, count)
        nearest, _ = best_of(names, count)
        features.append(
            assembled_features(
                taxonomy, best[0], log_f.logsumexp(0), anchors, nearest, heads.amax(0)
            )
        )
    return np.concatenate(features)


def features_of_block(ranker: Ranker, block: RankedBlock, nearest: Tensor) -> Floats:
    """Return the `FEATURES` [Q, F] of queries ranked without a leaf bonus."""
    taxonomy, head = ranker.anchors.taxonomy, block.cosines.heads.amax(0)
    anchors = block.rows[: min(NEAREST, len(taxonomy))]
    return assembled_features(taxonomy, block.best[0], block.log_total, anchors, nearest, head)


def assembled_features(
    taxonomy: Taxonomy,
    best: Tensor,
    log_total: Tensor,
    anchors: Tensor,
    nearest: Tensor,
    head: Tensor,
) -> Floats:
    """Return the features from the best anchors, their log f [Q], and the total log f [Q]."""
    columns = (best, best - log_total, nearest[0], nearest[-1], head)
    table = torch.stack(columns, dim=1).cpu().numpy()
    features = np.column_stack([table, agreement(taxonomy, anchors.T.cpu().numpy())])
    return np.asarray(np.nan_to_num(features, neginf=-1.0))


def agreement(taxonomy: Taxonomy, anchors: Indices) -> Floats:
    """Return the mean fraction of shared ancestors between each query's anchors: [Q, K] → [Q]."""
    count, size = anchors.shape
    flat, width = anchors.reshape(-1), len(taxonomy) + 1
    cells, starts, stops = AncestorIntervals(taxonomy.parents_of, flat).intervals(flat)
    queries = cells // size
    # Between two ends of intervals, the number of anchors that share an ancestor is the same.
    ends = np.concatenate([queries * width + starts, queries * width + stops])
    order = np.argsort(ends, kind="stable")
    shared = np.cumsum(np.repeat([1, -1], len(cells))[order])[:-1]
    lengths, owners = np.diff(ends[order]), ends[order][:-1] // width
    common = np.bincount(owners, lengths * shared * (shared - 1), minlength=count)
    total = np.bincount(owners, lengths * shared, minlength=count)
    return np.asarray(common / np.maximum(total * (size - 1), 1))


def branches_to_close(taxonomy: Taxonomy, parents: Indices) -> Indices:
    """Return each parent's highest ancestor with at most `MAX_BRANCH` of concepts below, or -1."""
    first = taxonomy.first_parents
    sizes = taxonomy.descendant_intervals.counts(np.arange(len(taxonomy)))
    small = sizes - 1 < MAX_BRANCH * len(taxonomy)
    # A branch is larger than the branches in it, so the small ones of a line are its lowest ones.
    highest = np.where(small[first], first, np.arange(len(taxonomy)))
    while not np.array_equal(highest, higher := highest[highest]):
        highest = higher
    return np.where(small[parents], highest[parents], -1)


def nearest_region(taxonomy: Taxonomy, anchors: Sequence[str]) -> str | None:
    """Return the deepest concept at or above more than half of the anchors, if any."""
    indices = np.array([taxonomy.index(id) for id in anchors], dtype=np.int64)
    _, ancestors = AncestorIntervals(taxonomy.parents_of, indices).pairs(indices)
    concepts, counts = np.unique(ancestors, return_counts=True)
    common = np.flatnonzero(2 * counts > len(indices))
    if not len(common):
        return None
    deepest = np.lexsort((-counts[common], -taxonomy.levels[concepts[common]]))[0]
    return taxonomy.ids[int(concepts[common[deepest]])]


def _inside(taxonomy: Taxonomy, branches: Indices) -> Tensor:
    """Return whether each anchor is in the branch of each query: [Q] → [N, Q]."""
    inside = np.zeros((len(taxonomy), len(branches)), dtype=bool)
    columns = np.flatnonzero(branches >= 0)
    owners, below = taxonomy.descendant_intervals.pairs(branches[columns])
    inside[below, columns[owners]] = True
    return torch.from_numpy(inside)


def _standardized(features: Floats, center: Floats, scale: Floats) -> Floats:
    """Return the standardized features with a column of ones."""
    return np.concatenate([(features - center) / scale, np.ones((len(features), 1))], axis=1)
