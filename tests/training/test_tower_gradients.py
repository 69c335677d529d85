from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from taxoexpan.features.sentence_model import SentenceModel, Tokens
from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder
from taxoexpan.training.tower import (
    SCALE,
    TowerBatch,
    compute_gradients,
    contrastive_loss,
)
from tests.support.builders import KINDS, SORTS

MakeTower = Callable[[], SentenceModel]
Weights = dict[str, Tensor]


@pytest.fixture(scope="module")
def make_tower(tiny_transformer: Path) -> MakeTower:
    """Return towers with the same weights."""
    encoder = TransformerEncoder(str(tiny_transformer), "cpu")
    return encoder.copy_model


def some_batch(tower: SentenceModel, size: int = 9) -> tuple[list[Tokens], TowerBatch]:
    """Return the tokens of queries and anchors, and a batch with some blocked pairs."""
    names = [f"{sort} {kind}" for kind in KINDS for sort in SORTS][:size]
    anchors = ["food", *(f"{kind} < food" for kind in KINDS)]
    blocked = torch.rand(size, len(anchors), generator=torch.Generator().manual_seed(1)) < 0.3
    positives = torch.arange(size) % len(anchors)
    blocked[torch.arange(size), positives] = False
    batch = TowerBatch(np.arange(size), np.arange(len(anchors)), positives, blocked)
    return tower.tokenize([*names, *anchors]), batch


def gradients(tower: SentenceModel) -> Weights:
    return {n: p.grad.clone() for n, p in tower.named_parameters() if p.grad is not None}


def assert_same_gradients(one: SentenceModel, other: SentenceModel) -> None:
    expected, found = gradients(one), gradients(other)
    assert expected.keys() == found.keys()
    assert max(float(g.abs().max()) for g in expected.values()) > 0.01
    for name, gradient in expected.items():
        assert torch.allclose(found[name], gradient, rtol=1e-5, atol=1e-6), name


@pytest.mark.parametrize("parts", [2, 3, 7, 18])
def test_gradients_in_parts_are_those_of_the_whole_batch(make_tower: MakeTower, parts: int) -> None:
    whole, split = make_tower().eval(), make_tower().eval()
    loss = compute_gradients(whole, *some_batch(whole))
    loss_in_parts = compute_gradients(split, *some_batch(split), parts=parts)
    assert loss_in_parts.item() == pytest.approx(loss.item(), abs=1e-6)
    assert_same_gradients(whole, split)


def test_gradients_are_those_of_the_loss(make_tower: MakeTower) -> None:
    tower, plain = make_tower().eval(), make_tower().eval()
    compute_gradients(tower, *some_batch(tower, 40))  # in two blocks
    texts, batch = some_batch(plain, 40)
    contrastive_loss(
        plain.encode_blocks(texts[:40]), plain.encode_blocks(texts[40:]), batch
    ).backward()
    assert_same_gradients(plain, tower)


def test_blocked_anchors_do_not_count_in_the_loss() -> None:
    generator = torch.Generator().manual_seed(0)
    queries, anchors = (torch.randn(n, 4, generator=generator) for n in (2, 3))
    blocked = torch.tensor([[False, True, False], [False, False, False]])
    batch = TowerBatch(np.arange(2), np.arange(3), torch.tensor([0, 2]), blocked)
    scores = SCALE * queries @ anchors.T
    expected = -(scores[0, [0, 2]].log_softmax(0)[0] + scores[1].log_softmax(0)[2]) / 2
    assert contrastive_loss(queries, anchors, batch).item() == pytest.approx(expected.item())
