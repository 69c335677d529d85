from __future__ import annotations

import copy

import pytest
import torch

from taxoexpan.features import kept_states
from taxoexpan.features.layers import Transformer
from taxoexpan.features.pretrained import PretrainedEncoder

TEXTS = ["red milk", "green tea < tea: a drink of tea", "tea", "a drink of red milk of red"]
OTHERS = ["black tea", "tea", "a bread made of rye"]
ENCODER = PretrainedEncoder("cpu")
LAYERS = ENCODER.model.size.layers


@pytest.fixture
def model() -> Transformer:
    """A copy of the small encoder, of which two layers may be tuned."""
    model = ENCODER.copy_model()
    model.freeze_lower_layers(2)
    return model


def count_texts(model: Transformer, layer: int) -> list[int]:
    """Return a list that will have the number of texts whenever a layer is run."""
    counts: list[int] = []
    model.layers[layer].register_forward_pre_hook(lambda _, given: counts.append(len(given[0])))
    return counts


def test_as_many_upper_layers_are_tuned_as_is_said(model: Transformer) -> None:
    for wanted, tuned in ((1, 1), (4, 4), (LAYERS, LAYERS), (LAYERS + 5, LAYERS)):
        weights = {id(weight) for weight in model.freeze_lower_layers(wanted)}
        names = {name for name, weight in model.named_parameters() if id(weight) in weights}
        layers = {name.split(".")[1] for name in names if name.startswith("layers.")}
        assert layers == {str(number) for number in range(LAYERS - tuned, LAYERS)}
        assert all(name.startswith("layers.") for name in names)


def test_vectors_do_not_depend_on_which_states_are_kept(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = model.tokenize([*TEXTS, *OTHERS])
    expected = model.encode_tokens(tokens)
    for kept in (tokens, tokens[:3], tokens[4:]):
        model.drop_states()
        model.keep_states(kept)
        torch.testing.assert_close(model.encode_tokens(tokens), expected, rtol=0, atol=1e-5)
    model.drop_states()
    monkeypatch.setattr(kept_states, "MAX_BYTES", 1)
    model.keep_states(tokens)
    assert torch.equal(model.encode_tokens(tokens), expected)


def test_gradients_do_not_depend_on_which_states_are_kept(model: Transformer) -> None:
    gradients = []
    tokens = model.tokenize(TEXTS)
    for kept in ([], tokens, tokens[:2]):
        model.drop_states()
        model.keep_states(kept)
        model.zero_grad()
        weights = torch.linspace(-1, 1, model.dimension)
        (model.encode_blocks(tokens) @ weights).sum().backward()
        found = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
        assert {int(name.split(".")[1]) for name in found} == {LAYERS - 2, LAYERS - 1}
        gradients.append(found)
    for found in gradients[1:]:
        for name, gradient in gradients[0].items():
            torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-5)


def test_the_frozen_layers_read_each_text_once(model: Transformer) -> None:
    lowest = count_texts(model, 0)
    highest = count_texts(model, LAYERS - 1)
    model.keep_states(model.tokenize([*TEXTS, *TEXTS]))
    model.keep_states(model.tokenize(TEXTS))
    model.encode(TEXTS)
    model.encode_blocks(model.tokenize(TEXTS))
    assert (lowest, highest) == ([4], [4, 4])
    model.encode([*OTHERS, "tea"])
    assert (lowest, highest) == ([4, 2], [4, 4, 3])


def test_a_copy_has_the_kept_states_and_may_drop_them(model: Transformer) -> None:
    model.keep_states(model.tokenize(TEXTS))
    other = copy.deepcopy(model)
    lowest = count_texts(other, 0)
    other.encode(TEXTS)
    other.drop_states()
    assert lowest == []
    other.encode(TEXTS)
    assert lowest == [4]
    lowest = count_texts(model, 0)
    model.encode(TEXTS)
    assert lowest == []


def test_states_are_dropped_if_other_layers_are_tuned(model: Transformer) -> None:
    expected = model.encode(TEXTS)
    model.keep_states(model.tokenize(TEXTS))
    model.freeze_lower_layers(3)
    torch.testing.assert_close(model.encode(TEXTS), expected, rtol=0, atol=1e-5)


def test_the_same_texts_give_the_same_states(model: Transformer) -> None:
    """So a resumed fine-tuning is bit-identical, whatever was encoded before."""
    other = copy.deepcopy(model)
    other.drop_states()
    model.keep_states(model.tokenize([*TEXTS, *OTHERS]))
    other.encode(OTHERS)
    other.keep_states(other.tokenize([*TEXTS, *OTHERS]))
    assert torch.equal(model.encode(TEXTS), other.encode(TEXTS))


def test_the_memory_of_the_states_is_bounded(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = model.tokenize([f"{text} {number}" for text in TEXTS for number in range(50)])
    model.keep_states(tokens)
    states = [model.kept.get(each) for each in tokens]
    needed = sum(each.nbytes for each in states if each is not None)
    assert all(each is not None for each in states)
    assert needed <= model.kept.bytes < 1.1 * needed
    model.drop_states()
    monkeypatch.setattr(kept_states, "MAX_BYTES", needed // 2)
    model.keep_states(tokens)
    assert 0 < model.kept.bytes <= needed // 2
    lowest = count_texts(model, 0)
    model.encode_tokens(tokens)
    assert sum(lowest) == len(tokens) - len(model.kept)


def test_the_encoder_uses_the_states_until_it_is_unloaded() -> None:
    encoder = PretrainedEncoder("cpu")
    expected = encoder.encode(TEXTS)
    encoder.keep_states([*TEXTS, *OTHERS], 2)
    lowest = count_texts(encoder.model, 0)
    copied = count_texts(model := encoder.copy_model(), 0)
    torch.testing.assert_close(
        torch.from_numpy(encoder.encode(TEXTS)), torch.from_numpy(expected), rtol=0, atol=1e-5
    )
    model.encode(TEXTS)
    assert lowest == copied == []
    encoder.unload()
    assert len(encoder.model.kept) == 0
