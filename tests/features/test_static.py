from __future__ import annotations

import gc
import logging
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.features.static import StaticEncoder, load_wordllama, sum_tokens

ENCODER = StaticEncoder()


def test_vectors_equal_those_of_wordllama() -> None:
    import wordllama

    theirs = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent)
    names = ["oat milk", "green tea", "graph neural network", "日本酒", "a" * 300]
    expected = theirs.embed(names, norm=True)
    assert np.allclose(ENCODER.encode(names), expected, atol=1e-6)


@given(st.lists(st.text(max_size=40), min_size=1, max_size=8))
@settings(max_examples=50, deadline=None)
def test_vectors_have_unit_length_and_do_not_depend_on_other_texts(texts: list[str]) -> None:
    together = ENCODER.encode(texts)
    for text, vector in zip(texts, together, strict=True):
        assert np.array_equal(vector, ENCODER.encode([text])[0])
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5) or not vector.any()


def test_sums_of_tokens_equal_numpy_sums() -> None:
    rng = np.random.default_rng(0)
    embedding = rng.standard_normal((50, 6), dtype=np.float32)
    counts = rng.integers(1, 30, 200)
    tokens = rng.integers(0, 50, counts.sum())
    starts = np.cumsum(counts) - counts
    expected = np.add.reduceat(embedding[tokens], starts, axis=0)
    found, is_short = sum_tokens(embedding, tokens, counts), counts <= 8
    assert np.array_equal(found[is_short], expected[is_short])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_a_text_without_tokens_is_a_row_of_zeros() -> None:
    assert not ENCODER.encode([""]).any()
    assert ENCODER.encode([]).shape == (0, 256)


def test_the_logging_of_the_application_is_not_changed() -> None:
    program = (
        "import logging; from taxoexpan.features.static import StaticEncoder; "
        "StaticEncoder().encode(['tea']); print(logging.root.handlers, logging.root.level)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"[] {logging.WARNING}"


def test_unloaded_word_vectors_are_freed_and_loaded_again() -> None:
    encoder = StaticEncoder()
    expected = encoder.encode(["oat milk"])
    freed = weakref.ref(load_wordllama().embedding)
    encoder.unload()
    gc.collect()
    assert freed() is None
    assert np.array_equal(encoder.encode(["oat milk"]), expected)
