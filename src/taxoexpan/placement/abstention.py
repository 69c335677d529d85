"""Whether a new concept has a good place in the taxonomy at all.

Learned without labels: of held-out leaves the whole branch is closed in which they belong, so that
no anchor left is a good place for them. What they score then, and how near the nearest is, is set
against what they score when all is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.features.mentions import Mentions
from taxoexpan.placement.ranking import Ranker, best_of
from taxoexpan.placement.regression import Floats, logistic, sigmoid
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices

LARGEST = 0.2
"""A branch that is closed has no larger share of the concepts."""
FEWEST = 50
"""Fewer held-out leaves tell nothing."""
MISTAKEN = 0.05
"""So many of the concepts that have a place are said to have none."""
SIGNS = (
    "best score",
    "its share",
    "cosine of the nearest",
    "cosine of the tenth",
    "of a head word",
    "agreement of the ten best",
)
"""What is looked at."""


@dataclass(frozen=True)
class AbstentionModel:
    """A logistic regression over the standardised signs.

    A concept has no good place where its odds are below `least`.
    """

    centre: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    least: float

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> AbstentionModel:
        """From its fields, as JSON has them."""
        centre, scale, weights = (tuple(kept[name]) for name in ("centre", "scale", "weights"))
        return cls(centre, scale, weights, float(kept["least"]))

    def odds(self, signs: Floats) -> Floats:
        """The log-odds that each query has a good place: [Q, S] → [Q]."""
        table = _table(signs, np.array(self.centre), np.array(self.scale))
        return np.asarray(table @ np.array(self.weights))

    def probability(self, signs: Floats) -> Floats:
        """The same as a probability, if one in two had none."""
        return sigmoid(self.odds(signs))

    def belongs(self, signs: Floats) -> NDArray[np.bool_]:
        """Whether each query has a good place."""
        return self.odds(signs) >= self.least


def learn_abstention(
    ranker: Ranker,
    queries: Tensor,
    parents: Sequence[Indices],
    mentions: Mentions | None = None,
) -> AbstentionModel | None:
    """Learn from held-out leaves; nothing where they are too few, or in no branch to close."""
    taxonomy = ranker.anchors.taxonomy
    branches = branches_of(taxonomy, parents)
    shut = np.flatnonzero(branches >= 0)
    if len(shut) < FEWEST:
        return None
    there = signs_of(ranker, queries, mentions)
    gone = signs_of(ranker, queries, mentions, branches)[shut]
    both = np.concatenate([there, gone])
    centre, scale = both.mean(axis=0), both.std(axis=0) + 1e-9
    truth = np.concatenate([np.ones(len(there)), np.zeros(len(gone))])
    weights = logistic(_table(both, centre, scale), truth)
    least = np.quantile(_table(there, centre, scale) @ weights, MISTAKEN)
    return AbstentionModel(
        tuple(centre.tolist()), tuple(scale.tolist()), tuple(weights.tolist()), float(least)
    )


@torch.no_grad()
def signs_of(
    ranker: Ranker,
    queries: Tensor,
    mentions: Mentions | None = None,
    closed: Indices | None = None,
) -> Floats:
    """The signs of each query, with the branch below `closed` [Q] shut where that is not -1."""
    vectors, taxonomy = ranker.anchors.vectors, ranker.anchors.taxonomy
    count = min(10, len(taxonomy))
    signs = []
    for start, raw in ranker.blocks(queries, mentions):
        scores = ranker.match.log_match(raw)
        asked = queries[:, start : start + scores.shape[1]]
        names, heads = vectors.names @ asked[0].T, vectors.heads @ asked[1].T
        heads = heads.index_select(0, vectors.head_of)
        if closed is not None:
            shut = _inside(taxonomy, closed[start : start + scores.shape[1]]).to(scores.device)
            for each in (scores, names, heads):
                each.masked_fill_(shut, -torch.inf)
        best = scores.amax(0)
        near = names.topk(count, dim=0).values
        ten = best_of(scores, count)[1].T.cpu().numpy()
        rows = (best, best - scores.logsumexp(0), near[0], near[-1], heads.amax(0))
        told = torch.stack(rows, dim=1).cpu().numpy()
        signs.append(np.column_stack([told, agreement(taxonomy, ten)]))
    return np.asarray(np.nan_to_num(np.concatenate(signs), neginf=-1.0))


def agreement(taxonomy: Taxonomy, anchors: Indices) -> Floats:
    """How near the anchors of each query stand to each other: [Q, K] → [Q].

    It is the share of what an anchor is or lies below that another of them is or lies below too:
    1 where all are the same, 0 where they have nothing in common.
    """
    count, most = anchors.shape
    distinct, rows = np.unique(anchors, return_inverse=True)
    owners, above = taxonomy.parents_of.reach_of_many(distinct)
    owners = np.concatenate([np.arange(len(distinct)), owners])
    lines = Adjacency.from_pairs(owners, np.concatenate([distinct, above]), len(distinct))
    places, found = lines.of_many(rows.reshape(-1))
    pairs, shared = np.unique(places // most * len(taxonomy) + found, return_counts=True)
    queries = pairs // len(taxonomy)
    common = np.bincount(queries, shared * (shared - 1), minlength=count)
    total = np.bincount(queries, shared, minlength=count)
    return np.asarray(common / np.maximum(total * (most - 1), 1))


def branches_of(taxonomy: Taxonomy, parents: Sequence[Indices]) -> Indices:
    """The root of the largest branch above each query's parent that can be closed, or -1.

    That is the highest of the first parent's ancestors, itself among them, along first parents,
    that has no more than `LARGEST` of all concepts below it.
    """
    above = taxonomy.parents_of
    first = np.full(len(taxonomy), -1)
    some = above.degrees > 0
    first[some] = above.targets[above.offsets[:-1][some]]
    lines = [np.array([own[0] for own in parents], dtype=np.int64)]
    while (lines[-1] >= 0).any():
        lines.append(np.where(lines[-1] >= 0, first[lines[-1]], -1))
    asked = np.unique(np.concatenate(lines))
    asked = asked[asked >= 0]
    owners, _ = taxonomy.children_of.reach_of_many(asked)
    small = np.zeros(len(taxonomy) + 1, dtype=bool)  # the last is for -1
    small[asked] = np.bincount(owners, minlength=len(asked)) < LARGEST * len(taxonomy)
    found = np.full(len(parents), -1)
    for line in lines:
        found = np.where(small[line], line, found)
    return found


def nearest_region(taxonomy: Taxonomy, anchors: Sequence[str]) -> str | None:
    """The deepest concept that most of the anchors are, or lie below; none where there is none.

    Most are more than half. Of several at one depth it is the one of the most anchors.
    """
    indices = np.array([taxonomy.index(id) for id in anchors], dtype=np.int64)
    _, above = taxonomy.parents_of.reach_of_many(indices)
    found, counts = np.unique(np.concatenate([indices, above]), return_counts=True)
    common = np.flatnonzero(2 * counts > len(indices))
    if not len(common):
        return None
    deepest = np.lexsort((-counts[common], -taxonomy.levels[found[common]]))[0]
    return taxonomy.ids[int(found[common[deepest]])]


def _inside(taxonomy: Taxonomy, branches: Indices) -> Tensor:
    """Which anchors lie in the branch of each query: [Q] → [N, Q]."""
    inside = np.zeros((len(taxonomy), len(branches)), dtype=bool)
    some = np.flatnonzero(branches >= 0)
    places, below = taxonomy.children_of.reach_of_many(branches[some])
    inside[below, some[places]] = True
    inside[branches[some], some] = True
    return torch.from_numpy(inside)


def _table(signs: Floats, centre: Floats, scale: Floats) -> Floats:
    standard = (signs - centre) / scale
    return np.concatenate([standard, np.ones((len(signs), 1))], axis=1)
