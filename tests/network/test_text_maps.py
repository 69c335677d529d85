from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from taxoexpan.network import text_tower
from taxoexpan.network.text_tower import EncodedTexts, TextMaps, text_words, vocabulary_of

TEXTS = ["Green Teas < hot drinks", "tea", "", "tea tea", "rye"]
WORDS = ("<drink", "<hot", "green", "milk", "tea")
CPU = torch.device("cpu")


@pytest.fixture
def maps() -> TextMaps:
    generator = torch.Generator().manual_seed(0)
    matrices = torch.randn(2, 6, 6, generator=generator)
    return TextMaps(*matrices, torch.randn(len(WORDS), 6, generator=generator), WORDS)


def test_words_are_in_the_singular_and_those_of_the_parent_are_words_of_their_own() -> None:
    assert text_words("Green-Teas < hot drinks: of cups") == [
        *("green", "tea", "<hot", "<drink", "<of", "<cup")
    ]


def test_the_most_frequent_words_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert vocabulary_of(TEXTS) == ("<drink", "<hot", "green", "rye", "tea")
    monkeypatch.setattr(text_tower, "MAX_WORDS", 1)
    assert vocabulary_of(TEXTS) == ("tea",)
    assert vocabulary_of([]) == ()


def test_a_text_is_its_mapped_vector_and_its_words(maps: TextMaps) -> None:
    vectors = torch.randn(len(TEXTS), 6, generator=torch.Generator().manual_seed(1))
    texts, row = EncodedTexts.of(TEXTS, vectors, maps.rows), maps.rows
    known = [["green", "tea", "<hot", "<drink"], ["tea"], [], ["tea", "tea"], []]
    for found, matrix in (
        (maps.map_queries(texts), maps.queries),
        (maps.map_anchors(texts), maps.anchors),
    ):
        for vector, words, result in zip(vectors, known, found, strict=True):
            expected = vector @ matrix
            for word in words:
                expected = expected + maps.words[row[word]] / math.sqrt(len(words))
            torch.testing.assert_close(result, expected / expected.norm())
    some = np.array([3, 0, 2])
    torch.testing.assert_close(maps.map_anchors(texts, some), maps.map_anchors(texts)[some])


def test_maps_may_leave_everything_as_it_is() -> None:
    maps = TextMaps.unchanged(WORDS, 6, CPU)
    vectors = torch.nn.functional.normalize(torch.randn(len(TEXTS), 6), dim=1)
    texts = EncodedTexts.of(TEXTS, vectors, maps.rows)
    torch.testing.assert_close(maps.map_queries(texts), vectors)
    torch.testing.assert_close(maps.map_anchors(texts), vectors)


@pytest.mark.parametrize(
    "text",
    [b"tea\ntea\na\nb\nc", b"\xff\na\nb\nc\nd", b"tea"],
    ids=["twice", "bytes", "few"],
)
def test_other_words_are_refused(maps: TextMaps, text: bytes) -> None:
    weights = maps.weights() | {"maps.vocabulary": torch.tensor(list(text), dtype=torch.uint8)}
    with pytest.raises(ValueError, match="the maps of the text encoder are not as expected"):
        TextMaps.from_weights(weights, 6)


@pytest.mark.parametrize("words", [WORDS, ("thé",), ()])
def test_maps_are_restored_from_their_weights(maps: TextMaps, words: tuple[str, ...]) -> None:
    saved = TextMaps(maps.queries, maps.anchors, maps.words[: len(words)], words)
    again = TextMaps.from_weights(saved.weights(), 6)
    assert again.vocabulary == words
    for name in ("queries", "anchors", "words"):
        assert torch.equal(getattr(again, name), getattr(saved, name))
