"""Tests of the vectors of concepts: stored where they are used, or streamed from the host."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.network import concept_vectors
from taxoexpan.network.concept_vectors import ConceptVectors
from tests.support.small_models import SMALL

NEW = ["quince nectar", "spelt loaf"]
CPU = torch.device("cpu")


@pytest.fixture
def vectors() -> ConceptVectors:
    drawn = torch.randn(2, 9, 5, generator=torch.Generator().manual_seed(0))
    drawn[1, 3:6] = drawn[1, 0]
    return ConceptVectors.of(drawn)


@pytest.fixture
def no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every device look too small for any vectors."""
    monkeypatch.setattr(concept_vectors, "memory_of", lambda _: 1)


def test_vectors_that_fit_are_moved(
    vectors: ConceptVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 4 * 5 * (9 + 6)
    assert vectors.placed(CPU).streamed_to is None
    monkeypatch.setattr(concept_vectors, "memory_of", lambda _: 4 * size)
    assert vectors.placed(CPU).streamed_to is None
    monkeypatch.setattr(concept_vectors, "memory_of", lambda _: 4 * size - 1)
    assert vectors.placed(CPU).streamed_to == CPU


@pytest.mark.usefixtures("no_memory")
def test_streamed_vectors_are_selected_on_the_host(vectors: ConceptVectors) -> None:
    streamed = vectors.placed(CPU)
    chosen = torch.tensor([7, 3, 4, 0])
    moved, known = streamed.select(chosen), vectors.select(chosen)
    assert moved.streamed_to is None
    assert torch.equal(moved.stacked(), known.stacked())
    assert len(moved.heads) == 2
    assert torch.equal(streamed.select_names(chosen), known.names)


@pytest.mark.usefixtures("no_memory")
def test_streamed_vectors_stay_streamed(vectors: ConceptVectors) -> None:
    streamed = vectors.placed(CPU)
    order = torch.arange(8, -1, -1)
    assert streamed.reordered(order).streamed_to == CPU
    assert torch.equal(streamed.reordered(order).stacked(), vectors.stacked().flip(1))
    assert streamed.first(4).streamed_to == CPU
    assert streamed.first(4).names.data_ptr() == streamed.names.data_ptr()
    assert streamed.to(streamed.storage).streamed_to is None


@pytest.mark.slow
def test_a_model_with_streamed_vectors_is_the_same(
    pantry: Path, request: pytest.FixtureRequest
) -> None:
    settings = SMALL | {"epochs": 2}
    taxonomy = read_taxonomy(pantry)
    usual = TaxoExpan("fast", 0, "cpu", **settings).fit(taxonomy)
    request.getfixturevalue("no_memory")
    streamed = TaxoExpan("fast", 0, "cpu", **settings).fit(taxonomy)
    assert usual.history is not None
    assert streamed.history is not None
    losses = [[epoch.loss for epoch in model.history.epochs] for model in (usual, streamed)]
    assert losses[0] == losses[1]
    assert usual.suggest(NEW).flat == streamed.suggest(NEW).flat
