"""Tests of the encoding of texts one after the other, without padding."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from reproduction.pretraining.encoders import Nomic
from reproduction.pretraining.packing import PackedModel, encode_packed
from reproduction.pretraining.token_table import TokenTable
from reproduction.tests.pretraining.test_teacher import TEXTS, encoder
from taxoexpan.features.minilm import load_minilm
from taxoexpan.features.pretrained import FOLDER


def models() -> list[PackedModel]:
    """A small encoder with rotations, and the encoder of the package."""
    nomic = encoder("nomic")
    assert isinstance(nomic, Nomic)
    return [nomic, load_minilm(FOLDER)]


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_packed_texts_have_the_vectors_of_padded_ones(model: PackedModel) -> None:
    table = TokenTable.of_texts(model, TEXTS)
    rows = np.array([2, 0, 1, 0])
    packed = encode_packed(model, table.packed(rows), torch.float32)
    with torch.no_grad():
        assert torch.allclose(packed, table.encode(model, rows), atol=1e-5)


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_gradients_reach_every_matrix_in_half_precision(model: PackedModel) -> None:
    table = TokenTable.of_texts(model, TEXTS)
    vectors = encode_packed(model, table.packed(np.array([0, 1, 2])))
    (vectors @ vectors.T).sum().backward()
    matrices = [weight for weight in model.parameters() if weight.dim() > 1]
    assert all(weight.grad is not None and weight.grad.any() for weight in matrices)
