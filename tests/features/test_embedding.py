from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.features.embedding import embed_concepts, head_word
from taxoexpan.features.static import StaticEncoder
from taxoexpan.taxonomy import Concept

ENCODER = StaticEncoder()


def test_vectors_are_wordllamas_own() -> None:
    import wordllama

    theirs = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent)
    names = ["oat milk", "green tea", "graph neural network", "日本酒", "a" * 300]
    expected = theirs.embed(names, norm=True)
    assert np.allclose(ENCODER.encode(names), expected, atol=1e-6)


@given(st.lists(st.text(max_size=40), min_size=1, max_size=8))
@settings(max_examples=50, deadline=None)
def test_vectors_have_unit_length_and_do_not_depend_on_their_neighbours(texts: list[str]) -> None:
    together = ENCODER.encode(texts)
    for text, vector in zip(texts, together, strict=True):
        assert np.array_equal(vector, ENCODER.encode([text])[0])
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5) or not vector.any()


def test_case_does_not_matter() -> None:
    one, other = ENCODER.encode(["Oat Milk", "oat milk"])
    assert np.array_equal(one, other)


def test_a_text_without_tokens_is_a_row_of_zeros() -> None:
    assert not ENCODER.encode([""]).any()
    assert ENCODER.encode([]).shape == (0, 256)


def test_names_and_definition_are_summed() -> None:
    plain, defined = Concept("1", "skyr"), Concept("2", "skyr", (), "a thick yogurt")
    name, text = ENCODER.encode(["skyr", "a thick yogurt"])
    both = embed_concepts(ENCODER, [plain, defined])[0]
    assert np.allclose(both[0], name, atol=1e-6)
    total = name + text
    assert np.allclose(both[1], total / np.linalg.norm(total), atol=1e-6)


@pytest.mark.parametrize("weights", [(1.0, 2.0), (3.0, 0.5), (0.0, 1.0), (1.0, 0.0)])
def test_name_and_definition_have_their_weights(weights: tuple[float, float]) -> None:
    plain, defined = Concept("1", "skyr"), Concept("2", "skyr", (), "a thick yogurt")
    name, text = ENCODER.encode(["skyr", "a thick yogurt"])
    both = embed_concepts(ENCODER, [plain, defined], *weights)[0]
    assert np.allclose(both[0], name, atol=1e-6)
    total = weights[0] * name + weights[1] * text
    assert np.allclose(both[1], total / np.linalg.norm(total), atol=1e-6)


def test_synonyms_are_averaged_with_the_label() -> None:
    concept = Concept("1", "pop", ("soda water", "fizzy drink"))
    total = ENCODER.encode(["pop", "soda water", "fizzy drink"]).sum(0)
    assert np.allclose(
        embed_concepts(ENCODER, [concept])[0, 0], total / np.linalg.norm(total), atol=1e-6
    )


def test_the_second_vector_is_that_of_the_head_word() -> None:
    vectors = embed_concepts(ENCODER, [Concept("1", "oat milk"), Concept("2", "milk")])
    assert np.allclose(vectors[1, 0], vectors[1, 1], atol=1e-6)
    assert head_word(" ") == ""


def test_the_applications_logging_is_left_alone() -> None:
    program = (
        "import logging; from taxoexpan.features.static import StaticEncoder; "
        "StaticEncoder().encode(['tea']); print(logging.root.handlers, logging.root.level)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"[] {logging.WARNING}"


def test_a_name_and_its_definition_may_be_one_text() -> None:
    encoder = StaticEncoder()
    concepts = [Concept("a", "oak", ("oak tree",), "a tree"), Concept("b", "elm", ("elm tree",))]
    joined = embed_concepts(encoder, concepts, name_weight=3.0, joined=True)
    apart = embed_concepts(encoder, concepts)
    np.testing.assert_allclose(joined[0, 0], encoder.encode(["oak: a tree"])[0], rtol=1e-6)
    np.testing.assert_array_equal(joined[0, 1], apart[0, 1])
    np.testing.assert_array_equal(joined[1], apart[1])
