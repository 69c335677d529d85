"""The candidate search of a model as a safetensors file, with its record as metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import safe_open
from safetensors.numpy import save_file

from taxoexpan.files.regular_file import parse_json
from taxoexpan.placement.candidates.search_record import SearchRecord, StoredSearch

GRAPHS = ("anchor_graph", "name_graph")


class _Record(BaseModel):
    """The fields of a `SearchRecord`."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    taxonomy: str
    weights: Annotated[
        list[Annotated[float, Field(gt=-1e9, lt=1e9)]], Field(min_length=1, max_length=100)
    ]
    candidates: Annotated[int, Field(ge=1, le=100_000)]
    effort: Annotated[int, Field(ge=1, le=1_000_000)]
    recall: Annotated[float, Field(ge=0, le=1)]
    confidence_error: Annotated[float, Field(ge=0, le=1)]
    queries: Annotated[int, Field(ge=0, lt=2**63)]


def save_search(search: StoredSearch, path: Path, identity: str) -> None:
    """Write the graphs and the record, with the identity of the model."""
    graphs = {"anchor_graph": search.anchor_graph, "name_graph": search.name_graph}
    record = json.dumps(search.record.as_dict())
    save_file(graphs, path, metadata={"record": record, "model": identity})


def read_search(path: Path) -> StoredSearch:
    """Read the graphs and the record; a wrong file is a ValueError."""
    with safe_open(path, framework="numpy") as file:
        graphs = [file.get_tensor(name) for name in GRAPHS]
    if any(graph.ndim != 1 or graph.dtype != np.uint8 for graph in graphs):
        raise ValueError("a graph of the candidate search has the wrong type")
    return StoredSearch(read_record(path), *graphs)


def read_record(path: Path) -> SearchRecord:
    """Read the record only."""
    with safe_open(path, framework="numpy") as file:
        fields: Any = parse_json((file.metadata() or {})["record"].encode())
    try:
        return SearchRecord.from_dict(_Record.model_validate(fields).model_dump())
    except ValidationError:
        raise ValueError("the record of the candidate search is wrong") from None
