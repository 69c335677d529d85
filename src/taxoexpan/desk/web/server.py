"""Running an app on a port until it is stopped; requests that have begun are finished."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote

import uvicorn
from starlette.types import ASGIApp

from taxoexpan.desk.web.access import TOKEN_PARAMETER, Access
from taxoexpan.desk.web.header_timeout import HeaderTimeout, raise_file_limit
from taxoexpan.desk.web.server_log import log_settings
from taxoexpan.errors import ConfigurationError

STOP_SECONDS = 30
"""How long a stopping server waits for requests that have begun."""
KEEP_ALIVE_SECONDS = 15
BACKLOG = 1024
"""Connections that may wait to be accepted."""
ACCEPTED_AT_ONCE = 32
"""Connections that the event loop accepts before it reads what the others have sent."""
MAX_PORT = 65535
REPORT_SECONDS = 60
"""How often too many connections are reported."""


def run_server(
    app: ASGIApp,
    access: Access,
    port: int,
    on_start: Callable[[str], None],
    stop_seconds: int = STOP_SECONDS,
) -> None:
    """Serve an app until SIGTERM or Ctrl+C; port 0 is any free port.

    `on_start` gets the URL, with the token, as soon as requests are answered.
    """
    listening = listen(access.host, port)
    url = server_url(access, listening.getsockname()[1])
    config = uvicorn.Config(
        app,
        http=HeaderTimeout,
        backlog=ACCEPTED_AT_ONCE,
        log_config=log_settings(),
        log_level="warning",
        use_colors=False,  # its messages may end in a log
        access_log=False,  # it would contain the token
        server_header=False,
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=stop_seconds,
    )
    raise_file_limit()
    server = _AnnouncingServer(config, lambda: on_start(url))
    with listening:
        server.run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address."""
    if not 0 <= port <= MAX_PORT:
        raise _cannot_listen(host, port, "no such port")
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise _no_own_address(host) from None
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise _no_own_address(host) from None
        raise _cannot_listen(host, port, str(error.strerror)) from None
    return listening


def _no_own_address(host: str) -> ConfigurationError:
    message = f"the host {host!r} is no address of this machine"
    return ConfigurationError(f"{message}; use 127.0.0.1, or 0.0.0.0 for all of its addresses")


def _cannot_listen(host: str, port: int, reason: str) -> ConfigurationError:
    message = f"cannot listen on {host}, port {port}: {reason}"
    return ConfigurationError(f"{message}; choose another port, or 0 for any free one")


def server_url(access: Access, port: int) -> str:
    """Return the URL of a server, with its token."""
    host = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(
        access.host, access.host
    )
    name = f"[{host}]" if ":" in host else host
    token = f"?{TOKEN_PARAMETER}={quote(access.token, safe='')}" if access.token else ""
    return f"http://{name}:{port}/{token}"


class _ErrorReport:
    """Reports errors of the event loop; too many connections once a minute, not for each of them.

    Without it, clients that only connect would fill the disk with tracebacks.
    """

    def __init__(self) -> None:
        self._next_time = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(context)
        elif loop.time() >= self._next_time:
            self._next_time = loop.time() + REPORT_SECONDS
            message = "too many connections are open, others have to wait; raise ulimit -n"
            logging.getLogger("uvicorn.error").error(message)


class _AnnouncingServer(uvicorn.Server):
    """A server that says when it answers requests, and that stops without an error."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and call `on_start`; it may take long, such as opening a browser."""
        asyncio.get_running_loop().set_exception_handler(_ErrorReport())
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(BACKLOG)  # the event loop has lowered it to what it accepts at once
        if self.started:
            with suppress(OSError):  # nobody reads the message
                await asyncio.to_thread(self._on_start)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on signals; Uvicorn's own method would raise them again after the stop."""
        numbers: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)
        if threading.current_thread() is not threading.main_thread():
            numbers = ()  # other threads cannot set handlers
        before = [(number, signal.signal(number, self.handle_exit)) for number in numbers]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)
