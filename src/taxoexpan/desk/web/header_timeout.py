"""Connections that send no complete request are closed, so that they do not use up the files."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10
"""How long the header of a request may take; its body has a limit of its own."""


class HeaderTimeout(H11Protocol):
    """Uvicorn's protocol, which would wait for the rest of a header forever."""

    _timer: asyncio.TimerHandle | None = None

    # Uvicorn narrows the type of asyncio in the same way.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._start_timer()

    def handle_events(self) -> None:
        """Read what has arrived; a request that has begun is not timed."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Wait for the next request on the same connection."""
        self._start_timer(self.timeout_keep_alive)
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def _start_timer(self, extra_seconds: float = 0) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(HEADER_SECONDS + extra_seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def raise_file_limit() -> None:
    """Let the process open as many files, and so connections, as it is allowed to."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS refuses "unlimited"
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
