from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from taxoexpan.network.token_embedding import TokenEmbedding, replace_embeddings


class TwoEmbeddings(nn.Module):
    """Adds the vectors of tokens and of their positions, as transformers do."""

    def __init__(self, padding: int | None = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.tokens = nn.Embedding(50, 6, padding, _weight=torch.randn(50, 6, generator=generator))
        self.inner = nn.ModuleDict({"positions": nn.Embedding(9, 6)})
        nn.init.normal_(self.inner["positions"].weight, generator=generator)

    def forward(self, tokens: Tensor) -> Tensor:
        positions = self.inner["positions"](torch.arange(tokens.shape[1])[None])
        return (self.tokens(tokens) + positions).tanh()


def blocks() -> list[Tensor]:
    """Blocks of texts with many repeated tokens, in which 0 stands for padding."""
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(0, 12, (7, width), generator=generator) for width in (3, 5, 9)]


def gradients(module: nn.Module) -> dict[str, Tensor]:
    torch.cat([module(block).flatten() for block in blocks()]).square().sum().backward()
    return {name: p.grad for name, p in module.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("padding", [0, 3, None])
def test_gradients_equal_those_of_torch_bit_for_bit(padding: int | None) -> None:
    plain = TwoEmbeddings(padding)
    replaced = copy.deepcopy(plain)
    replace_embeddings(replaced)
    expected, found = gradients(plain), gradients(replaced)
    assert found.keys() == expected.keys() == {"tokens.weight", "inner.positions.weight"}
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert (found["tokens.weight"][12:] == 0).all()
    if padding is not None:
        assert (found["tokens.weight"][padding] == 0).all()
    twice = gradients(replaced)  # a second backward pass adds to the first
    assert all(torch.allclose(twice[name], 2 * expected[name]) for name in expected)


def test_the_weights_stay_the_same_parameters() -> None:
    module = TwoEmbeddings()
    before = dict(module.named_parameters())
    values = module(blocks()[0])
    replace_embeddings(module)
    after = dict(module.named_parameters())
    assert list(after) == list(before)
    assert all(after[name] is before[name] for name in before)
    assert isinstance(module.tokens, TokenEmbedding)
    assert isinstance(module.inner["positions"], TokenEmbedding)
    assert torch.equal(module(blocks()[0]), values)


def test_frozen_weights_get_no_gradient() -> None:
    module = TwoEmbeddings()
    replace_embeddings(module)
    module.tokens.weight.requires_grad_(False)
    assert gradients(module).keys() == {"inner.positions.weight"}
    with torch.no_grad():
        assert not module(blocks()[0]).requires_grad


def test_embeddings_with_other_options_are_left_alone() -> None:
    bounded, plain = nn.Embedding(4, 2, max_norm=1.0), nn.Embedding(4, 2)
    module = nn.Sequential(bounded, plain)
    replace_embeddings(module)
    assert module[0] is bounded
    assert module[1] is not plain
