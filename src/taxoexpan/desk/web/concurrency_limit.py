"""A limit on the number of requests that are answered at the same time."""

from __future__ import annotations

from http import HTTPStatus

from starlette.types import ASGIApp, Receive, Scope, Send

from taxoexpan.desk.web.problem import Problem

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
