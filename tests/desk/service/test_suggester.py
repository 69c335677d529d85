from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from taxoexpan.desk.service.suggester import RequestBatcher
from taxoexpan.desk.web.problem import ProblemError


class Doubler:
    """Doubles numbers as soon as it may, and remembers the batches."""

    def __init__(self) -> None:
        self.batches: list[tuple[list[int], str]] = []
        self.may_begin = threading.Event()

    def __call__(self, items: Sequence[int], key: str) -> list[int]:
        self.may_begin.wait(30)
        self.batches.append((list(items), key))
        if key == "fail":
            raise ValueError("as asked")
        return [2 * item for item in items]


def test_requests_that_wait_together_are_answered_together() -> None:
    async def scenario() -> None:
        double = Doubler()
        batcher = RequestBatcher(double, 1000)
        first = asyncio.create_task(batcher.submit([1], "a"))
        await asyncio.sleep(0)  # it is being answered when the others come
        others = [
            asyncio.create_task(batcher.submit(items, key))
            for items, key in (([2, 3], "a"), ([4], "b"), ([5], "a"))
        ]
        await asyncio.sleep(0.05)
        double.may_begin.set()
        assert await first == [2]
        assert await asyncio.gather(*others) == [[4, 6], [8], [10]]
        assert double.batches == [([1], "a"), ([2, 3, 5], "a"), ([4], "b")]
        assert batcher.waiting == 0

    asyncio.run(scenario())


def test_a_full_queue_refuses_and_has_room_again_later() -> None:
    async def scenario() -> None:
        double = Doubler()
        batcher = RequestBatcher(double, 3)
        large = asyncio.create_task(batcher.submit([1, 2, 3, 4], "a"))  # an idle queue takes it
        await asyncio.sleep(0)
        with pytest.raises(ProblemError) as refused:
            await batcher.submit([5], "a")
        assert refused.value.problem.status == 503
        double.may_begin.set()
        assert await large == [2, 4, 6, 8]
        assert await batcher.submit([5], "a") == [10]

    asyncio.run(scenario())


def test_an_error_reaches_only_its_own_batch() -> None:
    async def scenario() -> None:
        double = Doubler()
        double.may_begin.set()
        batcher = RequestBatcher(double, 1000)
        bad, good = await asyncio.gather(
            batcher.submit([1], "fail"), batcher.submit([2], "a"), return_exceptions=True
        )
        assert isinstance(bad, ValueError)
        assert good == [4]
        assert batcher.waiting == 0

    asyncio.run(scenario())


def test_a_client_that_has_gone_does_not_disturb_the_others() -> None:
    async def scenario() -> None:
        double = Doubler()
        batcher = RequestBatcher(double, 1000)
        first = asyncio.create_task(batcher.submit([1], "a"))
        await asyncio.sleep(0)
        gone = asyncio.create_task(batcher.submit([2], "a"))
        other = asyncio.create_task(batcher.submit([3], "a"))
        await asyncio.sleep(0)
        gone.cancel()
        double.may_begin.set()
        assert await first == [2]
        assert await other == [6]

    asyncio.run(scenario())
