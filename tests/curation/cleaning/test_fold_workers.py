from __future__ import annotations

import multiprocessing
import pickle
import select
import time
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from threading import Thread

import pytest
import torch
from builders import star
from ctrl_c import press_ctrl_c
from messy_pantry import QUICK, messy_pantry

from taxoexpan.curation.cleaning import clean
from taxoexpan.curation.cleaning.fold_files import FoldFiles
from taxoexpan.curation.cleaning.fold_workers import FoldTask, run_task
from taxoexpan.curation.cleaning.folds import columns_of, concepts_to_check
from taxoexpan.curation.cleaning.self_cleaning import EXPLAINED
from taxoexpan.errors import ModelError
from taxoexpan.taxonomy import Concept, Taxonomy


@pytest.mark.slow
def test_the_number_of_jobs_changes_neither_the_result_nor_the_warnings() -> None:
    messy = messy_pantry()
    german = [Concept(each.id, f"{each.label} für Köche") for each in messy.concepts]
    taxonomy = Taxonomy(german, messy.relations)
    results = []
    for jobs in (1, 2):
        with pytest.warns(UserWarning, match="do not seem to be English"):
            results.append(clean(taxonomy, QUICK, folds=2, jobs=jobs))
    assert results[0] == results[1]
    assert not multiprocessing.active_children()


def test_an_error_in_a_worker_names_the_fold_and_can_be_sent(tmp_path: Path) -> None:
    small = star(2)
    task = FoldTask(1, concepts_to_check(small), QUICK, torch.get_num_threads(), EXPLAINED)
    with pytest.raises(ModelError, match=r"^fold 1: too little to learn from") as caught:
        run_task(columns_of(small), task, FoldFiles(tmp_path, "this run"))
    sent = pickle.loads(ForkingPickler.dumps(caught.value))
    assert (type(sent), str(sent)) == (ModelError, str(caught.value))


def test_a_worker_sends_messages_that_are_written_at_once(tmp_path: Path) -> None:
    """A worker that is killed in the middle of a longer message would stop the main process."""
    messy, files = messy_pantry(), FoldFiles(tmp_path, "this run")
    task = FoldTask(1, concepts_to_check(messy)[:40], QUICK, torch.get_num_threads(), EXPLAINED)
    messages = run_task(columns_of(messy), task, files)
    assert len(files.read(1).scores.concepts) >= 40
    assert len(ForkingPickler.dumps(messages)) < select.PIPE_BUF // 2


def kill_a_worker() -> None:
    """Wait until the two workers of a pool have been started, and kill one of them."""
    while len(workers := multiprocessing.active_children()) < 2:
        time.sleep(0.01)
    workers[0].kill()


def test_a_killed_worker_is_an_error_and_finished_folds_stay_saved(tmp_path: Path) -> None:
    work = tmp_path / "folds"

    def interrupt(message: str) -> None:
        if message.startswith("1 of 4"):
            press_ctrl_c()

    with pytest.raises(KeyboardInterrupt):
        clean(messy_pantry(), QUICK, folds=4, work=work, report=interrupt)
    (saved,) = work.iterdir()
    killer = Thread(target=kill_a_worker, daemon=True)
    killer.start()
    with pytest.raises(ModelError, match=r"a worker process ended .*; use fewer jobs"):
        clean(messy_pantry(), QUICK, folds=4, jobs=2, work=work)
    killer.join()
    assert list(work.iterdir()) == [saved]
    assert not multiprocessing.active_children()
