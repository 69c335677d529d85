"""The speed of explanations, relative to the ranking.

    python benchmarks/explanation_speed.py

Both are measured alternately on a synthetic taxonomy of the size of the paper's MAG-CS.
"""

from __future__ import annotations

import resource

import numpy as np
import torch
from timing import measure_undisturbed, synthetic_taxonomy

from taxoexpan import Taxonomy
from taxoexpan.config import load_preset
from taxoexpan.explain import describe, explain
from taxoexpan.network.concept_vectors import ConceptVectors, Queries
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker, Ranking
from taxoexpan.taxonomy import Concept

DIMENSION, QUERIES, SUGGESTIONS = 256, 1_000, 5


def main() -> None:
    """Measure complete explanations."""
    taxonomy = synthetic_taxonomy()
    network = MatchingNetwork(load_preset("best"), DIMENSION).eval()
    drawn = torch.Generator().manual_seed(0)
    network.reset(drawn)
    vectors = unit(torch.randn(2, len(taxonomy), DIMENSION, generator=drawn))
    anchors = Anchors(taxonomy, ConceptVectors.of(vectors), load_preset("best").max_siblings)
    # Each query is similar to a concept of the taxonomy, as a real one would be.
    like = torch.randint(len(taxonomy), (QUERIES,), generator=drawn)
    query_vectors = unit(
        vectors[:, like] + 0.1 * torch.randn(2, QUERIES, DIMENSION, generator=drawn)
    )
    queries = Queries(
        query_vectors, concepts=[Concept("", f"new concept {i}") for i in range(QUERIES)]
    )
    ranker = Ranker(network, anchors)
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}; {taxonomy!r}")
    print_explanations(ranker, queries)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


def print_explanations(ranker: Ranker, queries: Queries) -> None:
    """Compare the explanations of queries to their ranking."""
    offered = some_parents(ranker.anchors.taxonomy, SUGGESTIONS)

    def explained() -> None:
        for evidence in explain(ranker, queries, offered):
            describe(evidence)

    def ranked() -> None:
        ranker.rank(queries, SUGGESTIONS)

    ratio, seconds, steal = measure_undisturbed(explained, ranked)
    print(
        f"{QUERIES:,} queries with {SUGGESTIONS} suggestions: explained in {seconds:.1f} s, ",
        end="",
    )
    print(f"{ratio:.2f} × the time of their ranking (steal {steal:.1%})", flush=True)


def some_parents(taxonomy: Taxonomy, count: int) -> Ranking:
    """Return parents as a trained network suggests them: in proportion to their children."""
    parents, generator = taxonomy.relation_indices[0], np.random.default_rng(0)
    offered = [np.unique(generator.choice(parents, 9 * count)) for _ in range(QUERIES)]
    anchors = np.stack([generator.permutation(some)[:count] for some in offered])
    scores = np.full(anchors.shape, 0.1, dtype=np.float32)
    return Ranking(anchors, scores, scores)


def unit(vectors: torch.Tensor) -> torch.Tensor:
    """Return the vectors at unit length."""
    return torch.nn.functional.normalize(vectors, dim=-1)


if __name__ == "__main__":
    main()
