"""The candidate search of a model as a safetensors file, with its record as metadata."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import safe_open
from safetensors.numpy import save_file

from taxoexpan.placement.candidates.search_record import SearchRecord, StoredSearch


def save_search(search: StoredSearch, path: Path) -> None:
    """Write the graphs and the record."""
    graphs = {"anchor_graph": search.anchor_graph, "name_graph": search.name_graph}
    save_file(graphs, path, metadata={"record": json.dumps(search.record.as_dict())})


def read_search(path: Path) -> StoredSearch:
    """Read the graphs and the record."""
    with safe_open(path, framework="numpy") as file:
        graphs = file.get_tensor("anchor_graph"), file.get_tensor("name_graph")
    return StoredSearch(read_record(path), *graphs)


def read_record(path: Path) -> SearchRecord:
    """Read the record only."""
    with safe_open(path, framework="numpy") as file:
        return SearchRecord.from_dict(json.loads((file.metadata() or {})["record"]))
