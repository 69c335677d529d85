"""Random networks, vectors and rankings for the tests of explanations."""

from __future__ import annotations

import torch
from builders import random_taxonomy

from taxoexpan.config import load_preset
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import Queries
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.taxonomy import Concept

DIMENSION = 6
LEAF_BONUS = 0.75


def unit(vectors: torch.Tensor) -> torch.Tensor:
    return vectors / vectors.norm(dim=-1, keepdim=True)


def random_network(seed: int, **variant: object) -> MatchingNetwork:
    sizes = {"hidden_dim": 3, "num_heads": 2, "embedding_dim": 4, "position_dim": 2}
    network = MatchingNetwork(load_preset("best", **{**sizes, **variant}), DIMENSION).eval()
    generator = torch.Generator().manual_seed(seed)
    for parameter in network.parameters():
        parameter.data.normal_(generator=generator)
    return network


def random_vectors(seed: int, count: int) -> torch.Tensor:
    """Return unit vectors [2, count, 6]; several concepts share a head word."""
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(2, count, DIMENSION, generator=generator)
    vectors[1] = vectors[1][torch.randint(count, (count,), generator=generator) // 2]
    return unit(vectors)


def small_case(seed: int = 3, count: int = 40, **variant: object) -> tuple[Ranker, Queries]:
    taxonomy = random_taxonomy(seed, count=count)
    network = random_network(seed, **variant)
    anchors = Anchors(taxonomy, ConceptVectors.of(random_vectors(seed, count)), 5)
    concepts = [Concept("", f"query {i}") for i in range(11)]
    return Ranker(network, anchors), Queries(random_vectors(seed + 1, 11), concepts=concepts)
