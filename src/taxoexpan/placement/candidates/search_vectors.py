"""Vectors of anchors whose inner product with a query approximates the query's score.

Most of a score is linear in the query's vectors: the network's match, the cosines with the anchor's
name and with its mean child, and the tower's cosines. The rest, such as shared words and the
nearest child, goes along with it. So the weights of the linear parts are fitted to exact scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taxoexpan.network.matching import LogBilinearMatch
from taxoexpan.network.queries import Queries
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices

NUM_FITTED = 1000
"""Anchors of each query to which the weights are fitted: its best."""
NUM_RANDOM = 250
"""Random anchors of each query to which the weights are fitted too."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class LinearPart:
    """One linear part of scores: vectors of anchors [N, D], to compare with those of queries.

    `space` is 0 for the queries' vectors of names and 1 for those of the tower.
    """

    space: int
    vectors: Vectors


class LinearParts:
    """The linear parts of the scores of a ranker, each once for all anchors and once for leaves."""

    def __init__(self, ranker: Ranker) -> None:
        anchors, texts = ranker.anchors, ranker.anchors.texts
        names = anchors.vectors.names.cpu().numpy()
        mean = _mean_of_children(anchors.taxonomy)
        self.parts = [LinearPart(0, names), LinearPart(0, mean @ names)]
        if isinstance(ranker.network.match, LogBilinearMatch):
            self.parts.insert(0, LinearPart(0, ranker.keys.cpu().numpy()))
        tower = (None, None) if texts is None else (texts.as_anchors, texts.as_queries)
        if ranker.fusion is not None and tower[0] is not None and tower[1] is not None:
            described, named = (vectors.cpu().numpy() for vectors in (tower[0], tower[1]))
            self.parts += [LinearPart(1, described), LinearPart(1, mean @ named)]
        counts = anchors.child_counts.astype(np.float32)
        self.leaf: Vectors = (counts == 0).astype(np.float32)
        self.constants: Vectors = np.stack([np.log1p(counts), self.leaf])

    def query_side(self, queries: Queries) -> Vectors:
        """Return what the vectors of anchors are multiplied with: [Q, d]."""
        sides = [queries.vectors[0].cpu().numpy()]
        if any(part.space for part in self.parts) and queries.tower is not None:
            sides.append(queries.tower.cpu().numpy())
        return np.concatenate([*sides, np.ones((len(queries), 1), np.float32)], axis=1)

    def fit(self, queries: Queries, scores: Vectors, rng: np.random.Generator) -> Floats:
        """Fit the weights to the exact scores [N, Q] of the best anchors of each query.

        Higher scores count more, and a constant per query does not count.
        """
        tables, targets = [], []
        best = np.argpartition(-scores, min(NUM_FITTED, len(scores) - 1), axis=0)[:NUM_FITTED]
        for query in range(len(queries)):
            rows = np.append(best[:, query], rng.integers(0, len(scores), NUM_RANDOM))
            rows = rows[np.isfinite(scores[rows, query])]
            target = scores[rows, query].astype(np.float64)
            table = self._table(queries[query : query + 1], rows)
            weights = np.exp((target - target.max()) / 2)
            weights /= weights.sum()
            tables.append((table - weights @ table) * np.sqrt(weights)[:, None])
            targets.append((target - weights @ target) * np.sqrt(weights))
        found = np.linalg.lstsq(np.concatenate(tables), np.concatenate(targets), rcond=1e-6)[0]
        return np.asarray(found)

    def combine(self, weights: Floats) -> Vectors:
        """Return the vectors of the anchors, given the fitted weights: [N, d]."""
        scale = np.asarray(weights, dtype=np.float32)
        blocks = []
        for space in sorted({part.space for part in self.parts}):
            own = [(i, part.vectors) for i, part in enumerate(self.parts) if part.space == space]
            total = np.zeros_like(own[0][1])
            for number, vectors in own:
                factor = scale[2 * number] + scale[2 * number + 1] * self.leaf
                total += vectors * factor[:, None]
            blocks.append(total)
        constant = scale[2 * len(self.parts) :] @ self.constants
        return np.concatenate([*blocks, constant[:, None]], axis=1, dtype=np.float32)

    def _table(self, query: Queries, rows: Indices) -> Floats:
        """Return the parts of one query's scores of some anchors: [n, 2 * parts + 2]."""
        sides = [query.vectors[0, 0].cpu().numpy()]
        if query.tower is not None:
            sides.append(query.tower[0].cpu().numpy())
        columns: list[Floats] = []
        for part in self.parts:
            product = part.vectors[rows] @ sides[part.space]
            columns += [product, product * self.leaf[rows]]
        return np.stack([*columns, *self.constants[:, rows]], axis=1).astype(np.float64)


def _mean_of_children(taxonomy: Taxonomy) -> csr_array:
    """Return the matrix that takes the mean over the children of each concept [N, N]."""
    below, size = taxonomy.children_of, len(taxonomy)
    shares = np.repeat(1 / np.maximum(below.degrees, 1), below.degrees).astype(np.float32)
    return csr_array((shares, below.targets, below.offsets), shape=(size, size))
