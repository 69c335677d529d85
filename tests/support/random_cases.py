"""Random networks, vectors and rankings for the tests of explanations."""

from __future__ import annotations

import numpy as np
import torch

from taxoexpan.config import load_preset
from taxoexpan.network.concept_vectors import ConceptVectors, Queries
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support.builders import random_taxonomy
from tests.support.fused_cases import random_fusion

DIMENSION = 6
WORDS = ("oat", "milk", "milks", "green", "tea", "latte")


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


def random_labels(seed: int, count: int) -> list[str]:
    """Return labels of one to three words that are often shared."""
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, generator.integers(1, 4))) for _ in range(count)]


def labeled_taxonomy(seed: int, count: int) -> Taxonomy:
    """Return a random taxonomy with shared words in its labels, and deprecated concepts."""
    plain = random_taxonomy(seed, count=count)
    deprecated = range(seed % 3, count, 7)
    labels = random_labels(seed, count)
    return Taxonomy.from_columns(plain.ids, labels, *plain.relation_indices, deprecated=deprecated)


def random_texts(taxonomy: Taxonomy, seed: int, has_tower: bool) -> AnchorTexts:
    """Return the words of a taxonomy, and random vectors in place of those of a tower."""
    words = AnchorTexts.of(taxonomy, None).words
    as_anchors, as_queries = random_vectors(seed + 2, len(taxonomy))
    return AnchorTexts(words, (as_anchors, as_queries) if has_tower else None)


def random_queries(seed: int, count: int, has_tower: bool) -> Queries:
    """Return queries whose labels share words with those of `labeled_taxonomy`."""
    concepts = [Concept("", label) for label in random_labels(seed + 4, count)]
    tower = random_vectors(seed + 3, count)[0] if has_tower else None
    return Queries(random_vectors(seed + 1, count), concepts=concepts, tower=tower)


def fused_case(seed: int = 3, has_tower: bool = True, **variant: object) -> tuple[Ranker, Queries]:
    taxonomy = labeled_taxonomy(seed, count=40)
    texts = random_texts(taxonomy, seed, has_tower)
    anchors = Anchors(taxonomy, ConceptVectors.of(random_vectors(seed, 40)), 5, texts=texts)
    ranker = Ranker(random_network(seed, **variant), anchors, fusion=random_fusion(seed))
    return ranker, random_queries(seed, 11, has_tower)


def small_case(seed: int = 3, count: int = 40, **variant: object) -> tuple[Ranker, Queries]:
    taxonomy = random_taxonomy(seed, count=count)
    network = random_network(seed, **variant)
    anchors = Anchors(taxonomy, ConceptVectors.of(random_vectors(seed, count)), 5)
    concepts = [Concept("", f"query {i}") for i in range(11)]
    return Ranker(network, anchors), Queries(random_vectors(seed + 1, 11), concepts=concepts)
