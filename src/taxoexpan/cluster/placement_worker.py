"""A worker: a process that has loaded the model, and places one block of concepts after another."""

from __future__ import annotations

import platform
import warnings
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import torch

from taxoexpan.cluster.placement_columns import concepts_of, error_table, placements_table
from taxoexpan.errors import ModelError, TaxoExpanError, is_out_of_memory
from taxoexpan.model import TaxoExpan
from taxoexpan.model_directory import model_digest


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """What all workers do: the model to load (with a digest), and what to suggest."""

    model: Path
    digest: str
    device: str
    features: str | None
    top_k: int
    explain: bool
    threads: int


class PlacementWorker:
    """Loads the model once, and then places blocks of concepts.

    An error is returned as a message. As an exception, Ray would wrap it into several others.
    """

    def __init__(self, task: WorkerTask) -> None:
        self._task = task
        self._model: TaxoExpan | None = None
        self._problem = ""
        try:
            torch.set_num_threads(task.threads)
            self._model = _load(task)
        except TaxoExpanError as error:
            self._problem = f"{error}{_place(task)}"
        except Exception as error:
            self._problem = _unexpected(error, task)

    def __call__(self, queries: pa.Table) -> pa.Table:
        """Return the suggestions for a table of new concepts."""
        if self._model is None:
            return error_table(queries, self._problem)
        task, model = self._task, self._model
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                block = model.suggest_block(concepts_of(queries), task.top_k, task.explain)
            messages = [
                str(each.message) for each in caught if issubclass(each.category, UserWarning)
            ]
            return placements_table(queries, model.taxonomy, block, messages)
        except TaxoExpanError as error:
            return error_table(queries, str(error))
        except Exception as error:
            return error_table(queries, _unexpected(error, task))


def _load(task: WorkerTask) -> TaxoExpan:
    model = TaxoExpan.load(task.model, task.device, task.features)
    if model_digest(task.model) != task.digest:
        message = f"{task.model}: another model than on the machine that started the workers"
        raise ModelError(f"{message}; put one model directory on a path that all machines share")
    return model


def _place(task: WorkerTask) -> str:
    """Return where an error occurred; the model of another machine may be another one."""
    return f" (a worker on {platform.node()} with {task.model})"


def _unexpected(error: Exception, task: WorkerTask) -> str:
    if is_out_of_memory(error):
        return f"a worker is out of memory; use fewer workers{_place(task)}"
    return f"a worker failed: {type(error).__name__}: {error}{_place(task)}"
