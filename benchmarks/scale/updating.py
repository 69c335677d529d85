"""CPU time of an update, against encoding the whole newer version of a taxonomy.

The older version lacks some concepts of TAXONOMY, which are held out as taxonomies grow. Weights
are random, and the fine-tuned encoder is the sentence model as it comes: neither the time nor the
comparison depends on what they have learned. The largest difference of both results is printed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from benchmarks.scale.measures import CPU_CLOCK
from taxoexpan import Taxonomy, read_taxonomy
from taxoexpan.config import load_preset
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.text_tower import TextTower
from taxoexpan.placement.fitting.updating import EncodedTaxonomy, update_encoding
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts, Embedder
from taxoexpan.training.holdout import hold_out_growth


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("taxonomy", type=Path)
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--features", default="static")
    parser.add_argument("--growth", type=float, default=0.01)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure one taxonomy, and print the figures as JSON."""
    config = load_preset(options.preset, features=options.features, use_mentions=False)
    encoder, device = make_encoder(config.features, config.oov, "cpu"), torch.device("cpu")
    part = encoder.part_with_model()
    tower = None if part is None else TextTower(part, device, part.copy_model())
    embedder = Embedder(encoder, config, device, tower)
    network = MatchingNetwork(config, encoder.dimension)
    network.reset(torch.Generator().manual_seed(0))
    newer = read_taxonomy(options.taxonomy).active
    older = hold_out_growth(newer, 0.99, round(options.growth * len(newer)), 0).taxonomy
    state = encode(older, network, embedder)
    (updated, report), spent = CPU_CLOCK.timed(
        lambda: update_encoding(state, newer, network, embedder)
    )
    whole, full = CPU_CLOCK.timed(lambda: encode(newer, network, embedder))
    figures = {
        "concepts": len(newer),
        "added": len(newer) - len(older),
        "encoded": {"vectors": report.vectors, "keys": report.keys, "texts": report.texts},
        "cpu_seconds": {"update": round(spent, 2), "whole": round(full, 2)},
        "largest_difference": largest_difference(updated, whole),
    }
    print(json.dumps(figures, indent=1))
    return figures


def encode(taxonomy: Taxonomy, network: MatchingNetwork, embedder: Embedder) -> EncodedTaxonomy:
    """Encode a whole taxonomy."""
    vectors = ConceptVectors.of(embedder.tensor(taxonomy.concepts))
    keys = Anchors(taxonomy, vectors, embedder.config.max_siblings).encode(network)
    return EncodedTaxonomy(taxonomy, vectors, keys, AnchorTexts.of(taxonomy, embedder.tower))


def largest_difference(one: EncodedTaxonomy, other: EncodedTaxonomy) -> float:
    """Return the largest difference between two encodings of the same taxonomy."""
    assert one.texts is not None
    assert other.texts is not None
    pairs = [(one.vectors.stacked(), other.vectors.stacked()), (one.keys, other.keys)]
    pairs += zip(one.texts.tower or (), other.texts.tower or (), strict=True)
    return max(float((mine - yours).abs().max()) for mine, yours in pairs)
