"""Methods without any knowledge, whose mean rank is known: ties count half."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from reproduction.experiments import Experiment
from reproduction.runner import run_experiments
from reproduction.runs import Run, read_run
from reproduction.tables import table_text
from reproduction.task import Task
from taxoexpan.evaluation.methods import METHODS
from tests.support.metric_probes import PROBES
from tests.support.splits import pantry_task


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return pantry_task(tmp_path_factory.mktemp("ties"))


@pytest.fixture(scope="module")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


EXPERIMENTS = [Experiment(f"test/{name}", order, name, name) for order, name in enumerate(PROBES)]


@pytest.fixture(scope="module", autouse=True)
def _probes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        for name in PROBES:
            patched.setitem(METHODS, name, PROBES[name])
        yield


@pytest.fixture(scope="module")
def runs(task: Task, runs_folder: Path) -> dict[str, Run]:
    """The stored run of every method."""
    made = run_experiments(EXPERIMENTS, task, 1, runs_folder)
    return {experiment.title: read_run(run.folder) for experiment, run in made}


def test_ranks_without_knowledge_are_in_the_middle_and_reversed_ones_at_the_end(
    runs: dict[str, Run], task: Task
) -> None:
    anchors = len(task.problem.taxonomy)
    other_parents = np.mean([len(parents) - 1 for parents in task.test.parents])
    middle = (anchors - other_parents + 1) / 2
    assert runs["zeros"].record.test.mr == pytest.approx(middle)
    # Random ranks deviate; the reversed ones are the last, after all but the other true parents.
    assert runs["random"].record.test.mr == pytest.approx(middle, rel=0.35)
    assert runs["reversed"].record.test.mr == pytest.approx(anchors - other_parents)
    # One query has two parents, of which one is left out: its rank of 36.5 is rounded up.
    assert runs["zeros"].best_ranks().tolist() == [37] * 8
    for name in ("zeros", "reversed"):
        assert (runs[name].record.test.hit_at_1, runs[name].record.validation.hit_at_1) == (0, 0)


def test_ties_as_best_are_stored_apart(runs: dict[str, Run]) -> None:
    record = runs["zeros"].record
    assert (record.test_ties_as_best.mr, record.test_ties_as_best.hit_at_1) == (1, 1)
    for name in ("random", "reversed"):  # scores without ties
        assert runs[name].record.test == runs[name].record.test_ties_as_best


def test_the_table_shows_both_counts(runs: dict[str, Run], runs_folder: Path) -> None:
    lines = table_text(EXPERIMENTS, runs_folder).splitlines()
    header, *rows = [[c.strip() for c in x.split("|")] for x in lines if x.startswith("| ")]
    shown = {row[1]: dict(zip(header, row, strict=True)) for row in rows}
    assert shown["zeros"]["MR"] == f"{runs['zeros'].record.test.mr:.1f}"
    assert shown["zeros"]["MR (ties as best)"] == "1.0"
    assert shown["zeros"]["Hit@1"] == ".000"
    assert shown["zeros"]["Hit@1 (ties as best)"] == "1.000"
    for name in ("random", "reversed"):
        assert shown[name]["MR"] == shown[name]["MR (ties as best)"]


def test_the_rule_of_the_first_word_gains_nothing_from_ties(task: Task, tmp_path: Path) -> None:
    """No food has a definition, so it scores zero everywhere."""
    experiment = Experiment("test/first-word", 0, "FWFS", "first-word")
    ((_, run),) = run_experiments([experiment], task, 1, tmp_path)
    assert run.record.test.mr > len(task.problem.taxonomy) / 3
    assert run.record.test.hit_at_1 == 0
    assert run.record.test.mrr < 0.5
