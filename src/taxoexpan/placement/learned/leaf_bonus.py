"""The leaf bonus: what the raw score of an anchor without children should gain.

The network sees each family with most of its members, so it underrates anchors without children.
The bonus is learned from leaves that were held out in the way in which taxonomies grow.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from taxoexpan.network.queries import LabeledQueries
from taxoexpan.placement.scoring.ranking import Ranker

LEAF_BONUSES = tuple(np.linspace(-3, 3, 13).tolist())
"""The values that are tried."""
MIN_HELD_OUT = 50
"""With fewer held-out leaves, no leaf bonus is learned."""
MIN_LEAF_PARENTS = 0.1
"""The least fraction of held-out queries whose parent must be a leaf anchor."""


def learn_leaf_bonus(ranker: Ranker, queries: LabeledQueries) -> float:
    """Return the leaf bonus at which the true parents are likeliest.

    It is 0 where too few held-out queries have a leaf anchor as their parent: in a taxonomy whose
    families are all large, hardly any family can be held out as a whole.
    """
    leaves = ranker.leaf_rows
    under_leaf = np.isin(queries.first_parents, leaves.cpu().numpy())
    if len(queries) < MIN_HELD_OUT or under_leaf.mean() < MIN_LEAF_PARENTS:
        return 0.0
    ranker, log_match = ranker.with_leaf_bonus(0.0), ranker.network.match.log_match
    likelihood = np.zeros(len(LEAF_BONUSES))
    is_leaf = torch.zeros(len(ranker.keys), 1, dtype=torch.bool, device=leaves.device)
    is_leaf[leaves] = True
    for _, some in queries.blocks(len(ranker.keys)):
        raw = ranker.scores(some)
        own = padded_parents(some).to(raw.device)
        inner_total = log_match(raw).masked_fill(is_leaf, -torch.inf).logsumexp(0)
        own_raw, own_is_leaf = raw.gather(0, own.relu()), is_leaf[:, 0][own.relu()]
        leaf_raw = raw[leaves]
        for index, bonus in enumerate(LEAF_BONUSES):
            own_log_f = log_match(own_raw + bonus * own_is_leaf)
            own_total = own_log_f.masked_fill(own < 0, -torch.inf).logsumexp(0)
            total = log_match(leaf_raw + bonus).logsumexp(0).logaddexp(inner_total)
            likelihood[index] += float((own_total - total).sum())
    return float(LEAF_BONUSES[int(likelihood.argmax())])


def padded_parents(queries: LabeledQueries) -> Tensor:
    """Return the true parents of each query in its column, padded with -1: [P, Q]."""
    width = max(map(len, queries.parents))
    return torch.tensor([[*own, *[-1] * (width - len(own))] for own in queries.parents]).T
