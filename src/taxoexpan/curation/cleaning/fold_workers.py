"""Judging several folds at a time, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import RLock, current_thread, main_thread
from typing import Any

import torch
from tqdm import tqdm

from taxoexpan.curation.cleaning.judging import Training, judge
from taxoexpan.curation.cleaning.reasons import Fold
from taxoexpan.errors import ModelError, TaxoExpanError
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices


@dataclass(frozen=True)
class Task:
    """One fold: its number, the concepts that are asked for, and how a model is trained.

    So many of its relations are `explained`.
    """

    number: int
    queries: Indices
    training: Training
    threads: int
    explained: int


def judged(
    taxonomy: Taxonomy, tasks: Sequence[Task], jobs: int, progress: bool
) -> Iterator[tuple[int, Fold]]:
    """Each fold with its number, as soon as it is done."""
    if jobs > 1 and len(tasks) > 1:
        yield from _in_processes(taxonomy, tasks, jobs)
        return
    for task in tasks:
        with _threads(task.threads):
            fold = judge(taxonomy, task.queries, task.training, task.explained, progress)
        yield task.number, fold


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Let torch compute with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _in_processes(
    taxonomy: Taxonomy, tasks: Sequence[Task], jobs: int
) -> Iterator[tuple[int, Fold]]:
    """Start a process for each fold, so many at a time; whatever happens, none is left behind."""
    columns, waiting = _columns(taxonomy), iter(tasks)
    running: dict[Connection, tuple[int, BaseProcess]] = {}
    try:
        while True:
            for task in islice(waiting, jobs - len(running)):
                process, pipe = _start(columns, task)
                running[pipe] = task.number, process
            if not running:
                return
            for pipe in [pipe for pipe in wait(list(running)) if isinstance(pipe, Connection)]:
                number, process = running[pipe]
                fold = _received(pipe, number)
                process.join()
                pipe.close()
                del running[pipe]
                yield number, fold
    finally:
        for pipe, (_, process) in running.items():
            process.terminate()
            process.join()
            pipe.close()


def _start(columns: dict[str, Any], task: Task) -> tuple[BaseProcess, Connection]:
    # A process that is forked could not use a GPU, nor torch's threads.
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(columns, task, there), daemon=True)
    with _interrupts_wait():
        process.start()
    there.close()
    return process, here


def _received(pipe: Connection, number: int) -> Fold:
    """What the process of a fold has found; its warnings are passed on, and so is its error."""
    try:
        answer, noticed = pipe.recv()
    except (EOFError, OSError):
        message = f"the process of fold {number} has ended before it was done"
        mend = "its error stands above, or there was too little memory: try fewer jobs"
        raise ModelError(f"{message}; {mend}") from None
    for message in noticed:
        warnings.warn(message, stacklevel=2)
    if not isinstance(answer, Fold):
        raise ModelError(f"fold {number}: {answer}")
    return answer


def _serve(columns: dict[str, Any], task: Task, pipe: Connection) -> None:
    """Judge one fold; an interrupt is the parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    # tqdm's own lock is one between processes, which one that is stopped would leave behind.
    tqdm.set_lock(RLock())
    torch.set_num_threads(task.threads)
    answer: Fold | str
    with warnings.catch_warnings(record=True) as noticed:
        try:
            taxonomy = Taxonomy.from_columns(**columns)
            answer = judge(taxonomy, task.queries, task.training, task.explained)
        except TaxoExpanError as error:
            answer = str(error)
    pipe.send((answer, [str(warning.message) for warning in noticed]))


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Let Ctrl-C wait, so that a new process meets none before it is ready for it.

    The process begins with the signal blocked, as it is here. That would not keep it from this
    process too, where another thread may get it, so that the handler waits as well.
    """
    if sys.platform == "win32" or current_thread() is not main_thread():
        yield
        return
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


def _columns(taxonomy: Taxonomy) -> dict[str, Any]:
    """What `Taxonomy.from_columns` makes the same taxonomy of, in another process."""
    parents, children = taxonomy.relation_indices
    return {
        "ids": taxonomy.ids,
        "labels": taxonomy.labels,
        "parents": parents,
        "children": children,
        "synonyms": dict(taxonomy.synonyms),
        "definitions": dict(taxonomy.definitions),
        "deprecated": taxonomy.deprecated,
        "foreign_names": dict(taxonomy.foreign_names),
        "reserved": taxonomy.reserved,
    }
