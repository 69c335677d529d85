"""A worker process, which loads the model and places blocks of concepts.

Concepts and suggestions are sent as rows of an Arrow table with the concept's number and JSON.
"""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from taxoexpan.errors import ModelError, TaxoExpanError, is_out_of_memory
from taxoexpan.explain.explanation import SuggestedBlock
from taxoexpan.model import TaxoExpan
from taxoexpan.model_directory import model_digest
from taxoexpan.taxonomy import Concept

ROWS = pa.schema({"number": pa.int64(), "content": pa.string()})


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """The task of all workers: the model with its digest, and the options of `suggest`."""

    model: Path
    digest: str
    device: str
    features: str | None
    top_k: int
    explain: bool
    threads: int


def concepts_table(first: int, concepts: Sequence[Concept]) -> pa.Table:
    """Return new concepts as a table, numbered from `first`."""
    numbered = enumerate(concepts, start=first)
    rows = [{"number": n, "content": json.dumps(asdict(concept))} for n, concept in numbered]
    return pa.Table.from_pylist(rows, ROWS)


class PlacementWorker:
    """A worker that loads the model once; it returns errors as strings, so Ray cannot wrap them."""

    def __init__(self, task: WorkerTask) -> None:
        self._task = task
        self._model: TaxoExpan | None = None
        self._problem = ""
        try:
            torch.set_num_threads(task.threads)
            self._model = _load(task)
        except Exception as error:
            self._problem = _described(error, task)

    def __call__(self, queries: pa.Table) -> pa.Table:
        """Return the suggestions for a table of new concepts."""
        rows = queries.to_pylist()
        problem = self._problem
        if self._model is not None:
            try:
                return self._placed(self._model, rows)
            except Exception as error:
                problem = _described(error, self._task)
        rows = [{"number": rows[0]["number"], "content": json.dumps({"error": problem})}]
        return pa.Table.from_pylist(rows, ROWS)

    def _placed(self, model: TaxoExpan, rows: Sequence[dict[str, Any]]) -> pa.Table:
        """Return the suggestions, with the warnings in the first row."""
        given = [json.loads(row["content"]) for row in rows]
        concepts = [Concept(**each | {"synonyms": tuple(each["synonyms"])}) for each in given]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            block = model.suggest_block(concepts, self._task.top_k, self._task.explain)
        results = _by_query(concepts, block)
        results[0]["warnings"] = [
            str(each.message) for each in caught if issubclass(each.category, UserWarning)
        ]
        numbered = zip(rows, results, strict=True)
        return pa.Table.from_pylist(
            [{"number": row["number"], "content": json.dumps(own)} for row, own in numbered], ROWS
        )


def _by_query(concepts: Sequence[Concept], block: SuggestedBlock) -> list[dict[str, Any]]:
    """Return the suggestions and the evidence of each concept for JSON."""
    results: dict[str, dict[str, Any]] = {concept.id: {"suggestions": []} for concept in concepts}
    for suggestion in block.suggestions:
        results[suggestion.query.id]["suggestions"].append(suggestion.values())
    for evidence in block.evidence:
        results[evidence.query.id]["evidence"] = evidence.to_dict()
    return list(results.values())


def _load(task: WorkerTask) -> TaxoExpan:
    model = TaxoExpan.load(task.model, task.device, task.features)
    if model_digest(task.model) != task.digest:
        message = f"{task.model}: another model than on the machine that started the workers"
        raise ModelError(message, fix="put one model directory on a path that all machines share")
    return model


def _described(error: Exception, task: WorkerTask) -> str:
    """Describe an error with its machine and model; another machine may have another model."""
    message = str(error)
    if is_out_of_memory(error):
        message = "a worker is out of memory; use fewer workers"
    elif not isinstance(error, TaxoExpanError):
        message = f"a worker failed: {type(error).__name__}: {error}"
    return f"{message} (a worker on {platform.node()} with {task.model})"
