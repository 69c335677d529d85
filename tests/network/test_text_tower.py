from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder
from taxoexpan.network.text_tower import (
    EncodedTexts,
    KnownVectors,
    TextMaps,
    TextTower,
    anchor_texts,
    query_text,
    round_tuned_weights,
)
from taxoexpan.taxonomy import Concept, Taxonomy

TEXTS = ["oat milk", "green tea < tea: a drink of tea", "tea", "rye"]
TEAS = Taxonomy(
    [
        Concept("d", "drink"),
        Concept("t", "tea", definition="of leaves"),
        Concept("g", "green tea", definition="a drink of tea"),
        Concept("r", "rooibos"),
    ],
    [("d", "t"), ("t", "g"), ("d", "g"), ("t", "r")],
)
READ = ["drink", "tea < drink: of leaves", "green tea < tea: a drink of tea", "rooibos < tea"]
"""The texts of these anchors."""
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def encoder(tiny_transformer: Path) -> TransformerEncoder:
    return TransformerEncoder(str(tiny_transformer), "cpu")


@pytest.fixture
def tower(encoder: TransformerEncoder) -> TextTower:
    """A tower with changed weights and random maps."""
    generator, tuned = torch.Generator().manual_seed(0), encoder.copy_model()
    for weight in tuned.parameters():
        weight.data += 0.3 * torch.randn(weight.shape, generator=generator)
    matrices = torch.randn(2, tuned.dimension, tuned.dimension, generator=generator)
    round_tuned_weights(tuned)
    maps = TextMaps(
        *matrices, torch.randn(2, tuned.dimension, generator=generator), ("<tea", "tea")
    )
    return TextTower(encoder, CPU, tuned, maps)


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


@pytest.mark.slow
def test_a_tower_that_has_learned_nothing_gives_the_vectors_of_the_encoder(
    encoder: TransformerEncoder,
) -> None:
    tower = TextTower(encoder, CPU)
    expected = torch.from_numpy(encoder.encode(TEXTS))
    for encode in (tower.encode, tower.encode_queries):
        assert torch.equal(encode(TEXTS), expected)
        assert encode([]).shape == (0, tower.dimension) == (0, 16)
    assert tower.weights() == {}


def test_maps_change_the_vectors_of_queries_and_of_anchors(tower: TextTower) -> None:
    assert tower.tuned is not None
    assert tower.maps is not None
    maps = tower.maps
    for texts, found, map_texts in (
        (TEXTS, tower.encode_queries(TEXTS), maps.map_queries),
        (READ, tower.encode_anchors(TEAS), maps.map_anchors),
    ):
        vectors = tower.tuned.encode(texts)
        assert torch.equal(tower.encode(texts), vectors)
        assert torch.equal(found, map_texts(EncodedTexts.of(texts, vectors, maps.rows)))


@pytest.mark.parametrize("composes", [False, True])
def test_an_anchor_is_read_with_its_parent_or_composed_of_two_vectors(
    encoder: TransformerEncoder, composes: bool
) -> None:
    tower = TextTower(encoder, CPU, composes=composes)
    expected = tower.encode(READ)
    if composes:
        own = tower.encode([query_text(concept) for concept in TEAS.concepts])
        parents = tower.encode(["drink", "drink", "tea", "tea"])  # a root is its own parent
        expected = nn.functional.normalize(own + 0.5 * parents, dim=1)
    texts, vectors = tower.describe_anchors(TEAS)
    assert texts == READ
    assert torch.equal(vectors, expected)
    some = np.array([3, 1])
    texts, vectors = tower.describe_anchors(TEAS, some)
    assert texts == [READ[3], READ[1]]
    torch.testing.assert_close(vectors, expected[some])
    torch.testing.assert_close(tower.encode_anchors(TEAS), expected)


def test_a_fine_tuned_tower_reads_its_anchors(tower: TextTower) -> None:
    read = tower.encode_anchors(TEAS)
    assert torch.equal(replace(tower, composes=True).encode_anchors(TEAS), read)


def test_known_vectors_are_not_computed_again(tower: TextTower) -> None:
    assert tower.tuned is not None
    known = KnownVectors()
    first = known.encode(tower.tuned, [TEXTS[0], TEXTS[1], TEXTS[0]])
    torch.testing.assert_close(first, tower.tuned.encode([TEXTS[0], TEXTS[1], TEXTS[0]]))
    for weight in tower.tuned.parameters():
        weight.data.zero_()
    again = known.encode(tower.tuned, [TEXTS[2], TEXTS[1]])
    assert torch.equal(again[1], first[1])
    assert not torch.equal(again[0], first[0])


def test_a_vector_of_zeros_stays_zero(tower: TextTower) -> None:
    mapped = replace(tower, tuned=None)
    assert not mapped.encode_queries([""]).any()
    assert not mapped.encode_anchors(Taxonomy([Concept("1", "")], [])).any()


@pytest.mark.parametrize("kept", [("tuned", "maps"), ("tuned",), ("maps",), ()])
def test_a_tower_is_restored_from_its_weights(tower: TextTower, kept: tuple[str, ...]) -> None:
    plain = TextTower(tower.encoder, CPU)
    learned = replace(plain, **{name: getattr(tower, name) for name in kept})
    again = plain.with_weights(learned.weights(), 4)
    assert (again.tuned is None, again.maps is None) == ("tuned" not in kept, "maps" not in kept)
    assert torch.equal(again.encode_queries(TEXTS), learned.encode_queries(TEXTS))
    assert torch.equal(again.encode_anchors(TEAS), learned.encode_anchors(TEAS))
    assert again.weights().keys() == learned.weights().keys()


@pytest.mark.parametrize("change", ["missing", "unknown", "shape"])
@pytest.mark.parametrize("part", [0, -1], ids=["tuned", "maps"])
def test_weights_of_another_tower_are_refused(tower: TextTower, part: int, change: str) -> None:
    weights = tower.weights()
    name = [*weights][part]
    weight = weights[name] if change == "unknown" else weights.pop(name)
    if change == "unknown":
        weights[f"{name}.other"] = weight
    elif change == "shape":
        weights[name] = weight[:1]
    with pytest.raises((KeyError, ValueError, RuntimeError)):
        TextTower(tower.encoder, CPU).with_weights(weights, 4)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_a_gpu_gives_the_same_vectors(tower: TextTower) -> None:
    expected = tower.encode_queries(TEXTS)
    on_gpu = tower.to(torch.device("cuda")).encode_queries(TEXTS)
    assert on_gpu.device.type == "cuda"
    torch.testing.assert_close(on_gpu.cpu(), expected, rtol=0, atol=1e-4)
