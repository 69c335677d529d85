from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder
from taxoexpan.network import text_tower
from taxoexpan.network.text_tower import (
    TextTower,
    TokenEmbedding,
    anchor_texts,
    query_text,
    replace_embeddings,
)
from taxoexpan.taxonomy import Concept, Taxonomy

TEXTS = ["oat milk", "green tea < tea: a drink of tea", "tea", "a drink of oat milk of oat", "rye"]


@pytest.fixture
def tower(tiny_transformer: Path) -> TextTower:
    return TextTower(TransformerEncoder(str(tiny_transformer), "cpu").copy_model())


@pytest.fixture
def encoded(tower: TextTower, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of texts in each block that the transformer gets."""
    sizes: list[int] = []
    forward = tower.transformer.forward

    def count(inputs: dict[str, Tensor], **options: object) -> dict[str, Tensor]:
        sizes.append(len(inputs["input_ids"]))
        outputs: dict[str, Tensor] = forward(inputs, **options)
        return outputs

    monkeypatch.setattr(tower.transformer, "forward", count)
    return sizes


def test_a_query_is_described_by_its_label_and_definition() -> None:
    assert query_text(Concept("1", "oat milk", ("oat drink",), "a drink")) == "oat milk: a drink"
    assert query_text(Concept("1", "oat milk", ("oat drink",))) == "oat milk"


def test_an_anchor_is_described_by_its_first_parent_too_but_not_by_its_children() -> None:
    concepts = [
        Concept("f", "food"),
        Concept("d", "drink", definition="a liquid"),
        Concept("m", "milk", definition="white"),
        Concept("o", "oat milk"),
    ]
    relations = [("f", "d"), ("f", "m"), ("d", "m"), ("m", "o")]
    texts = anchor_texts(Taxonomy(concepts, relations))
    assert texts == ["food", "drink < food: a liquid", "milk < food: white", "oat milk < milk"]
    assert anchor_texts(Taxonomy(concepts[:3], relations[:3])) == texts[:3]


def test_vectors_are_those_of_the_sentence_transformer_at_unit_length(tower: TextTower) -> None:
    expected = tower.transformer.encode(
        TEXTS, convert_to_tensor=True, normalize_embeddings=True, show_progress_bar=False
    )
    vectors = tower.encode(TEXTS)
    assert torch.allclose(vectors, expected, atol=1e-5)
    assert torch.allclose(vectors.norm(dim=1), torch.ones(len(TEXTS)), atol=1e-6)


def test_neither_padding_nor_order_nor_blocks_change_a_vector(
    tower: TextTower, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = tower.encode(TEXTS)
    alone = torch.cat([tower.encode([text]) for text in TEXTS])
    assert torch.allclose(together, alone, rtol=0, atol=1e-5)
    assert (together - together.roll(1, 0)).abs().amax(1).min() > 0.01
    assert torch.allclose(tower.encode(TEXTS[::-1]).flip(0), together, rtol=0, atol=1e-5)
    monkeypatch.setattr(text_tower, "CPU_BLOCK", 2)
    assert torch.allclose(tower.encode(TEXTS), together, rtol=0, atol=1e-5)


def test_texts_are_tokenized_in_blocks(tower: TextTower, monkeypatch: pytest.MonkeyPatch) -> None:
    together = tower.tokenize(TEXTS)
    monkeypatch.setattr(text_tower, "TOKENIZER_BLOCK", 2)
    assert tower.tokenize(TEXTS) == together
    assert [len(tokens) for tokens in together] == [4, 11, 3, 9, 3]


def test_equal_texts_are_encoded_once(tower: TextTower, encoded: list[int]) -> None:
    vectors = tower.encode(["tea", "oat milk", "tea", "oat milk", "tea"])
    assert sum(encoded) == 2
    assert torch.equal(vectors[[0, 1]], vectors[[2, 3]])
    assert torch.equal(vectors[0], vectors[4])
    assert not torch.allclose(vectors[0], vectors[1])


def test_texts_of_similar_length_share_a_block(
    tower: TextTower, encoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_tower, "CPU_BLOCK", 2)
    tower.encode(TEXTS)
    assert encoded == [2, 2, 1]


def test_no_texts_give_no_vectors(tower: TextTower) -> None:
    assert tower.encode([]).shape == (0, 16)


def test_encoding_ignores_dropout_and_leaves_the_mode_as_it_was(tower: TextTower) -> None:
    tower.eval()
    expected = tower.encode(TEXTS)
    assert not tower.training
    tower.train()
    assert torch.equal(tower.encode(TEXTS), expected)
    assert tower.training
    assert not torch.allclose(tower(tower.tokenize(TEXTS)), expected)


def test_only_the_first_tokens_of_a_long_text_are_read(tower: TextTower) -> None:
    words = ["oat", "milk"] * 40
    assert len(tower.tokenize([" ".join(words)])[0]) == text_tower.MAX_TOKENS
    same = tower.encode([" ".join(words), " ".join(["tea", *words[1:]]), " ".join([*words, "tea"])])
    assert torch.equal(same[0], same[2])
    assert not torch.allclose(same[0], same[1])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_a_gpu_gives_the_same_vectors(tower: TextTower) -> None:
    expected = tower.encode(TEXTS)
    on_gpu = tower.to("cuda").encode(TEXTS)
    assert on_gpu.device.type == "cuda"
    assert torch.allclose(on_gpu.cpu(), expected, rtol=0, atol=1e-4)


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
