"""Running a server on standard input and output, which carry nothing but the protocol."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import NoReturn

import anyio
from mcp.server.mcpserver import MCPServer

from taxoexpan.desk.service.suggester import Suggester
from taxoexpan.errors import ConfigurationError


@contextmanager
def printing_to_standard_error() -> Iterator[None]:
    """Send what a library prints, also from C, to standard error; a client would not parse it."""
    if sys.stdin is None or sys.stdout is None:
        message = "standard input or output is closed, but the client is connected to them"
        raise ConfigurationError(f"{message}; let an MCP client start this command")
    sys.stdout.flush()
    try:
        os.fstat(2)
    except OSError:  # it is closed; the next file that is opened must not take its place
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    original = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(original, 1)
        os.close(original)


def run_on_stdio(server: MCPServer[None], suggester: Suggester) -> None:
    """Answer one client, until it closes standard input or a signal comes."""
    _stop_at_once_on_signals()
    anyio.run(_serve, server, suggester)


async def _serve(server: MCPServer[None], suggester: Suggester) -> None:
    try:
        await server.run_stdio_async()
    except anyio.get_cancelled_exc_class():  # the client no longer reads standard output
        _end_process(0)
    await suggester.batcher.close()


def _stop_at_once_on_signals() -> None:
    """End the process on Ctrl+C and SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: _end_process(128 + number))


def _end_process(status: int) -> NoReturn:
    """End the process although a thread waits for standard input, which Python cannot interrupt.

    There is nothing to tidy up: the server writes no files.
    """
    os._exit(status)
