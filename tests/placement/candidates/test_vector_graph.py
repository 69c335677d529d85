from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from taxoexpan.placement.candidates.vector_graph import (
    HEADER_SIZE,
    ITEM_SIZES,
    VectorGraph,
)

faiss: Any = pytest.importorskip("faiss")

VECTORS = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)


def changed_graph(part: str, place: int, value: int) -> np.ndarray:
    """Return a stored graph with one number changed; a place of -1 is a new last number."""
    index = faiss.deserialize_index(VectorGraph(VECTORS).stored(), 1)
    numbers = faiss.vector_to_array(getattr(index.hnsw, part))
    if place < 0:
        numbers = np.append(numbers, numbers[:1])
    numbers[place] = value
    faiss.copy_array_to_vector(numbers, getattr(index.hnsw, part))
    return np.asarray(faiss.serialize_index(index, 1))


def test_the_links_of_a_graph_may_lead_to_the_first_and_the_last_vector() -> None:
    for value in (-1, 0, len(VECTORS) - 1):
        graph = VectorGraph(VECTORS, changed_graph("neighbors", 0, value))
        assert graph.search(VECTORS[:5], 3, 50).max() < len(VECTORS)


@pytest.mark.parametrize(
    ("part", "place", "value"),
    [
        ("neighbors", 0, len(VECTORS)),
        ("neighbors", 0, -2),
        ("neighbors", -1, 0),
        ("offsets", 1, 31),
        ("offsets", -1, 0),
        ("levels", 0, 0),
        ("levels", 0, 100),
        ("levels", -1, 1),
        ("cum_nneighbor_per_level", 0, 1),
        ("cum_nneighbor_per_level", 1, 1_000_000),
    ],
)
def test_a_graph_with_a_wrong_number_is_refused(part: str, place: int, value: int) -> None:
    with pytest.raises((ValueError, RuntimeError)):
        VectorGraph(VECTORS, changed_graph(part, place, value))


def test_a_link_to_a_vector_of_a_lower_level_is_refused() -> None:
    index = faiss.deserialize_index(VectorGraph(VECTORS).stored(), 1)
    levels, offsets, widths = (
        faiss.vector_to_array(getattr(index.hnsw, part))
        for part in ("levels", "offsets", "cum_nneighbor_per_level")
    )
    lower, upper = np.flatnonzero(levels == 1), np.flatnonzero(levels == 2)
    first_upper_link = int(offsets[upper[0]]) + int(widths[1])
    VectorGraph(VECTORS, changed_graph("neighbors", first_upper_link, int(upper[1])))
    with pytest.raises(ValueError, match="links to nowhere"):
        VectorGraph(VECTORS, changed_graph("neighbors", first_upper_link, int(lower[0])))


@pytest.mark.parametrize("entry", [-1, len(VECTORS)])
def test_an_entry_that_is_no_vector_is_refused(entry: int) -> None:
    index = faiss.deserialize_index(VectorGraph(VECTORS).stored(), 1)
    index.hnsw.entry_point = entry
    with pytest.raises((ValueError, RuntimeError)):
        VectorGraph(VECTORS, np.asarray(faiss.serialize_index(index, 1)))


def test_an_entry_below_the_highest_level_is_refused() -> None:
    index = faiss.deserialize_index(VectorGraph(VECTORS).stored(), 1)
    levels = faiss.vector_to_array(index.hnsw.levels)
    index.hnsw.entry_point = int(levels.argmin())
    with pytest.raises(ValueError, match="links to nowhere"):
        VectorGraph(VECTORS, np.asarray(faiss.serialize_index(index, 1)))


def test_an_index_of_another_kind_is_refused() -> None:
    flat, distances = faiss.IndexFlatIP(4), faiss.IndexHNSWFlat(4, 16)
    untrained = faiss.deserialize_index(VectorGraph(VECTORS).stored(), 1)
    untrained.is_trained = False
    for index in (flat, distances):
        index.add(VECTORS)
    for index, message in (
        (flat, "it is no graph of faiss"),
        (distances, "other than by inner products"),
        (untrained, "other than by inner products"),
    ):
        with pytest.raises(ValueError, match=message):
            VectorGraph(VECTORS, np.asarray(faiss.serialize_index(index, 1)))


def test_a_graph_that_is_shorter_than_it_says_is_refused_before_memory_is_reserved() -> None:
    stored = VectorGraph(VECTORS).stored()
    place = HEADER_SIZE
    for item_size in ITEM_SIZES:
        length = int.from_bytes(stored[place : place + 8].tobytes(), "little")
        wrong = stored.copy()
        wrong[place + 4] = 1  # 2 ** 32 more numbers
        with pytest.raises(ValueError, match="the graph is cut off"):
            VectorGraph(VECTORS, wrong)
        place += 8 + length * item_size
    with pytest.raises(ValueError, match="the graph is cut off"):
        VectorGraph(VECTORS, stored[: place - 1])
