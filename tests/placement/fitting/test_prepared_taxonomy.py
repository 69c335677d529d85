"""Preparing a taxonomy for training does not copy the vectors that the network learns from."""

from __future__ import annotations

from pathlib import Path

import torch
from conftest import SMALL

from taxoexpan import Taxonomy
from taxoexpan.config import load_preset
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.placement.fitting.prepared_taxonomy import prepare_taxonomy
from taxoexpan.placement.scoring.embedder import Embedder


def test_the_vectors_of_remaining_concepts_share_the_memory_of_all_vectors(pantry: Path) -> None:
    whole = Taxonomy.read(pantry)
    config = load_preset("fast", **SMALL, validation_fraction=0.5)
    embedder = Embedder(make_encoder("static"), config, torch.device("cpu"))
    prepared = prepare_taxonomy(whole, embedder, seed=0)
    remaining, known = prepared.holdout.taxonomy, prepared.data.anchors.vectors
    assert len(remaining) == len(whole) - 40
    assert torch.equal(prepared.vectors().stacked(), embedder.tensor(whole.concepts))
    assert torch.equal(known.stacked(), embedder.tensor(remaining.concepts))
    assert known.names.data_ptr() == prepared.stored.names.data_ptr()
    memory = prepared.stored.names.untyped_storage().nbytes()
    assert memory == 4 * len(whole) * embedder.encoder.dimension  # without those of head words
