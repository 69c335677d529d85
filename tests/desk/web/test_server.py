from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from logging.config import dictConfig

import httpx
import pytest

from taxoexpan.desk.web.access import Access
from taxoexpan.desk.web.server import listen, log_settings, run_server, server_url
from taxoexpan.errors import ConfigurationError


def test_the_log_shows_control_characters_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    settings = log_settings()
    settings["formatters"]["default"]["use_colors"] = False
    dictConfig(settings)
    log = logging.getLogger("uvicorn.error")
    try:
        raise ValueError("bad \x1b[2J")
    except ValueError:
        log.exception("request %s failed", "\x1b]0;x\x07")
    sys.stderr.flush()
    written = capsys.readouterr().err
    assert r"request \x1b]0;x\x07 failed" in written
    assert r"ValueError: bad \x1b[2J" in written
    assert "\x1b" not in written


IMPATIENT = """
from fastapi import FastAPI
from taxoexpan.desk.web import server
from taxoexpan.desk.web.access import Access
from taxoexpan.desk.web.protection import protect_service
import asyncio

server.HEADER_SECONDS = 0.2
server.KEEP_ALIVE_SECONDS = 1
app = FastAPI()

@app.get("/slow")
async def slow():
    await asyncio.sleep(0.5)
    return "done"

server.run_server(protect_service(app, Access()), Access(), 0, lambda url: print(url, flush=True))
"""


@pytest.fixture(scope="module")
def url() -> Iterator[httpx.URL]:
    """A server that waits a fifth of a second for the header of a request."""
    command = [sys.executable, "-c", IMPATIENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        yield httpx.URL(process.stdout.readline().strip())
        process.terminate()


def received(connection: socket.socket) -> bytes:
    """Return all that a server sends until it closes the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("sent", [b"", b"GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_a_connection_without_a_whole_header_is_closed(url: httpx.URL, sent: bytes) -> None:
    with socket.create_connection((url.host, url.port), timeout=30) as connection:
        connection.sendall(sent)
        assert received(connection) == b""


def test_a_request_may_take_longer_than_its_header(url: httpx.URL) -> None:
    with httpx.Client(base_url=url, timeout=30) as client:
        for _ in range(2):
            assert client.get("/slow").status_code == 200


def test_half_a_header_after_a_request_is_closed_too(url: httpx.URL) -> None:
    request = b"GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with socket.create_connection((url.host, url.port), timeout=60) as connection:
        connection.sendall(request)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.sendall(request[:20])
        assert b"HTTP" not in received(connection)


PROGRAM = """
import asyncio
from fastapi import FastAPI
from taxoexpan.desk.web.access import Access
from taxoexpan.desk.web.protection import protect_service
from taxoexpan.desk.web.server import run_server

app = FastAPI()

@app.get("/slow")
async def slow():
    print("begun", flush=True)
    await asyncio.sleep(1)
    return "finished"

run_server(protect_service(app, Access()), Access(), 0, lambda url: print(url, flush=True))
print("stopped", flush=True)
"""


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_stopped_server_finishes_requests_that_have_begun(number: signal.Signals) -> None:
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        answers: list[httpx.Response] = []
        client = threading.Thread(
            target=lambda: answers.append(httpx.get(f"{url}slow", timeout=30))
        )
        client.start()
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        client.join()
        assert answers[0].json() == "finished"
        assert process.stdout.read() == "stopped\n"
        assert process.wait() == 0
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{url}slow")


def test_a_busy_port_is_refused() -> None:
    with listen("127.0.0.1", 0) as busy:
        port = busy.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port}: .*another port"):
            run_server(_never, Access(), port, print)


def test_the_next_free_port_is_used_only_if_the_port_is_taken() -> None:
    with listen("127.0.0.1", 0) as busy:
        port = busy.getsockname()[1]
        with listen("127.0.0.1", port, or_next=True) as other:
            assert other.getsockname()[1] not in (0, port)
    with listen("127.0.0.1", port, or_next=True) as free:
        assert free.getsockname()[1] == port


@pytest.mark.parametrize(
    ("host", "port"),
    [("127.0.0.1", 70000), ("127.0.0.1", -1), ("no.such.host.invalid", 0), ("192.0.2.1", 0)],
)
def test_an_impossible_address_is_refused(host: str, port: int) -> None:
    with pytest.raises(ConfigurationError, match=f"{host}, port {port}: "):
        listen(host, port)


@pytest.mark.parametrize(
    ("access", "url"),
    [
        (Access(), "http://127.0.0.1:8000/"),
        (Access("::1"), "http://[::1]:8000/"),
        (
            Access("10.0.0.1", "a&b=c+d/e?f#ghijk"),
            "http://10.0.0.1:8000/?token=a%26b%3Dc%2Bd%2Fe%3Ff%23ghijk",
        ),
        (Access("0.0.0.0", "x" * 16), f"http://{socket.gethostname()}:8000/?token={'x' * 16}"),
    ],
)
def test_the_url_has_the_token(access: Access, url: str) -> None:
    assert server_url(access, 8000) == url


async def _never(*_: object) -> None:
    raise AssertionError
