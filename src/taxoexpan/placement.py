"""Ranking every possible parent of a query (Section 4.3, inference)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.adjacency import Indices
from taxoexpan.egonets import Egonets, build_egonets, spread_siblings
from taxoexpan.network.comparison import compare
from taxoexpan.network.network import MatchingNetwork
from taxoexpan.taxonomy import Taxonomy

ANCHOR_BLOCK = 8192
"""Anchors encoded at a time."""
FUSED = 1_000_000
"""Pairs that the fusion head scores at a time; each needs room for its hidden units."""
CELLS = 16_000_000
"""Cosines held at a time, which decides how many queries are scored together."""


@torch.no_grad()
def encode_anchors(
    network: MatchingNetwork, taxonomy: Taxonomy, vectors: Tensor, siblings: int
) -> Tensor:
    """The key [N, k] of every concept as an anchor, computed once for all queries."""
    was_training = network.training
    network.eval()
    keys = []
    for start in range(0, len(taxonomy), ANCHOR_BLOCK):
        anchors = np.arange(start, min(start + ANCHOR_BLOCK, len(taxonomy)))
        egonets = anchor_egonets(taxonomy, anchors, siblings).to(vectors.device)
        keys.append(network.encode(vectors[0].index_select(0, egonets.concepts), egonets))
    network.train(was_training)
    return torch.cat(keys)


def anchor_egonets(taxonomy: Taxonomy, anchors: Indices, siblings: int) -> Egonets:
    """The egonets of some anchors as they are used outside training: always the same."""
    return build_egonets(taxonomy, anchors, spread_siblings(taxonomy, anchors, siblings))


@dataclass(frozen=True)
class Ranking:
    """The best anchors of each query: their indices and scores, both [Q, k], best first."""

    anchors: Indices
    scores: NDArray[np.float32]


class Placement:
    """All anchors of a taxonomy, ready to score queries; vectors are [2, N, D1], keys [N, k].

    Deprecated concepts are no parents: they score minus infinity.
    """

    def __init__(
        self, network: MatchingNetwork, taxonomy: Taxonomy, vectors: Tensor, keys: Tensor
    ) -> None:
        self.keys = keys
        self.vectors = vectors
        self.match, self.fusion = network.match, network.fusion
        self.closed = torch.tensor(sorted(taxonomy.deprecated), dtype=torch.long).to(keys.device)
        everyone = np.arange(len(taxonomy))
        self.egonets = anchor_egonets(taxonomy, everyone, len(taxonomy)).to(vectors.device)

    @torch.no_grad()
    def scores(self, queries: Tensor) -> Tensor:
        """What orders every anchor for every query, higher is better: [2, Q, D1] → [N, Q]."""
        scores = self.match.grid(self.keys, self.match.asked(queries[0]))
        if self.fusion is not None:
            compared = compare(self.vectors @ queries.mT, self.egonets)
            rows = max(1, FUSED // queries.shape[1])
            scores += torch.cat([self.fusion(part) for part in compared.split(rows, dim=1)])
        return scores.index_fill_(0, self.closed, -torch.inf)

    def blocks(self, queries: Tensor) -> Iterator[tuple[int, Tensor]]:
        """The scores of a few queries at a time, each beside the first one's place."""
        size = min(256, max(1, CELLS // len(self.egonets.nodes)))
        for start in range(0, queries.shape[1], size):
            yield start, self.scores(queries[:, start : start + size])

    def rank(self, queries: Tensor, top_k: int) -> Ranking:
        """The best anchors; a score is the anchor's share of the softmax over all anchors."""
        top_k = min(top_k, len(self.keys) - len(self.closed))
        anchors, scores = [], []
        for _, block in self.blocks(queries):
            best, places = block.topk(top_k, dim=0)
            anchors.append(places.T)
            scores.append((best - block.logsumexp(0)).exp().T)
        return Ranking(torch.cat(anchors).cpu().numpy(), torch.cat(scores).cpu().numpy())

    def true_ranks(self, queries: Tensor, parents: Sequence[Indices]) -> list[Indices]:
        """The rank of each true parent of each query, its other true parents left out.

        One plus the number of anchors that score strictly higher, as in the authors' evaluation.
        """
        ranks: list[Indices] = []
        for start, block in self.blocks(queries):
            truth = parents[start : start + block.shape[1]]
            counts = np.array([len(p) for p in truth])
            columns = torch.from_numpy(np.repeat(np.arange(len(truth)), counts))
            rows = torch.from_numpy(np.concatenate(truth))
            columns, rows = columns.to(block.device), rows.to(block.device)
            own = block[rows, columns]
            higher = (block.index_select(1, columns) > own).sum(0)
            same_query = columns[:, None] == columns[None, :]
            other_parents = (same_query & (own[None, :] > own[:, None])).sum(1)
            flat = (1 + higher - other_parents).cpu().numpy()
            ranks.extend(np.split(flat, np.cumsum(counts)[:-1]))
        return ranks
