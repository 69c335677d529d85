from __future__ import annotations

import warnings

import numpy as np
import pytest

from taxoexpan.features import embedding
from taxoexpan.features.embedding import embed_concepts, head_word, warn_of_wordless
from taxoexpan.features.static import StaticEncoder
from taxoexpan.taxonomy import Concept

ENCODER = StaticEncoder()


def test_names_and_definition_are_added() -> None:
    plain, defined = Concept("1", "skyr"), Concept("2", "skyr", (), "a thick yogurt")
    name, text = ENCODER.encode(["skyr", "a thick yogurt"])
    both = embed_concepts(ENCODER, [plain, defined])[0]
    assert np.allclose(both[0], name, atol=1e-6)
    total = name + text
    assert np.allclose(both[1], total / np.linalg.norm(total), atol=1e-6)


@pytest.mark.parametrize("weights", [(1.0, 2.0), (3.0, 0.5), (0.0, 1.0), (1.0, 0.0)])
def test_name_and_definition_are_weighted(weights: tuple[float, float]) -> None:
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


def test_the_second_vector_is_the_head_word() -> None:
    vectors = embed_concepts(ENCODER, [Concept("1", "oat milk"), Concept("2", "milk")])
    assert np.allclose(vectors[1, 0], vectors[1, 1], atol=1e-6)
    assert head_word(" ") == ""


def test_a_name_and_its_definition_can_be_encoded_as_one_text() -> None:
    encoder = StaticEncoder()
    concepts = [Concept("a", "oak", ("oak tree",), "a tree"), Concept("b", "elm", ("elm tree",))]
    joined = embed_concepts(encoder, concepts, name_weight=3.0, joined=True)
    separate = embed_concepts(encoder, concepts)
    np.testing.assert_allclose(joined[0, 0], encoder.encode(["oak: a tree"])[0], rtol=1e-6)
    np.testing.assert_array_equal(joined[0, 1], separate[0, 1])
    np.testing.assert_array_equal(joined[1], separate[1])


@pytest.mark.parametrize("joined", [False, True])
def test_blocks_of_any_size_give_the_same_vectors(
    joined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    concepts = [
        Concept(str(i), f"tea {i}", ("brew", "cup")[: i % 3], "a drink" * (i % 2))
        for i in range(11)
    ]
    whole = embed_concepts(ENCODER, concepts, 2.0, 1.0, joined)
    for size in (1, 4, 5):
        monkeypatch.setattr(embedding, "BLOCK_SIZE", size)
        in_blocks = embed_concepts(ENCODER, iter(concepts), 2.0, 1.0, joined)
        np.testing.assert_allclose(in_blocks, whole, atol=1e-6)


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (["\N{EM DASH}", "tea"], "'\N{EM DASH}' has no letter or digit; "),
        (
            ["!", "tea", "\N{SLICE OF PIZZA}"],
            "'!' and '\N{SLICE OF PIZZA}' have no letter or digit; ",
        ),
        (["+"] * 7, "'+', '+', '+', '+', '+' and 2 others have no letter or digit; "),
    ],
)
def test_labels_without_words_are_named_in_one_warning(labels: list[str], named: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_wordless([Concept("", label) for label in labels])
    assert len(caught) == 1
    assert str(caught[0].message).startswith(named)


def test_words_of_any_script_digits_and_definitions_are_enough() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        concepts = [Concept("", label) for label in ("茶", "чай", "7", "\N{SUPERSCRIPT TWO}")]
        pizza = Concept("", "\N{SLICE OF PIZZA}", (), "a flat bread with cheese")
        warn_of_wordless([*concepts, pizza, Concept("", "+", ("plus",))])
