"""Random networks and batches of new concepts for the tests of joint placement."""

from __future__ import annotations

import numpy as np
import torch
from builders import random_taxonomy

from taxoexpan.config import load_preset
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import Queries
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.taxonomy import Concept, Taxonomy

SIZE = 8


def unit(generator: torch.Generator, count: int) -> torch.Tensor:
    drawn = torch.randn(2, count, SIZE, generator=generator)
    return torch.nn.functional.normalize(drawn, dim=2)


def random_network(seed: int, **changes: str) -> MatchingNetwork:
    """An untrained network with very different scores."""
    config = load_preset("best", hidden_dim=4, embedding_dim=8, **changes)
    network = MatchingNetwork(config, SIZE)
    network.reset(torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(2.0)
        if network.mentions is not None:
            network.mentions.weight.copy_(torch.linspace(0.1, 0.5, 7))
    return network


def random_batch(
    seed: int, count: int, network: MatchingNetwork, deprecated: tuple[int, ...] = ()
) -> tuple[Ranker, Queries]:
    """Thirty existing concepts, and some new ones."""
    generator = torch.Generator().manual_seed(seed)
    taxonomy = random_taxonomy(seed)
    parents, children = taxonomy.relation_indices
    taxonomy = Taxonomy.from_columns(
        taxonomy.ids, taxonomy.labels, parents, children, deprecated=deprecated
    )
    anchors = Anchors(taxonomy, ConceptVectors.of(unit(generator, len(taxonomy))), 50)
    concepts = [Concept(f"new {i}", f"name {(7 * i) % 5}") for i in range(count)]
    mentions = None
    if network.mentions is not None:
        rng = np.random.default_rng(seed)
        drawn = rng.integers(0, (len(taxonomy) + count, 7), (count, 6, 2)).tolist()
        mentions = Mentions.from_rows([[(t, k) for t, k in row] for row in drawn])
    return Ranker(network, anchors), Queries(unit(generator, count), mentions, concepts)
