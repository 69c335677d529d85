"""Dynamic batching: one call of the model handles all requests that wait at the same time."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from taxoexpan.desk.web.problem import ProblemError
from taxoexpan.desk.web.protection import BUSY

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Key = TypeVar("Key", bound=Hashable)

MAX_BATCH = 128
"""Items of one call, unless a single request has more; larger batches are hardly faster."""


@dataclass
class _Waiting(Generic[Item, Answer, Key]):
    """The items of one request, and the future of their results."""

    items: Sequence[Item]
    key: Key
    answers: asyncio.Future[list[Answer]]


@dataclass
class RequestBatcher(Generic[Item, Answer, Key]):
    """A single thread that handles requests in order, and requests with the same key in one call.

    `answer` must handle each item independently of the others. At most `max_waiting` items wait.
    """

    answer: Callable[[Sequence[Item], Key], list[Answer]]
    max_waiting: int
    on_batch: Callable[[int, float], None] = lambda _, __: None
    """Called after each call with the number of items and the seconds that it took."""
    waiting: int = 0
    """The number of items that wait or are being answered."""
    _queue: deque[_Waiting[Item, Answer, Key]] = field(default_factory=deque)
    _executor: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="model")
    )
    _worker: asyncio.Task[None] | None = None

    async def submit(self, items: Sequence[Item], key: Key) -> list[Answer]:
        """Return the results of the items; refuse them if other items wait and these do not fit."""
        if not items:
            return []
        if self.waiting and self.waiting + len(items) > self.max_waiting:
            raise ProblemError(BUSY)
        future: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(items, key, future))
        self.waiting += len(items)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await future

    async def close(self) -> None:
        """Finish all waiting requests, and end the thread."""
        if self._worker is not None:
            await self._worker
        self._executor.shutdown()

    async def _work(self) -> None:
        """Process batches until no request waits."""
        loop = asyncio.get_running_loop()
        while self._queue:
            batch = self._take_batch()
            items = [item for request in batch for item in request.items]
            began = time.monotonic()
            try:
                answers = await loop.run_in_executor(
                    self._executor, self.answer, items, batch[0].key
                )
            except Exception as error:
                _fail(batch, error)
            else:
                _deliver(batch, answers)
            self.waiting -= len(items)
            self.on_batch(len(items), time.monotonic() - began)
        self._worker = None

    def _take_batch(self) -> list[_Waiting[Item, Answer, Key]]:
        """Remove the first request from the queue, and all later ones with its key that fit."""
        batch = [self._queue.popleft()]
        room = MAX_BATCH - len(batch[0].items)
        rest: deque[_Waiting[Item, Answer, Key]] = deque()
        for request in self._queue:
            if request.key == batch[0].key and len(request.items) <= room:
                batch.append(request)
                room -= len(request.items)
            else:
                rest.append(request)
        self._queue = rest
        return batch


def _deliver(batch: Sequence[_Waiting[Item, Answer, Key]], answers: list[Answer]) -> None:
    start = 0
    for request in batch:
        stop = start + len(request.items)
        if not request.answers.done():  # the client may have gone
            request.answers.set_result(answers[start:stop])
        start = stop


def _fail(batch: Sequence[_Waiting[Item, Answer, Key]], error: Exception) -> None:
    for request in batch:
        if not request.answers.done():
            request.answers.set_exception(error)
