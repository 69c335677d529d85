"""Parallel processing of blocks of texts."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, TypeVar

from taxoexpan.errors import TaxoExpanError

BLOCK_SIZE = 1 << 17
"""The number of characters in a block; only its last document may go beyond."""

BLOCKS_AHEAD = 8
"""The largest number of unfinished blocks per worker."""

T = TypeVar("T")

_work: Callable[[list[str]], Any]
"""The function that a worker process applies to its blocks."""


def map_blocks(
    work: Callable[[list[str]], T], texts: Iterable[str], workers: int | None = None
) -> Iterator[T]:
    """Yield the result of `work` for each block of texts, in order, from several processes."""
    blocks = _blocks(texts)
    first = list(islice(blocks, 2))
    workers = workers or available_cores()
    # On macOS a fork is not safe, and other methods import `__main__` again.
    can_fork = "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"
    if workers == 1 or len(first) < 2 or not can_fork:
        return map(work, chain(first, blocks))
    return _map_in_processes(work, chain(first, blocks), workers)


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    block = []
    size = 0
    for text in texts:
        block.append(text)
        size += len(text)
        if size >= BLOCK_SIZE:
            yield block
            block = []
            size = 0
    if block:
        yield block


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _map_in_processes(
    work: Callable[[list[str]], T], blocks: Iterator[list[str]], workers: int
) -> Iterator[T]:
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("fork"), initializer=_start_worker, initargs=(work,)
    )
    pending: deque[Future[T]] = deque()
    try:
        with _forking():
            pending.append(pool.submit(_run, next(blocks)))
        for block in blocks:
            pending.append(pool.submit(_run, block))
            if len(pending) >= BLOCKS_AHEAD * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool:
        message = "a process that reads the corpus ended unexpectedly"
        raise TaxoExpanError(message, fix="if memory is short, use one worker") from None
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _forking() -> Iterator[None]:
    """Delay signals until a new process can handle them, and hide the warning about threads."""
    signals = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
    try:
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)


def _start_worker(work: Callable[[list[str]], Any]) -> None:
    """Prepare a worker process, which inherits `work`, so that it need not be picklable."""
    global _work
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGTERM])
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """End this worker when its parent is killed; otherwise it would wait forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(block: list[str]) -> Any:
    return _work(block)
