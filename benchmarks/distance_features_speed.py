"""The 39 features of dist-XGBoost, many pairs at a time, beside a plain loop over the pairs.

    python benchmarks/distance_features_speed.py

Both sides take turns, on a made-up taxonomy of the size of the paper's MAG-CS.
"""

from __future__ import annotations

import resource
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from timing import made_up_taxonomy, measure, steadily

from taxoexpan import Taxonomy
from taxoexpan.experiments.methods.distance_features import EMPTY, EgonetDistances, Pairs

Floats = NDArray[np.floating]

DIMENSION, NEGATIVES = 256, 30
QUERIES, RANKED, LEARNED = 32, 1_000, 160


def main() -> None:
    """Measure the pairs that are ranked, and those that are learned from."""
    taxonomy = made_up_taxonomy()
    drawn = torch.Generator().manual_seed(0)
    vectors = torch.randn(len(taxonomy), DIMENSION, generator=drawn)
    vectors = torch.nn.functional.normalize(vectors, dim=1)
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}; {taxonomy!r}")
    print_ranking(taxonomy, vectors)
    print_learning(taxonomy, vectors)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


def print_ranking(taxonomy: Taxonomy, vectors: torch.Tensor) -> None:
    """Some queries with all anchors, and a plain loop over a sample of the same pairs."""
    distances, size = EgonetDistances(taxonomy, vectors), len(taxonomy)
    places, anchors = np.random.default_rng(0).integers(0, (QUERIES, size), (RANKED, 2)).T

    def ours() -> None:
        for _ in distances.of_all(vectors[:QUERIES]):
            pass

    def plain() -> None:
        for place, anchor in zip(places, anchors, strict=True):
            plain_features(taxonomy, vectors.numpy(), vectors[place].numpy(), anchor)

    compare("every query with all anchors", (plain, RANKED), (ours, QUERIES * size))


def print_learning(taxonomy: Taxonomy, vectors: torch.Tensor) -> None:
    """Some relations, each with its negatives, and a plain loop over the same pairs."""
    distances, generator = EgonetDistances(taxonomy, vectors), np.random.default_rng(0)
    parents, children = taxonomy.relation_indices
    chosen = np.sort(generator.choice(len(parents), LEARNED, replace=False))
    anchors = generator.integers(0, len(taxonomy), (LEARNED, 1 + NEGATIVES))
    anchors[:, 0] = parents[chosen]
    places = np.repeat(np.arange(LEARNED), 1 + NEGATIVES)
    queries = vectors[torch.from_numpy(children[chosen])]
    pairs = Pairs(places, anchors.ravel(), children[chosen][places])

    def ours() -> None:
        for _ in distances.of_pairs(queries, pairs):
            pass

    def plain() -> None:
        for place, anchor, out in zip(places, pairs.anchors, pairs.left_out, strict=True):
            plain_features(taxonomy, vectors.numpy(), queries[place].numpy(), anchor, out)

    compare("relations with 30 negatives each", (plain, len(places)), (ours, len(places)))


def compare(
    what: str, plain: tuple[Callable[[], None], int], ours: tuple[Callable[[], None], int]
) -> None:
    """Print the pairs a second of both, each given with how many pairs it goes through."""
    ratio, seconds, steal = steadily(lambda: measure(plain[0], ours[0]))
    slow, quick = plain[1] / seconds, ours[1] / (seconds / ratio)
    print(f"{what}: {quick:,.0f} pairs/s, in a plain loop {slow:,.0f} pairs/s: ", end="")
    print(f"{quick / slow:,.1f} × (steal {steal:.1%})", flush=True)


def plain_features(
    taxonomy: Taxonomy, vectors: Floats, query: Floats, anchor: int, left_out: int = -1
) -> list[float]:
    """The features of one pair [39], given vectors of unit length [N, D] and that of a query [D].

    The concept `left_out`, such as the query itself, is in no group.
    """
    parents, children = taxonomy.parents_of.of(anchor), taxonomy.children_of.of(anchor)
    parents, children = parents[parents != left_out], children[children != left_out]
    far = 1 - vectors[anchor] @ query
    features = [float(far)]
    for source in (query, vectors[anchor]):
        for group in (parents, children):
            distances = 1 - vectors[group] @ source
            nearer = np.mean(distances < far) if len(group) else EMPTY
            features += [len(group), *plain_figures(distances), float(nearer)]
    egonet = np.array([*parents, anchor, *children])
    return features + plain_figures(1 - vectors[egonet] @ query)


def plain_figures(distances: Floats) -> list[float]:
    """Minimum, maximum, median, mean, standard deviation and range."""
    if not len(distances):
        return [EMPTY] * 6
    low, high = distances.min(), distances.max()
    middle = (np.median(distances), distances.mean(), distances.std())
    return [float(figure) for figure in (low, high, *middle, high - low)]


if __name__ == "__main__":
    main()
