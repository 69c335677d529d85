"""Building the candidate search of a model, and measuring how much it finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from taxoexpan.network.queries import Queries
from taxoexpan.placement.candidates.candidate_ranker import CandidateRanker
from taxoexpan.placement.candidates.search_record import (
    SearchRecord,
    checksum_of_ids,
)
from taxoexpan.placement.candidates.search_vectors import LinearParts
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy.arrays import Indices

WIDTHS = ((200, 200), (200, 400), (200, 800), (400, 1600), (800, 3200))
"""Numbers of candidates, and efforts of the search; the first with enough recall are chosen."""
NUM_QUERIES = 192
"""Queries that are drawn; the weights are fitted to the first third, recall is of the others."""
MEASURED_BEST = 10

Scores = NDArray[np.float32]


def build_search(ranker: Ranker, temperature: float = 1.0, seed: int = 0) -> CandidateRanker:
    """Build the candidate search of a ranker of all concepts, and measure it.

    If the recall is too low with any number of candidates, the record says so (`is_used`).
    """
    rng = np.random.default_rng(seed)
    queries = draw_queries(ranker, NUM_QUERIES, rng)
    scores = exact_scores(ranker, queries)
    parts, fitted = LinearParts(ranker), len(queries) // 3
    weights = parts.fit(queries[:fitted], scores[:, :fitted], rng)
    ids = checksum_of_ids(ranker.anchors.taxonomy.ids)
    record = SearchRecord(ids, tuple(weights.tolist()), *WIDTHS[0], 0.0, 0.0, 0)
    search = CandidateRanker(ranker, record, parts)
    measured, expected = queries[fitted:], scores[:, fitted:]
    for count, effort in WIDTHS:
        search = search.with_candidates(count, effort)
        search.record = measure(search, measured, expected, temperature)
        if search.record.is_used:
            break
    return search


def draw_queries(ranker: Ranker, count: int, rng: np.random.Generator) -> Queries:
    """Draw queries like new concepts: each lies between two children of the same parent.

    The label is that of the first. Existing concepts themselves would be too easy to find.
    """
    anchors = ranker.anchors
    first, second = _draw_siblings(ranker, count, rng)
    device = anchors.vectors.device
    one, other = (torch.from_numpy(rows).to(device) for rows in (first, second))
    names, vectors = anchors.vectors.names, anchors.vectors
    heads = vectors.heads.index_select(0, vectors.head_of.index_select(0, one))
    texts = anchors.texts
    tower = None
    if texts is not None and texts.as_queries is not None:
        tower = _between(texts.as_queries, one, other)
    concepts = [anchors.taxonomy.concept_at(int(row)) for row in first]
    return Queries(torch.stack([_between(names, one, other), heads]), None, concepts, tower)


def exact_scores(ranker: Ranker, queries: Queries) -> Scores:
    """Return the exact scores of all anchors: [N, Q]."""
    parts = [ranker.scores(some).cpu() for _, some in queries.blocks(len(ranker.keys))]
    return torch.cat(parts, dim=1).numpy()


def measure(
    search: CandidateRanker, queries: Queries, scores: Scores, temperature: float
) -> SearchRecord:
    """Compare the search with the exact scores [N, Q], and return its record with the result."""
    ranker, temperatures = search.ranker, (temperature,)
    log_f = ranker.log_match(torch.from_numpy(scores))
    log_f = log_f.masked_fill_(torch.from_numpy(np.isneginf(scores)), -torch.inf)
    count = min(MEASURED_BEST, len(scores))
    true = log_f.topk(count, dim=0)
    exact = (true.values[0] / temperature - (log_f / temperature).logsumexp(0)).exp()
    hits, errors = [], []
    for rows, _, scored in search.blocks(queries):
        found = scored.best(ranker, count, temperatures)
        is_found = (found.anchors.cpu()[:, None] == true.indices[:, rows][None]).any(0)
        hits.append(is_found.float().mean(0))
        score = (found.log_f[0] / temperature - found.log_totals[0]).exp().cpu()
        errors.append((score - exact[rows]).abs())
    error = float(np.quantile(torch.cat(errors).numpy(), 0.95))
    recall = float(torch.cat(hits).mean())
    return replace(search.record, recall=recall, confidence_error=error, queries=len(queries))


def _draw_siblings(ranker: Ranker, count: int, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Draw leaves, and another child of a parent of each; a leaf without siblings twice."""
    taxonomy = ranker.anchors.taxonomy
    is_leaf = ranker.anchors.child_counts == 0
    is_leaf[ranker.deprecated_rows.cpu().numpy()] = False
    first = rng.choice(np.flatnonzero(is_leaf), min(count, int(is_leaf.sum())), replace=False)
    second = first.copy()
    for number, leaf in enumerate(first.tolist()):
        parents = taxonomy.parents_of.of(leaf)
        if len(parents):
            second[number] = rng.choice(taxonomy.children_of.of(int(parents[0])))
    return first, second


def _between(vectors: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return unit vectors between two others."""
    total = vectors.index_select(0, one) + vectors.index_select(0, other)
    return torch.nn.functional.normalize(total, dim=1)
