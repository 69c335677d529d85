"""Graphs that find the vectors with the highest inner products, by faiss (HNSW)."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.arrays import Indices

LINKS = 16
"""Neighbors of each vector in the graph."""
BUILD_EFFORT = 64
"""Candidates that are considered while a vector is linked."""
SKIP_VECTORS = 1
"""The flag of faiss with which a graph is stored without its vectors."""
FIRST_BYTES = b"IHNf"
"""The first bytes of a stored graph; faiss would also read indices of other kinds."""
HEADER_SIZE, ITEM_SIZES = 37, (8, 4, 4, 8, 4)
"""The bytes before the five arrays of a stored graph, and the bytes of each number in these."""

Vectors = NDArray[np.float32]


def has_faiss() -> bool:
    """Return whether the extra `ann` is installed."""
    return find_spec("faiss") is not None


class VectorGraph:
    """Finds the rows of a matrix [N, D] with the highest inner products with a query.

    The mean of the rows is subtracted: this changes no order, and the graph finds more.
    """

    def __init__(self, vectors: Vectors, stored: NDArray[np.uint8] | None = None) -> None:
        import faiss

        centered = np.ascontiguousarray(vectors - vectors.mean(axis=0), dtype=np.float32)
        if stored is None:
            self._index: Any = faiss.IndexHNSWFlat(
                vectors.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT
            )
            self._index.hnsw.efConstruction = BUILD_EFFORT
            self._index.add(centered)
            return
        self._index = _restored(stored, *vectors.shape)
        self._storage = faiss.IndexFlatIP(vectors.shape[1])
        self._storage.add(centered)
        self._index.storage, self._index.own_fields = self._storage, False

    def stored(self) -> NDArray[np.uint8]:
        """Return the graph as bytes, without the vectors."""
        import faiss

        return np.asarray(faiss.serialize_index(self._index, SKIP_VECTORS))

    def search(self, queries: Vectors, count: int, effort: int) -> Indices:
        """Return the best rows of each query, or -1 where fewer were found: [Q, count].

        `effort` is the number of vectors that are kept in view during the search.
        """
        faiss: Any = import_module("faiss")  # its types lack the parameters
        parameters = faiss.SearchParametersHNSW(efSearch=max(effort, count))
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        return np.asarray(self._index.search(queries, count, params=parameters)[1])


def _restored(stored: NDArray[np.uint8], count: int, dimension: int) -> Any:
    """Return a stored graph of `count` vectors; a damaged one is a ValueError or a RuntimeError.

    Faiss follows the links of a graph without a check, so they are checked here.
    """
    import faiss

    if stored[: len(FIRST_BYTES)].tobytes() != FIRST_BYTES:
        raise ValueError("it is no graph of faiss")
    if not _holds_its_arrays(stored):
        raise ValueError("the graph is cut off")
    index: Any = faiss.deserialize_index(stored, SKIP_VECTORS)
    if index.ntotal != count or index.d != dimension:
        raise ValueError(f"the graph has {index.ntotal} vectors, not {count}")
    if index.metric_type != faiss.METRIC_INNER_PRODUCT or not index.is_trained:
        raise ValueError("the graph compares other than by inner products")
    graph = index.hnsw
    parts = ("neighbors", "offsets", "levels", "cum_nneighbor_per_level")
    arrays = [faiss.vector_to_array(getattr(graph, part)) for part in parts]
    entry, highest = int(graph.entry_point), int(graph.max_level)
    if not _has_valid_links(*arrays, count=count, entry=entry, highest=highest):
        raise ValueError("the graph has links to nowhere")
    return index


def _holds_its_arrays(stored: NDArray[np.uint8]) -> bool:
    """Return whether the arrays of a stored graph are as long as it says.

    Faiss reserves the memory first: a wrong length of a small file can take all memory.
    """
    place = HEADER_SIZE
    for item_size in ITEM_SIZES:
        length = int.from_bytes(stored[place : place + 8].tobytes(), "little")
        place += 8 + length * item_size
        if place > len(stored):
            return False
    return True


def _has_valid_links(
    neighbors: NDArray[np.int32],
    offsets: NDArray[np.uint64],
    levels: NDArray[np.int32],
    widths: NDArray[np.int32],
    *,
    count: int,
    entry: int,
    highest: int,
) -> bool:
    """Return whether every link of a level leads to a vector of the same level, or nowhere (-1).

    A vector with `levels` L is on the levels 0 to L - 1. Its links on level l are those from
    `widths[l]` up to `widths[l + 1]`, counted from its offset.
    """
    if len(levels) != count or len(offsets) != count + 1 or not len(widths) or not count:
        return False
    if levels.min() < 1 or levels.max() >= len(widths) or levels.max() - 1 != highest:
        return False
    if widths[0] != 0 or (np.diff(widths) < 0).any() or not 0 <= entry < count:
        return False
    starts = np.concatenate([[0], np.cumsum(widths[levels], dtype=np.int64)])
    if not np.array_equal(starts, offsets) or len(neighbors) != starts[-1]:
        return False
    if levels[entry] - 1 != highest or neighbors.min(initial=-1) < -1:
        return False
    if neighbors.max(initial=-1) >= count:
        return False
    for level in range(1, highest + 1):
        begin = starts[:-1][levels > level] + widths[level]
        linked = neighbors[begin[:, None] + np.arange(widths[level + 1] - widths[level])]
        if (levels[linked[linked >= 0]] <= level).any():
            return False
    return True
