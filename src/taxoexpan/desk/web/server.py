"""A server that runs an app until it is stopped, and then finishes the running requests."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from taxoexpan.desk.web.access import Access
from taxoexpan.desk.web.logs import log_requests, log_settings, server_level
from taxoexpan.desk.web.protection import refuse_two_lengths
from taxoexpan.errors import ConfigurationError

HEADER_SECONDS: float = 10
"""How long the header of a request may take; its body has a limit of its own."""
STOP_SECONDS = 30
"""How long a stopping server waits for requests that have begun."""
SEND_SECONDS = 60
"""A client that accepts nothing for so long is disconnected, so that it holds no response."""
KEEP_ALIVE_SECONDS = 15
BACKLOG = 1024
"""Connections that may wait to be accepted."""
MAX_PORT = 65535
NEXT_PORTS = 10
"""The ports that are tried one after the other; then any free port is taken."""


class HeaderTimeout(H11Protocol):
    """Uvicorn's protocol with a time limit for headers; it would wait forever without one."""

    # Uvicorn narrows the type of asyncio in the same way.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the header of the first request."""
        super().connection_made(transport)
        self.loop.call_later(HEADER_SECONDS, self._close_if_idle, None)

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request, and end the response of the app, which may run already."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()
        if self.cycle is not None:
            self.cycle.disconnected = True

    def _close_if_idle(self, last: object) -> None:
        """Close the connection if no request was answered, or began, since the last check."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self.cycle is last:
            self.transport.close()
        elif not self.transport.is_closing():
            seen = self.cycle if is_idle else self
            self.loop.call_later(HEADER_SECONDS, self._close_if_idle, seen)


def run_server(
    app: ASGIApp,
    access: Access,
    port: int,
    on_start: Callable[[str], None],
    stop_seconds: int = STOP_SECONDS,
    or_next: bool = False,
    log_level: str = "warning",
) -> None:
    """Serve an app until SIGTERM or Ctrl+C, after calling `on_start` with the URL.

    With the log level `info` or `debug`, there is a line about every request.
    """
    listening = listen(access.host, port, or_next)
    url = server_url(access.host, listening.getsockname()[1])
    config = uvicorn.Config(
        log_requests(refuse_two_lengths(app), access),
        http=HeaderTimeout,
        backlog=BACKLOG,
        log_config=log_settings(log_level),
        log_level=server_level(log_level),
        use_colors=False,  # its messages may end in a log
        access_log=False,  # it would contain the token; ours does not
        server_header=False,
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=stop_seconds,
    )
    server = _AnnouncingServer(config, lambda: on_start(url))
    with listening:
        server.run(sockets=[listening])


def listen(host: str, port: int, or_next: bool = False) -> socket.socket:
    """Return a socket that listens on an address, with `or_next` on the next free port."""
    if or_next:
        for candidate in range(port, port + NEXT_PORTS):
            with suppress(ConfigurationError):
                return listen(host, candidate)
        port = 0
    try:
        if not 0 <= port <= MAX_PORT:
            raise OSError("no such port")
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address, family=family, backlog=BACKLOG)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        fix = "choose an address of this machine, such as 127.0.0.1, and another port, or 0 for any"
        message = f"cannot listen on {host}, port {port}: {reason}"
        raise ConfigurationError(message, fix=fix) from None
    # Accepted connections inherit these options. With Nagle's algorithm, the body of a response
    # would wait 40 ms for the acknowledgment of its header.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SEND_SECONDS * 1000)
    return listening


def server_url(host: str, port: int) -> str:
    """Return the URL of a server, without its token."""
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


class _AnnouncingServer(uvicorn.Server):
    """A server that calls `on_start` when it is ready, and that stops without an error."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and call `on_start` in a thread, because it may be slow."""
        await super().startup(sockets)
        if self.started:
            with suppress(OSError):  # nobody reads the message
                await asyncio.to_thread(self._on_start)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on signals; Uvicorn's own method would raise them again after stopping."""
        numbers: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)
        if threading.current_thread() is not threading.main_thread():
            numbers = ()  # other threads cannot set handlers
        before = [(number, signal.signal(number, self.handle_exit)) for number in numbers]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)
