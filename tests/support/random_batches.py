"""Random networks and batches of new concepts for the tests of joint placement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from taxoexpan.config import load_preset
from taxoexpan.features.label_words import LabelWords
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.concept_vectors import ConceptVectors, Queries
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.pair_features import PAIR_FEATURES, SignalFusion
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support.builders import random_taxonomy

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
    """Thirty existing concepts, and some new ones, ranked by the network."""
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


def random_fused_batch(seed: int, count: int, network: MatchingNetwork) -> tuple[Ranker, Queries]:
    """The same with a learned fusion, vectors of a text tower, and labels that share words."""
    ranker, queries = random_batch(seed, count, network)
    generator = torch.Generator().manual_seed(seed + 1)
    old = ranker.anchors.taxonomy
    labels = [f"kind{i % 5} name{i % 7}" for i in range(len(old))]
    taxonomy = Taxonomy.from_columns(old.ids, labels, *old.relation_indices)
    as_anchors, as_queries = unit(generator, len(old))
    texts = AnchorTexts(LabelWords.from_taxonomy(taxonomy), (as_anchors, as_queries))
    anchors = Anchors(taxonomy, ranker.anchors.vectors, 50, texts=texts)
    weights = 0.3 * torch.randn(len(PAIR_FEATURES), generator=generator)
    concepts = [Concept(f"new {i}", f"own{i % 3} kind{i % 5} name{i % 7}") for i in range(count)]
    queries = replace(queries, concepts=concepts, tower=unit(generator, count)[0])
    return Ranker(network, anchors, fusion=SignalFusion(tuple(weights.tolist()))), queries
