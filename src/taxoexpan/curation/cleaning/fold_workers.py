"""Running the folds, one after another or in a pool of worker processes."""

from __future__ import annotations

import multiprocessing
import signal
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread, current_thread, main_thread
from typing import Any

import torch

from taxoexpan.curation.cleaning.fold_files import FoldFiles
from taxoexpan.curation.cleaning.fold_results import FoldResult
from taxoexpan.curation.cleaning.fold_scoring import ModelOptions, score_fold
from taxoexpan.curation.cleaning.folds import columns_of
from taxoexpan.errors import ModelError, TaxoExpanError
from taxoexpan.features.corpus.parallel import exit_with_parent
from taxoexpan.files import temporary_folder
from taxoexpan.progress import keep_lock_in_process
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices


@dataclass(frozen=True)
class FoldTask:
    """One fold: its number, its concepts, its model, and the number of relations to explain."""

    number: int
    queries: Indices
    options: ModelOptions
    threads: int
    explained: int


def run_folds(
    taxonomy: Taxonomy, tasks: Sequence[FoldTask], jobs: int, progress: bool
) -> Iterator[tuple[int, FoldResult]]:
    """Yield the number and the result of each fold as soon as it is finished."""
    if jobs > 1 and len(tasks) > 1:
        with temporary_folder() as folder:
            files = FoldFiles(folder, "this run")
            yield from _run_in_pool(taxonomy, tasks, min(jobs, len(tasks)), files)
        return
    before = torch.get_num_threads()
    for task in tasks:
        torch.set_num_threads(task.threads)
        try:
            result = score_fold(taxonomy, task.queries, task.options, task.explained, progress)
        finally:
            torch.set_num_threads(before)
        yield task.number, result


def _run_in_pool(
    taxonomy: Taxonomy, tasks: Sequence[FoldTask], jobs: int, files: FoldFiles
) -> Iterator[tuple[int, FoldResult]]:
    """Run the folds in worker processes; all workers are stopped at the end or on an error."""
    # A forked process could use neither a GPU nor torch's threads.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, context, initializer=_prepare_worker)
    try:
        columns = columns_of(taxonomy)
        with _interrupts_ignored():  # all workers start here
            futures = {pool.submit(run_task, columns, task, files): task.number for task in tasks}
        for future in as_completed(futures):
            for message in future.result():
                warnings.warn(message, stacklevel=2)
            yield futures[future], files.read(futures[future])
    except BrokenProcessPool:
        raise ModelError(
            "a worker process ended before its fold was finished, perhaps for lack of memory; "
            "use fewer jobs"
        ) from None
    finally:
        # A pool would wait for the running folds, which can take hours.
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        pool.shutdown(cancel_futures=True)


def _prepare_worker() -> None:
    """Leave interrupts to the main process, and exit when it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_lock_in_process()
    Thread(target=exit_with_parent, daemon=True).start()


def run_task(columns: dict[str, Any], task: FoldTask, files: FoldFiles) -> list[str]:
    """Score one fold in a worker, save the result, and return the warnings.

    The result is too long for the pipe between the processes: if a worker is killed in the middle
    of a message that is not written at once, the main process waits for the rest of it forever.
    """
    torch.set_num_threads(task.threads)
    with warnings.catch_warnings(record=True) as caught:
        try:
            taxonomy = Taxonomy.from_columns(**columns)
            files.save(
                task.number, score_fold(taxonomy, task.queries, task.options, task.explained)
            )
        except TaxoExpanError as error:
            # Not every error can be sent to another process as it is.
            raise ModelError(f"fold {task.number}: {error}") from None
    return [str(warning.message) for warning in caught]


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C for a moment; processes that start meanwhile inherit that.

    Without it, a worker that is still importing modules would print a traceback on Ctrl-C.
    """
    if current_thread() is not main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
