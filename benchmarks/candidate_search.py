"""Compares the candidate search with the exact ranking: speed, recall and confidence.

The model's own taxonomy is ranked or, with --concepts, one of any size that is made of copies of
it. The vectors of a copy differ from the original by random noise, half of which children inherit
from their first parent, and some words of its labels are replaced by new ones. So the vectors have
the clusters of real ones.

    python benchmarks/candidate_search.py MODEL new.txt --concepts 355808
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.archive import Archive
from taxoexpan.features.label_words import first_parents
from taxoexpan.formats.concept_list import read_concepts
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.queries import Queries
from taxoexpan.placement.candidates.candidate_ranker import CandidateRanker
from taxoexpan.placement.candidates.index_building import build_search, exact_scores, measure
from taxoexpan.placement.candidates.ranked_candidates import rank_candidates
from taxoexpan.placement.scoring.pair_features import AnchorTexts
from taxoexpan.placement.scoring.ranking import Anchors
from taxoexpan.taxonomy.known_names import filter_known_names

NOISE = 1.0
"""The length of the noise in the vectors of copies; those of concepts have length 1."""
INHERITED = 0.5
"""The share of the variance of the noise that a concept has from its first parent."""
REPLACED = 0.5
"""The share of the words that are others in a copy."""
MEASURED = 256
"""Queries of which the recall is measured."""


def enlarged(archive: Archive, concepts: int, rng: np.random.Generator) -> Archive:
    """Return the model with copies of its taxonomy, cut off at so many concepts."""
    old, copies = archive.taxonomy, -(-concepts // len(archive.taxonomy))
    parents, children = old.relation_indices
    offsets = np.arange(copies)[:, None] * len(old)
    above, below = ((side[None] + offsets).ravel() for side in (parents, children))
    kept = (above < concepts) & (below < concepts)
    labels = [label for copy in range(copies) for label in _labels(old, copy, rng)][:concepts]
    ids = [str(number) for number in range(concepts)]
    taxonomy = Taxonomy.from_columns(ids, labels, above[kept], below[kept])
    real = archive.vectors.stacked().numpy()
    blocks = [real] + [_noisy(old, real, rng) for _ in range(copies - 1)]
    vectors = ConceptVectors.of(torch.from_numpy(np.concatenate(blocks, axis=1)[:, :concepts]))
    keys = Anchors(taxonomy, vectors, archive.config.max_siblings).encode(archive.network)
    texts = AnchorTexts.of(taxonomy, None)
    return replace(archive, taxonomy=taxonomy, vectors=vectors, keys=keys, texts=texts, search=None)


def _labels(taxonomy: Taxonomy, copy: int, rng: np.random.Generator) -> list[str]:
    """Return the labels of a copy."""
    if not copy:
        return list(taxonomy.labels)
    words = {word for label in taxonomy.labels for word in label.split()}
    new = {word: f"{word}{copy}" if rng.random() < REPLACED else word for word in sorted(words)}
    # A number keeps labels distinct; the words of no query are numbers like it.
    return [
        " ".join([new[word] for word in label.split()] + [f"x{copy}"]) for label in taxonomy.labels
    ]


def _noisy(
    taxonomy: Taxonomy, vectors: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.float32]:
    """Return unit vectors near those of names, and the same ones of head words: [2, N, D]."""
    noise = rng.normal(size=vectors[0].shape).astype(np.float32) / vectors.shape[2] ** 0.5
    parents = first_parents(taxonomy)
    for level in range(1, int(taxonomy.levels.max()) + 1):
        rows = np.flatnonzero((taxonomy.levels == level) & (parents >= 0))
        inherited = noise[parents[rows]] * INHERITED**0.5
        noise[rows] = inherited + noise[rows] * (1 - INHERITED) ** 0.5
    names = vectors[0] + NOISE * noise
    names /= np.maximum(np.linalg.norm(names, axis=1, keepdims=True), 1e-9)
    return np.stack([names, vectors[1]])


def compare(model: TaxoExpan, search: CandidateRanker, queries: Queries) -> dict[str, float]:
    """Rank queries in both ways, and compare their speed and their results."""
    ranker, calibration = model._ranker, model.calibrators.calibration
    temperature = calibration.temperature if calibration else 1.0
    ranker.rank(queries[:8], 10, temperature)
    rank_candidates(search, queries[:8], 10, temperature)
    began = time.process_time()
    exact = ranker.rank(queries, 10, temperature)
    between = time.process_time()
    found = rank_candidates(search, queries, 10, temperature).ranking
    ended = time.process_time()
    same = exact.anchors[:, 0] == found.anchors[:, 0]
    results = {
        "exact_queries_per_second": len(queries) / (between - began),
        "candidate_queries_per_second": len(queries) / (ended - between),
        "same_first_parent": float(same.mean()),
    }
    if calibration:
        both = (calibration.confidence(each.tempered)[same, 0] for each in (exact, found))
        error = np.abs(np.subtract(*both))
        results["confidence_error_99_percent"] = float(np.quantile(error, 0.99))
        results["confidence_within_0.01"] = float((error <= 0.01).mean())
    return results


def main() -> None:
    """Build the search, compare it, and print the figures as JSON; times are CPU times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="a model directory, without a fine-tuned encoder")
    parser.add_argument("new", type=Path, help="new concepts")
    parser.add_argument("--concepts", type=int, help="size of the taxonomy to make")
    parser.add_argument("--queries", type=int, default=512)
    options = parser.parse_args()
    model = TaxoExpan.load(options.model, "cpu")
    if options.concepts:
        rng = np.random.default_rng(0)
        model._reset(enlarged(model._fitted(), options.concepts, rng))
    calibration = model.calibrators.calibration
    temperature = calibration.temperature if calibration else 1.0
    model._ranker.scores(model._queries(list(model.taxonomy.concepts)[:1]))
    began = time.process_time()
    search = build_search(model._ranker, temperature)
    built = time.process_time() - began
    concepts = filter_known_names(model.taxonomy, read_concepts(options.new)).new
    queries = model._queries(concepts[: options.queries])
    some = queries[:MEASURED]
    new = measure(search, some, exact_scores(model._ranker, some), temperature)
    stored = search.stored()
    figures = {
        "anchors": len(model.taxonomy),
        "relations": len(model.taxonomy.relations),
        "build_seconds": built,
        "stored_megabytes": (stored.anchor_graph.nbytes + stored.name_graph.nbytes) / 1e6,
        "candidates": search.record.candidates,
        "effort": search.record.effort,
        "recall_at_10_sampled": search.record.recall,
        "recall_at_10_new": new.recall,
        **compare(model, search, queries),
        "peak_gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
