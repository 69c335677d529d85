"""Limits of requests: the size and duration of their bodies, and their number at the same time."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taxoexpan.desk.web.problem import Problem, ProblemError

RECEIVE_SECONDS = 30.0
"""A client that takes longer to send a body is refused, so that it does not block a connection."""


class BodyLimit:
    """Receives the whole body before the request is passed on; too large ones get 413."""

    def __init__(self, app: ASGIApp, max_bytes: int, seconds: float = RECEIVE_SECONDS) -> None:
        self.app, self.max_bytes, self.seconds = app, max_bytes, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body, or answer it with 413 or 408."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self.seconds):
                body = await self._receive_body(scope, receive)
        except ProblemError as error:
            await error.problem.answer(scope)(scope, receive, send)
        except TimeoutError:
            await TOO_SLOW.answer(scope)(scope, receive, send)
        else:
            if body is not None:
                await self.app(scope, _replayed(body, receive), send)

    async def _receive_body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the body, or None if the client has gone."""
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdigit() and int(announced) > self.max_bytes:
            raise ProblemError(self._too_large())
        chunks, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > self.max_bytes:
                raise ProblemError(self._too_large())
            if not message.get("more_body", False):
                return b"".join(chunks)

    def _too_large(self) -> Problem:
        detail = f"the request has more than {self.max_bytes:,} bytes; send it in several parts"
        # The rest of the body is not read, so the connection cannot be used again.
        return Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, headers={"Connection": "close"})


TOO_SLOW = Problem(
    HTTPStatus.REQUEST_TIMEOUT,
    f"the request took longer than {RECEIVE_SECONDS:.0f} seconds to arrive; send less at a time",
    headers={"Connection": "close"},
)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a function that gives the body once, and then what the client does."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return pending.pop() if pending else await receive()

    return receive_again


RETRY_SECONDS = 1

BUSY = Problem(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "the server is busy; send the request again later",
    headers={"Retry-After": str(RETRY_SECONDS)},
)


class ConcurrencyLimit:
    """Answers requests above the limit with 503, except those for the `exempt` paths."""

    def __init__(
        self, app: ASGIApp, max_requests: int, exempt: frozenset[str] = frozenset()
    ) -> None:
        self.app, self.max_requests, self.exempt = app, max_requests, exempt
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with 503."""
        if scope["type"] != "http" or scope["path"] in self.exempt:
            await self.app(scope, receive, send)
            return
        if self._running >= self.max_requests:
            await BUSY.answer(scope)(scope, receive, send)
            return
        self._running += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._running -= 1
