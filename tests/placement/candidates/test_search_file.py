from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from taxoexpan.placement.candidates.search_file import read_search, save_search
from taxoexpan.placement.candidates.search_record import SearchRecord, StoredSearch

GRAPH = np.arange(4, dtype=np.uint8)
SEARCH = StoredSearch(SearchRecord("ids", (1.0, 2.0), 200, 400, 0.99, 0.01, 128), GRAPH, GRAPH)


def test_a_search_is_read_as_it_was_saved(tmp_path: Path) -> None:
    save_search(SEARCH, tmp_path / "search.safetensors", "this model")
    read = read_search(tmp_path / "search.safetensors")
    assert read.record == SEARCH.record
    assert np.array_equal(read.anchor_graph, GRAPH)
    assert np.array_equal(read.name_graph, GRAPH)


@pytest.mark.parametrize("graph", [GRAPH.astype(np.int16), GRAPH.reshape(2, 2)])
@pytest.mark.parametrize("name", ["anchor_graph", "name_graph"])
def test_a_graph_of_another_type_is_refused(tmp_path: Path, name: str, graph: np.ndarray) -> None:
    save_search(replace(SEARCH, **{name: graph}), tmp_path / "search.safetensors", "this model")
    with pytest.raises(ValueError, match="has the wrong type"):
        read_search(tmp_path / "search.safetensors")
