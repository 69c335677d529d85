"""Collecting examples for the fusion from held-out queries, and learning its weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from taxoexpan.network.queries import LabeledQueries
from taxoexpan.placement.scoring.pair_features import FEATURES
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.placement.scoring.score_summary import best_of
from taxoexpan.placement.scoring.signal_fusion import (
    PRIOR,
    PRIOR_WITHOUT_TOWER,
    FusionExamples,
    SignalFusion,
    fit_fusion,
)
from taxoexpan.taxonomy.arrays import Indices

CANDIDATES = 50
"""The best anchors by each of `LEADERS`, which become candidates."""
RANDOM_CANDIDATES = 60
"""Further anchors, drawn at random, which stand for all others."""
LEADERS = [list(FEATURES).index(name) for name in ("network", "tower_anchor", "name")]
MAX_PAIRS = 1_500_000
"""Pairs whose features are held in memory at a time."""
MIN_QUERIES = 8
"""Queries that are collected together even if they have more pairs: the features of fewer queries
take almost as long. With a million anchors they need 700 MB."""
FOLDS = 5
NONE = np.zeros(0, dtype=np.int64)


def collect_examples(
    ranker: Ranker,
    queries: LabeledQueries,
    seed: int,
    rejected: Sequence[Indices] | None = None,
) -> FusionExamples:
    """Return the candidates of held-out queries: the best by each signal, the true ones, others.

    The `rejected` parents of each query are candidates too.
    """
    rng, parts = np.random.default_rng(seed), []
    size = max(MIN_QUERIES, MAX_PAIRS // len(ranker.keys))
    for start in range(0, len(queries), size):
        some = queries[start : start + size]
        features = ranker.keys.new_empty(len(FEATURES), len(ranker.keys), len(some))
        for rows, block in ranker.feature_blocks(some):
            features[:, rows] = block
        wrong = rejected[start : start + size] if rejected else [NONE] * len(some)
        parts.append(_examples_of(features, some.parents, wrong, rng))
    return FusionExamples.concatenate(parts)


def _examples_of(
    features: Tensor,
    parents: Sequence[Indices],
    rejected: Sequence[Indices],
    rng: np.random.Generator,
) -> FusionExamples:
    """Return the examples of a few queries, given the features of all pairs [F, N, B]."""
    anchors = features.shape[1]
    best = [best_of(features[leader], min(CANDIDATES, anchors))[1] for leader in LEADERS]
    best_rows = torch.cat(best).T.cpu().numpy()
    rows: list[Indices] = []
    counts: list[Indices] = []
    for column, own in enumerate(parents):
        chosen = np.unique(np.concatenate([own, best_rows[column], rejected[column]]))
        is_other = np.ones(anchors, dtype=bool)
        is_other[chosen] = False
        remaining = np.flatnonzero(is_other)
        others = rng.choice(remaining, min(RANDOM_CANDIDATES, len(remaining)), replace=False)
        stands_for = len(remaining) / max(len(others), 1)
        rows.append(np.concatenate([chosen, others]))
        counts.append(np.repeat([1.0, stands_for], [len(chosen), len(others)]))
    width = max(map(len, rows))
    index = np.stack([np.pad(row, (0, width - len(row))) for row in rows])
    log_counts = np.stack(
        [np.pad(np.log(each), (0, width - len(each)), constant_values=-np.inf) for each in counts]
    )
    picked = features.gather(
        1, torch.from_numpy(index.T.copy()).to(features.device).expand(len(features), -1, -1)
    )
    is_parent = np.stack([np.isin(row, own) for row, own in zip(index, parents, strict=True)])
    return FusionExamples(
        picked.permute(2, 1, 0).cpu().numpy(),
        is_parent & np.isfinite(log_counts),
        log_counts.astype(np.float32),
        np.ones(len(index), dtype=np.float32),
    )


def prior_for(ranker: Ranker) -> SignalFusion:
    """Return the prior for a ranker with or without a tower."""
    texts = ranker.anchors.texts
    return PRIOR_WITHOUT_TOWER if texts is None or texts.as_anchors is None else PRIOR


def learn_fusion(
    examples: FusionExamples, prior: SignalFusion, device: torch.device | str = "cpu"
) -> list[SignalFusion]:
    """Return the weights learned from all examples, then from all but each fold (`fold_of`)."""
    whole, folds = fit_fusion(examples, prior, device), fold_of(len(examples))
    parts = (examples[folds != fold] for fold in range(FOLDS))
    return [whole, *(fit_fusion(part, prior, device) for part in parts)]


def fold_of(count: int) -> Indices:
    """Return the fold of each held-out query, always the same: [Q]."""
    return np.random.default_rng(0).permutation(count) % FOLDS
