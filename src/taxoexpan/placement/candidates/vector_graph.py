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
        self._index = faiss.deserialize_index(stored, SKIP_VECTORS)
        if self._index.ntotal != len(vectors) or self._index.d != vectors.shape[1]:
            raise ValueError(f"the graph has {self._index.ntotal} vectors, not {len(vectors)}")
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
