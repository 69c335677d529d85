from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no limit of open files")

PROGRAM = """
from fastapi import FastAPI
from taxoexpan.desk.web import header_timeout, server
from taxoexpan.desk.web.access import Access
from taxoexpan.desk.web.protection import protect_service
import asyncio, resource

header_timeout.HEADER_SECONDS = 0.2
server.KEEP_ALIVE_SECONDS = 1
app = FastAPI()

@app.get("/slow")
async def slow():
    await asyncio.sleep(0.5)
    return resource.getrlimit(resource.RLIMIT_NOFILE)

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 128))
server.run_server(protect_service(app, Access()), Access(), 0, lambda url: print(url, flush=True))
"""


@pytest.fixture(scope="module")
def url() -> Iterator[httpx.URL]:
    """A server that waits a fifth of a second for the header of a request."""
    command = [sys.executable, "-c", PROGRAM]
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


def test_a_server_may_open_as_many_files_as_it_is_allowed_to(url: httpx.URL) -> None:
    assert httpx.get(url.join("/slow"), timeout=30).json() == [128, 128]
