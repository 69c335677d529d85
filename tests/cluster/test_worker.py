from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from taxoexpan import Concept, TaxoExpan
from taxoexpan.cluster.placement import read_block
from taxoexpan.cluster.worker import PlacementWorker, WorkerTask, query_text
from taxoexpan.errors import ModelError
from taxoexpan.explain.explanation import SuggestedBlock
from taxoexpan.model_directory import model_digest
from taxoexpan.shared_options import SuggestOptions
from taxoexpan.taxonomy.known_names import filter_known_names

OPTIONS = SuggestOptions(top_k=3, explain=True)
CONCEPTS = [
    Concept("n1", "cashew milk", ("milk of cashews",), "a drink made of nuts"),
    Concept("n2", "white tea"),
    Concept("n3", "🙂"),
]


@pytest.fixture
def task(model_directory: Path) -> WorkerTask:
    digest, threads = model_digest(model_directory), torch.get_num_threads()
    return WorkerTask(model_directory, digest, "cpu", None, OPTIONS, threads)


def placed(model: TaxoExpan, task: WorkerTask) -> SuggestedBlock:
    """Let a worker place all concepts, and read its answer."""
    answer = PlacementWorker(task).place(query_text(CONCEPTS))
    return read_block(model.taxonomy, CONCEPTS, answer)


@pytest.mark.parametrize("explain", [True, False])
def test_a_worker_gives_what_the_model_gives(
    model: TaxoExpan, task: WorkerTask, explain: bool
) -> None:
    assert filter_known_names(model.taxonomy, CONCEPTS).new == tuple(CONCEPTS)
    with pytest.warns(UserWarning, match="without words mean little") as expected:
        local = model.suggest_block(CONCEPTS, SuggestOptions(top_k=3, explain=explain))
    with pytest.warns(UserWarning, match="without words mean little") as passed_on:
        block = placed(model, replace(task, options=SuggestOptions(top_k=3, explain=explain)))
    assert block.suggestions == local.suggestions
    assert [e.to_dict() for e in block.evidence] == [e.to_dict() for e in local.evidence]
    assert len(block.evidence) == (3 if explain else 0)
    assert [str(each.message) for each in passed_on] == [str(each.message) for each in expected]


def problem(model: TaxoExpan, task: WorkerTask) -> str:
    with pytest.raises(ModelError) as error:
        placed(model, task)
    return str(error.value)


def test_a_worker_names_a_missing_model(model: TaxoExpan, task: WorkerTask, tmp_path: Path) -> None:
    message = problem(model, replace(task, model=tmp_path / "none"))
    assert "no such model directory" in message
    assert "a worker on " in message


def test_a_worker_refuses_another_model(model: TaxoExpan, task: WorkerTask) -> None:
    message = problem(model, replace(task, digest="0"))
    assert "another model than on the machine that started the workers" in message
    assert "a path that all machines share" in message


def test_a_worker_names_a_damaged_part(model: TaxoExpan, task: WorkerTask, tmp_path: Path) -> None:
    copy = tmp_path / "model"
    shutil.copytree(task.model, copy)
    (copy / "weights.safetensors").write_bytes(b"")
    message = problem(model, replace(task, model=copy))
    assert "weights.safetensors is damaged" in message


def test_a_worker_names_an_unknown_device(model: TaxoExpan, task: WorkerTask) -> None:
    assert "choose auto, cpu, cuda or mps" in problem(model, replace(task, device="abacus"))


def test_an_error_while_placing_is_a_message(model: TaxoExpan, task: WorkerTask) -> None:
    with pytest.raises(ModelError, match="a worker failed: KeyError"):
        read_block(model.taxonomy, [], PlacementWorker(task).place("[{}]"))
