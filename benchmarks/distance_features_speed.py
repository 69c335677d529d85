"""The speed of dist-XGBoost's 39 features: vectorized, against a plain loop over the pairs.

    python benchmarks/distance_features_speed.py

Both sides are measured alternately on a synthetic taxonomy of the size of the paper's MAG-CS.
"""

from __future__ import annotations

import resource
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from timing import measure_undisturbed, synthetic_taxonomy

from taxoexpan import Taxonomy
from taxoexpan.evaluation.distance_features import EMPTY, EgonetDistances, Pairs

Floats = NDArray[np.floating]

DIMENSION, NEGATIVES = 256, 30
QUERIES, RANKED_PAIRS, RELATIONS = 32, 1_000, 160


def main() -> None:
    """Measure the pairs of ranking, and those of training."""
    taxonomy = synthetic_taxonomy()
    drawn = torch.Generator().manual_seed(0)
    vectors = torch.randn(len(taxonomy), DIMENSION, generator=drawn)
    vectors = torch.nn.functional.normalize(vectors, dim=1)
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}; {taxonomy!r}")
    print_ranking(taxonomy, vectors)
    print_learning(taxonomy, vectors)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


def print_ranking(taxonomy: Taxonomy, vectors: torch.Tensor) -> None:
    """Compare some queries with all anchors to a plain loop over a sample of these pairs."""
    distances, size = EgonetDistances(taxonomy, vectors), len(taxonomy)
    rows, anchors = np.random.default_rng(0).integers(0, (QUERIES, size), (RANKED_PAIRS, 2)).T

    def ours() -> None:
        for _ in distances.of_all(vectors[:QUERIES]):
            pass

    def plain() -> None:
        for row, anchor in zip(rows, anchors, strict=True):
            plain_features(taxonomy, vectors.numpy(), vectors[row].numpy(), anchor)

    compare("ranking, each query with all anchors", (plain, RANKED_PAIRS), (ours, QUERIES * size))


def print_learning(taxonomy: Taxonomy, vectors: torch.Tensor) -> None:
    """Compare relations and their negatives to a plain loop over the same pairs."""
    distances, generator = EgonetDistances(taxonomy, vectors), np.random.default_rng(0)
    parents, children = taxonomy.relation_indices
    chosen = np.sort(generator.choice(len(parents), RELATIONS, replace=False))
    anchors = generator.integers(0, len(taxonomy), (RELATIONS, 1 + NEGATIVES))
    anchors[:, 0] = parents[chosen]
    rows = np.repeat(np.arange(RELATIONS), 1 + NEGATIVES)
    queries = vectors[torch.from_numpy(children[chosen])]
    pairs = Pairs(rows, anchors.ravel(), children[chosen][rows])

    def ours() -> None:
        for _ in distances.of_pairs(queries, pairs):
            pass

    def plain() -> None:
        for row, anchor, out in zip(rows, pairs.anchors, pairs.left_out, strict=True):
            plain_features(taxonomy, vectors.numpy(), queries[row].numpy(), anchor, out)

    compare("training, relations with 30 negatives each", (plain, len(rows)), (ours, len(rows)))


def compare(
    what: str, plain: tuple[Callable[[], None], int], ours: tuple[Callable[[], None], int]
) -> None:
    """Print the pairs per second of both functions, each given with its number of pairs."""
    ratio, seconds, steal = measure_undisturbed(plain[0], ours[0])
    slow, quick = plain[1] / seconds, ours[1] / (seconds / ratio)
    print(f"{what}: {quick:,.0f} pairs/s, plain loop {slow:,.0f} pairs/s: ", end="")
    print(f"{quick / slow:,.1f} × (steal {steal:.1%})", flush=True)


def plain_features(
    taxonomy: Taxonomy, vectors: Floats, query: Floats, anchor: int, left_out: int = -1
) -> list[float]:
    """Return the features of one pair [39], given unit vectors [N, D] and a query's vector [D].

    The concept `left_out`, such as the query itself, is removed from all groups.
    """
    parents, children = taxonomy.parents_of.of(anchor), taxonomy.children_of.of(anchor)
    parents, children = parents[parents != left_out], children[children != left_out]
    far = 1 - vectors[anchor] @ query
    features = [float(far)]
    for source in (query, vectors[anchor]):
        for group in (parents, children):
            distances = 1 - vectors[group] @ source
            nearer = np.mean(distances < far) if len(group) else EMPTY
            features += [len(group), *plain_statistics(distances), float(nearer)]
    egonet = np.array([*parents, anchor, *children])
    return features + plain_statistics(1 - vectors[egonet] @ query)


def plain_statistics(distances: Floats) -> list[float]:
    """Return minimum, maximum, median, mean, standard deviation and range."""
    if not len(distances):
        return [EMPTY] * 6
    low, high = distances.min(), distances.max()
    middle = (np.median(distances), distances.mean(), distances.std())
    return [float(figure) for figure in (low, high, *middle, high - low)]


if __name__ == "__main__":
    main()
