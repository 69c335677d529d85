"""A worker process, which loads the model and places blocks of concepts.

Concepts and suggestions are sent as JSON.
"""

from __future__ import annotations

import json
import os
import platform
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from taxoexpan.errors import ModelError, TaxoExpanError, is_out_of_memory
from taxoexpan.explain.explanation import SuggestedBlock
from taxoexpan.model import TaxoExpan
from taxoexpan.model_directory import model_digest
from taxoexpan.shared_options import SuggestOptions
from taxoexpan.taxonomy import Concept


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """The task of all workers: the model with its digest, and the options of `suggest`."""

    model: Path
    digest: str
    device: str
    features: str | None
    options: SuggestOptions
    threads: int


def query_text(concepts: Sequence[Concept]) -> str:
    """Return new concepts as JSON."""
    return json.dumps([asdict(concept) for concept in concepts])


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

    def place(self, queries: str) -> str:
        """Return the suggestions for a block of new concepts, in JSON."""
        problem = self._problem
        if self._model is not None:
            try:
                return self._placed(self._model, queries)
            except Exception as error:
                problem = _described(error, self._task)
        return json.dumps({"error": problem})

    def place_and_sign(self, queries: str) -> tuple[str, bool, str]:
        """Return this process, whether it replaces one that died, and the suggestions."""
        import ray

        replaces = ray.get_runtime_context().was_current_actor_reconstructed
        return f"{platform.node()} {os.getpid()}", bool(replaces), self.place(queries)

    def _placed(self, model: TaxoExpan, queries: str) -> str:
        given = json.loads(queries)
        concepts = [Concept(**each | {"synonyms": tuple(each["synonyms"])}) for each in given]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            block = model.suggest_block(concepts, self._task.options)
        messages = [str(each.message) for each in caught if issubclass(each.category, UserWarning)]
        return json.dumps({"concepts": _by_query(concepts, block), "warnings": messages})


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
