"""Random rankers with everything that the learned fusion compares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from taxoexpan.config import load_preset
from taxoexpan.features.label_words import LabelWords
from taxoexpan.features.mentions import MentionKind, Mentions
from taxoexpan.network.concept_vectors import ConceptVectors, LabeledQueries
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.pair_features import PAIR_FEATURES, SignalFusion
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from tests.support.builders import KINDS, SORTS

DIMENSION, TOWER_DIMENSION = 6, 5


def unit(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.nn.functional.normalize(torch.randn(*shape, generator=generator), dim=-1)


def foods(count: int, seed: int) -> Taxonomy:
    """Foods below up to two earlier ones, with a synonym for some."""
    rng = np.random.default_rng(seed)
    words = [*KINDS, *SORTS]
    concepts = []
    for i in range(count):
        label, synonym = (" ".join(rng.choice(words, rng.integers(1, 4))) for _ in "ls")
        concepts.append(Concept(str(i), label, (synonym,) if i % 3 == 0 else ()))
    relations = [
        (str(parent), str(child))
        for child in range(1, count)
        for parent in rng.choice(child, min(child, rng.integers(1, 3)), replace=False)
    ]
    return Taxonomy(concepts, relations)


def fused_case(
    seed: int,
    count: int = 30,
    queries: int = 7,
    tower: bool = True,
    chosen: Indices | None = None,
    **variant: object,
) -> tuple[Ranker, LabeledQueries]:
    """Return a ranker with random weights and vectors, and queries with one or two parents."""
    generator, rng = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    sizes = {"hidden_dim": 3, "num_heads": 2, "embedding_dim": 4, "position_dim": 2}
    network = MatchingNetwork(load_preset("best", **{**sizes, **variant}), DIMENSION).eval()
    for parameter in network.parameters():
        parameter.data.normal_(generator=generator)
    taxonomy = foods(count, seed)
    texts = AnchorTexts(LabelWords.from_taxonomy(taxonomy))
    if tower:
        encoded = unit(generator, 2, count, TOWER_DIMENSION)
        texts = AnchorTexts(texts.words, (encoded[0], encoded[1]))
    vectors = ConceptVectors.of(unit(generator, 2, count, DIMENSION))
    anchors = Anchors(taxonomy, vectors, 50, chosen, texts)
    new = foods(queries, seed + 1).concepts
    anchor_count = count if chosen is None else len(chosen)
    return Ranker(network, anchors), LabeledQueries(
        unit(generator, 2, queries, DIMENSION),
        concepts=list(new),
        tower=unit(generator, queries, TOWER_DIMENSION) if tower else None,
        parents=[
            rng.choice(anchor_count, min(anchor_count, 1 + i % 2), replace=False)
            for i in range(queries)
        ],
    )


def with_mentions(queries: LabeledQueries, anchors: int) -> LabeledQueries:
    """Return the queries with random mentions of anchors."""
    rng, kinds = np.random.default_rng(1), len(MentionKind)
    rows = [[(int(rng.integers(anchors)), int(rng.integers(kinds)))] * 2 for _ in queries.parents]
    return replace(queries, mentions=Mentions.from_rows(rows))


def random_fusion(seed: int, scale: float = 1.0) -> SignalFusion:
    """Return a fusion with random weights."""
    weights = np.random.default_rng(seed).normal(size=len(PAIR_FEATURES)) * scale
    return SignalFusion(tuple(weights.tolist()))
