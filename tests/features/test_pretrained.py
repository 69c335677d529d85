from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest
import torch

from taxoexpan.features.pretrained import PretrainedEncoder

ENCODER = PretrainedEncoder("cpu")
NAMES = ["oat milk", "Crème brûlée", "rye bread: a bread made of rye"]


def test_vectors_are_unit_vectors_of_the_model() -> None:
    vectors = ENCODER.encode(NAMES)
    assert vectors.shape == (3, ENCODER.dimension)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(vectors, ENCODER.model.encode(NAMES).numpy(), atol=1e-5)
    assert ENCODER.encode([]).shape == (0, ENCODER.dimension)


def test_a_text_is_near_its_parent() -> None:
    parents = ["milk < dairy product", "bread < baked goods", "fruit < food", "fish < seafood"]
    children = ["buttermilk", "sourdough", "papaya", "halibut"]
    queries, anchors = ENCODER.encode(children), ENCODER.encode(parents)
    assert (queries @ anchors.T).argmax(1).tolist() == [0, 1, 2, 3]


def test_a_text_without_any_known_token_gives_zeros() -> None:
    vectors = ENCODER.encode(["", "tea", " \n", "\N{BILLED CAP}", "tea \N{BILLED CAP}", "[SEP]"])
    assert vectors.any(1).tolist() == [False, True, False, False, True, False]


def test_other_texts_do_not_change_a_vector() -> None:
    texts = [*NAMES, "", *NAMES]
    expected = ENCODER.encode(texts)
    assert np.array_equal(expected[:3], expected[4:])
    single = np.concatenate([ENCODER.encode([text]) for text in texts])
    np.testing.assert_allclose(single, expected, atol=1e-5)


def test_a_copy_that_others_change_leaves_the_encoder_as_it_was() -> None:
    expected, model = ENCODER.encode(NAMES), ENCODER.copy_model()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1.0)
    assert not np.allclose(model.encode(NAMES).numpy(), expected, atol=0.01)
    assert np.array_equal(ENCODER.encode(NAMES), expected)


def test_an_unloaded_model_is_freed_and_loaded_again() -> None:
    encoder = PretrainedEncoder("cpu")
    encoder.unload()  # nothing is loaded yet
    freed = weakref.ref(encoder.model)
    encoder.unload()
    gc.collect()
    assert freed() is None
    assert np.array_equal(encoder.encode(NAMES), ENCODER.encode(NAMES))


@pytest.mark.slow
def test_it_needs_neither_transformers_nor_sentence_transformers() -> None:
    program = """
import sys
from taxoexpan import TaxoExpan

model = TaxoExpan(device="cpu")
assert "pretrained" in model.encoder.name
assert model.encoder.encode(["oat milk"]).any()
model.encoder.part_with_model().copy_model()
print(sorted({"transformers", "sentence_transformers"} & {*sys.modules}))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.stdout, run.returncode) == ("[]\n", 0), run.stderr
