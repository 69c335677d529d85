"""Work over blocks of texts in several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from taxoexpan.errors import TaxoExpanError

BLOCK = 1 << 17
"""Characters, or the document that goes beyond them, that a worker is given at a time."""

AHEAD = 8
"""Blocks a worker that may be given out before the first of them is done."""

T = TypeVar("T")


def map_blocks(
    work: Callable[[list[str]], T], texts: Iterable[str], workers: int | None = None
) -> Iterator[T]:
    """The work done on blocks of texts, in their order; in other processes where there are cores.

    Only a few blocks are held at a time. `workers` is the number of cores unless it is given.
    """
    blocks = _blocks(texts)
    first = list(islice(blocks, 2))
    workers = workers or _cores()
    if workers == 1 or len(first) < 2 or not _can_fork():
        return map(work, chain(first, blocks))
    return _forked(work, chain(first, blocks), workers)


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    block, size = [], 0
    for text in texts:
        block.append(text)
        size += len(text)
        if size >= BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def _can_fork() -> bool:
    """Other ways to start a process import `__main__` anew; on macOS forking is not safe."""
    return "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"


def _cores() -> int:
    """The cores that this process may use, where that can be known."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _forked(
    work: Callable[[list[str]], T], blocks: Iterable[list[str]], workers: int
) -> Iterator[T]:
    """Hand each block to a worker that has nothing to do, and give the results in their order."""
    started: list[tuple[BaseProcess, Connection]] = []
    numbered = enumerate(blocks)
    idle: set[Connection] = set()
    busy: dict[Connection, int] = {}
    done: dict[int, T] = {}
    turn = 0
    try:
        for _ in range(workers):
            started.append(_start(work, [pipe for _, pipe in started]))
            idle.add(started[-1][1])
        while True:
            # Where one worker is slow, the others do not run ahead of it without end.
            room = AHEAD * workers - len(done) - len(busy)
            for number, block in islice(numbered, min(len(idle), room)):
                pipe = idle.pop()
                pipe.send(block)
                busy[pipe] = number
            if not busy:
                break
            for pipe in [pipe for pipe in wait(list(busy)) if isinstance(pipe, Connection)]:
                done[busy.pop(pipe)] = pipe.recv()
                idle.add(pipe)
            while turn in done:
                yield done.pop(turn)
                turn += 1
    except (EOFError, OSError):
        message = "a process that reads the corpus has ended"
        raise TaxoExpanError(f"{message}; there may be too little memory, try one worker") from None
    finally:
        for process, pipe in started:
            process.terminate()
            process.join()
            pipe.close()


def _start(
    work: Callable[[list[str]], T], others: Sequence[Connection]
) -> tuple[BaseProcess, Connection]:
    """A process that does the work on what comes through its pipe; it inherits what that needs."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(work, there, [here, *others]), daemon=True)
    with warnings.catch_warnings(), _uninterrupted():
        # Threads, such as torch's, are not forked along; the work needs none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    there.close()
    return process, here


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let signals wait, so that a new process meets none before it is ready for them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(
    work: Callable[[list[str]], Any], pipe: Connection, parents: Sequence[Connection]
) -> None:
    """Answer blocks until the parent ends; an interrupt is its business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGTERM])
    for end in parents:
        end.close()  # as long as anybody has the parent's end, nobody sees that the parent is gone
    with suppress(EOFError, ConnectionError):
        while True:
            pipe.send(work(pipe.recv()))
