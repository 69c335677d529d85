from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from taxoexpan.features import sentence_model
from taxoexpan.features.pretrained import PretrainedEncoder
from taxoexpan.features.sentence_model import MAX_TOKENS, SentenceModel, pad
from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder

TEXTS = [
    "red milk",
    "green tea < tea: a drink of tea",
    "tea",
    "a drink of red milk of red",
    "black",
]
LENGTHS = [4, 11, 3, 9, 3]


@pytest.fixture(scope="module", params=["pretrained", "transformer"])
def model(request: pytest.FixtureRequest) -> SentenceModel:
    if request.param == "pretrained":
        return PretrainedEncoder("cpu").model
    tiny: Path = request.getfixturevalue("tiny_transformer")
    return TransformerEncoder(str(tiny), "cpu").copy_model()


@pytest.fixture
def encoded(model: SentenceModel) -> Iterator[list[tuple[int, int]]]:
    """The shape of each block of texts that the model gets."""
    shapes: list[tuple[int, int]] = []

    def note(_: object, arguments: tuple[Tensor, Tensor]) -> None:
        texts, tokens = arguments[0].shape
        shapes.append((texts, tokens))

    hook = model.register_forward_pre_hook(note)
    yield shapes
    hook.remove()


def test_texts_of_several_lengths_are_padded() -> None:
    ids, mask = pad([[5, 6], [7], []])
    assert ids.tolist() == [[5, 6], [7, 0], [0, 0]]
    assert mask.tolist() == [[True, True], [True, False], [False, False]]


def test_neither_padding_nor_order_nor_blocks_change_a_vector(
    model: SentenceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = model.encode(TEXTS)
    assert together.shape == (5, model.dimension)
    torch.testing.assert_close(together.norm(dim=1), torch.ones(5))
    assert (together - together.roll(1, 0)).abs().amax(1).min() > 0.01
    alone = torch.cat([model.encode([text]) for text in TEXTS])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)
    torch.testing.assert_close(model.encode(TEXTS[::-1]).flip(0), together, rtol=0, atol=1e-5)
    monkeypatch.setattr(sentence_model, "CPU_BLOCK", 2)
    torch.testing.assert_close(model.encode(TEXTS), together, rtol=0, atol=1e-5)


def test_texts_are_tokenized_in_blocks(
    model: SentenceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = model.tokenize(TEXTS)
    assert [len(tokens) for tokens in together] == LENGTHS
    monkeypatch.setattr(sentence_model, "TOKENIZER_BLOCK", 2)
    assert model.tokenize(TEXTS) == together


def test_equal_texts_are_encoded_once(model: SentenceModel, encoded: list[tuple[int, int]]) -> None:
    vectors = model.encode(["tea", "red milk", "tea", "red milk", "tea"])
    assert encoded == [(2, 4)]
    assert torch.equal(vectors[[0, 1, 0]], vectors[[2, 3, 4]])
    assert not torch.allclose(vectors[0], vectors[1])


def test_texts_of_similar_length_share_a_block(
    model: SentenceModel, encoded: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentence_model, "CPU_BLOCK", 2)
    model.encode(TEXTS)
    assert encoded == [(2, 3), (2, 9), (1, 11)]


def test_no_texts_give_no_vectors(model: SentenceModel) -> None:
    assert model.encode([]).shape == (0, model.dimension)


def test_encoding_ignores_dropout_and_leaves_the_mode_as_it_was(model: SentenceModel) -> None:
    expected = model.eval().encode(TEXTS)
    assert not model.training
    assert not expected.requires_grad
    assert torch.equal(model.train().encode(TEXTS), expected)
    assert model.training
    dropped = model.encode_blocks(model.tokenize(TEXTS))
    model.eval()
    assert dropped.requires_grad
    assert not torch.allclose(dropped, expected, atol=1e-3)


def test_only_the_first_tokens_of_a_long_text_are_read(model: SentenceModel) -> None:
    words = ["red", "milk"] * 40
    assert len(model.tokenize([" ".join(words)])[0]) == MAX_TOKENS
    same = model.encode([" ".join(words), " ".join(["tea", *words[1:]]), " ".join([*words, "tea"])])
    assert torch.equal(same[0], same[2])
    assert not torch.allclose(same[0], same[1])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_a_gpu_gives_the_same_vectors(model: SentenceModel) -> None:
    expected = model.encode(TEXTS)
    on_gpu = model.to("cuda").encode(TEXTS)
    model.to("cpu")
    assert on_gpu.device.type == "cuda"
    torch.testing.assert_close(on_gpu.cpu(), expected, rtol=0, atol=1e-4)
