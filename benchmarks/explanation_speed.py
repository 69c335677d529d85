"""The speed of explanations, and of their counterfactual removals against a plain loop.

    python benchmarks/explanation_speed.py

Both sides are measured alternately on a synthetic taxonomy of the size of the paper's MAG-CS. The
plain loop really removes one relation after another, and scores the first two suggestions again; it
does not have to encode the egonets of other anchors.
"""

from __future__ import annotations

import resource

import numpy as np
import torch
from timing import measure_undisturbed, synthetic_taxonomy

from taxoexpan import Taxonomy
from taxoexpan.config import load_preset
from taxoexpan.explain import describe, explain
from taxoexpan.explain.removals import Removals, score_removals
from taxoexpan.explain.similarity import QueryAnchorPairs, find_neighborhood
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.cosine_features import Cosines, cosine_features
from taxoexpan.network.egonets import LeftOutSiblings
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import Queries
from taxoexpan.placement.scoring.anchors import Anchors, anchor_egonets
from taxoexpan.placement.scoring.ranking import Ranker, Ranking
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.arrays import Indices

DIMENSION, QUERIES, SUGGESTIONS = 256, 1_000, 5
BLOCK, SAMPLED_REMOVALS = 128, 30


def main() -> None:
    """Measure complete explanations, and removals against the plain loop."""
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
    print_removals(ranker, queries)
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


def print_removals(ranker: Ranker, queries: Queries) -> None:
    """Compare the removals per second to a plain loop over a sample of them."""
    network, anchors, block = ranker.network, ranker.anchors, queries[:BLOCK]
    best, some = some_parents(anchors.taxonomy, 2).anchors[:BLOCK], block.vectors
    pairs = QueryAnchorPairs(np.tile(np.arange(BLOCK), 2), best.T.ravel())
    around = find_neighborhood(anchors, pairs, some)
    scores, removals = score_removals(ranker, around, block, np.zeros(2 * BLOCK))
    rows = np.random.default_rng(0).choice(len(removals.query), SAMPLED_REMOVALS, replace=False)

    def ours() -> None:
        score_removals(ranker, around, block, np.zeros(2 * BLOCK))

    def plain() -> None:
        for row in rows:
            plain_margin(network, anchors, some, best[removals.query[row]], removals, row)

    before = np.subtract(*np.reshape([sum(each.values()) for each in scores], (2, -1)))
    for row in rows:
        two = best[removals.query[row]]
        slow = plain_margin(network, anchors, some, two, removals, row)
        quick = before[removals.query[row]] - removals.change[row]
        # If an egonet shows only some children, a real removal also changes which are shown.
        shown = anchors.taxonomy.children_of.degrees[two].max() <= anchors.siblings
        assert not shown or abs(slow - quick) < 1e-3, (slow, quick)
    ratio, seconds, steal = measure_undisturbed(plain, ours)
    slowly, quickly = SAMPLED_REMOVALS / seconds, len(removals.query) / (seconds / ratio)
    print(f"{quickly:,.0f} removals/s, plain loop {slowly:,.1f} removals/s: ", end="")
    print(f"{quickly / slowly:,.0f} × (steal {steal:.1%})", flush=True)


def some_parents(taxonomy: Taxonomy, count: int) -> Ranking:
    """Return parents as a trained network suggests them: in proportion to their children."""
    parents, generator = taxonomy.relation_indices[0], np.random.default_rng(0)
    offered = [np.unique(generator.choice(parents, 9 * count)) for _ in range(QUERIES)]
    anchors = np.stack([generator.permutation(some)[:count] for some in offered])
    scores = np.full(anchors.shape, 0.1, dtype=np.float32)
    return Ranking(anchors, scores, scores)


@torch.no_grad()
def plain_margin(
    network: MatchingNetwork,
    anchors: Anchors,
    queries: torch.Tensor,
    two: Indices,
    removals: Removals,
    row: int,
) -> float:
    """Return the margin of the first of two suggestions after really removing a relation."""
    ends = removals.anchor[row], removals.neighbor[row]
    parent, child = ends if removals.is_child[row] else ends[::-1]
    taxonomy = without_relation(anchors.taxonomy, parent, child)
    query = queries[:, [removals.query[row]]]
    egonets = anchor_egonets(taxonomy, two, anchors.siblings)
    keys = network.encode(anchors.vectors.names[egonets.concepts], egonets)
    scores = network.match.score_all(keys, network.project_queries(query[0], keys))
    family = anchor_egonets(taxonomy, two, len(taxonomy))
    near = anchors.vectors.select(family.concepts)
    around = family.nodes[family.sizes[0] :]
    by_head = Cosines(near.heads @ query[1].T, near.head_of[around])
    assert network.fusion is not None
    by_name = Cosines(near.names @ query[0].T, around)
    nothing = LeftOutSiblings(torch.zeros(1, dtype=torch.int64), torch.full((1,), -1))
    scores += network.fusion(cosine_features(by_name, by_head, family, nothing))
    return float(scores[0, 0] - scores[1, 0])


def without_relation(taxonomy: Taxonomy, parent: int, child: int) -> Taxonomy:
    """Return the taxonomy without one relation."""
    parents, children = taxonomy.relation_indices
    kept = (parents != parent) | (children != child)
    return Taxonomy.from_columns(taxonomy.ids, taxonomy.labels, parents[kept], children[kept])


def unit(vectors: torch.Tensor) -> torch.Tensor:
    """Return the vectors at unit length."""
    return torch.nn.functional.normalize(vectors, dim=-1)


if __name__ == "__main__":
    main()
