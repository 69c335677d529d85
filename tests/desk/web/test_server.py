from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from logging.config import dictConfig

import httpx
import pytest
from fastapi import FastAPI, Request

from taxoexpan.desk.web import server
from taxoexpan.desk.web.access import Access
from taxoexpan.desk.web.logs import log_settings
from taxoexpan.desk.web.protection import MAX_INCOMING, protect_service
from taxoexpan.desk.web.server import SEND_SECONDS, listen, run_server, server_url
from taxoexpan.errors import ConfigurationError
from tests.support.forked_processes import Forked, forked


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


def serve_impatiently() -> None:
    """Serve with short time limits, and print the URL."""
    server.HEADER_SECONDS = 0.2
    server.KEEP_ALIVE_SECONDS = 1
    app = FastAPI()

    @app.get("/slow")
    async def slow() -> str:
        await asyncio.sleep(0.5)
        return "done"

    @app.post("/size")
    async def size(request: Request) -> int:
        return len(await request.body())

    protected = protect_service(app, Access(), max_body=1000, max_requests=2)
    run_server(protected, Access(), 0, lambda url: print(url, flush=True))


@contextmanager
def server_process() -> Iterator[tuple[Forked, httpx.URL]]:
    """Start the server above; yield its process and its URL."""
    with forked(serve_impatiently) as process:
        yield process, httpx.URL(process.out.readline().strip())


@pytest.fixture(scope="module")
def url() -> Iterator[httpx.URL]:
    """A server that waits a fifth of a second for a header, and answers two requests at a time."""
    with server_process() as (_, url):
        yield url


def connect(url: httpx.URL) -> socket.socket:
    return socket.create_connection((url.host, url.port), timeout=60)


def received(connection: socket.socket) -> bytes:
    """Return all that a server sends until it closes the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("sent", [b"", b"GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_a_connection_without_a_whole_header_is_closed(url: httpx.URL, sent: bytes) -> None:
    with connect(url) as connection:
        connection.sendall(sent)
        assert received(connection) == b""


def test_a_request_may_take_longer_than_its_header(url: httpx.URL) -> None:
    with httpx.Client(base_url=url, timeout=30) as client:
        for _ in range(2):
            assert client.get("/slow").status_code == 200


def test_half_a_header_after_a_request_is_closed_too(url: httpx.URL) -> None:
    request = b"GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with connect(url) as connection:
        connection.sendall(request)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.sendall(request[:20])
        assert b"HTTP" not in received(connection)


POST = b"POST /size HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: 99\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5",
        b"Content-Length: 5\r\nContent-Length: 6",
        b"Content-Length: 5, 6",
        b"Content-Length: -5",
        b"Content-Length: +5",
        b"Content-Length: ",
        b"Content-Length : 5",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: gzip, chunked",
    ],
)
def test_a_request_without_a_clear_length_is_refused_and_its_connection_closed(
    url: httpx.URL, lengths: bytes
) -> None:
    with connect(url) as connection:
        connection.sendall(POST + lengths + b"\r\n\r\n0\r\n\r\n" + POST + b"\r\n")
        answers = received(connection)
    assert answers.startswith(b"HTTP/1.1 400")
    assert answers.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("host", "waits"), [(b"127.0.0.1", False), (b"evil.example", True), (b"evil.example", False)]
)
def test_malformed_bodies_leave_no_error_of_the_server_in_the_log(host: bytes, waits: bool) -> None:
    with server_process() as (process, url), connect(url) as connection:
        header = b"POST /size HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n" % host
        connection.sendall(header if waits else header + b"zz\r\n")
        if waits and host == b"evil.example":
            assert connection.recv(65536).startswith(b"HTTP/1.1 421")
        connection.sendall(b"zz\r\n")
        received(connection)
        process.end()
        assert "Traceback" not in process.err.read()


def test_clients_that_send_slowly_take_no_place_of_others(url: httpx.URL) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(url)) for _ in range(10)]
        for connection in slow:
            connection.sendall(POST + b"Content-Length: 4\r\n\r\nab")
        assert httpx.get(url.join("/slow"), timeout=30).status_code == 200
        for connection in slow:
            connection.sendall(b"cd")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_bodies_that_are_being_received_have_a_common_limit(url: httpx.URL) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(url)) for _ in range(MAX_INCOMING + 2)]
        for connection in slow:
            connection.sendall(POST + b"Content-Length: 1000\r\n\r\n" + b"x" * 999)
        last = received(slow[-1])
        assert last.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1" in last
        assert httpx.get(url.join("/slow"), timeout=30).status_code == 200
        slow[0].sendall(b"x")
        assert slow[0].recv(65536).startswith(b"HTTP/1.1 200")


@pytest.fixture
def accepted() -> Iterator[socket.socket]:
    """A connection that a listening socket of a server has accepted."""
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        connection, _ = listening.accept()
        with connection:
            yield connection


def test_small_responses_are_sent_at_once(accepted: socket.socket) -> None:
    assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="needs an option of Linux")
def test_clients_that_read_nothing_are_disconnected(accepted: socket.socket) -> None:
    milliseconds = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    assert milliseconds == SEND_SECONDS * 1000


def serve_slowly() -> None:
    """Serve, and print the URL, the beginning of each request, and the end."""
    app = FastAPI()

    @app.get("/slow")
    async def slow() -> str:
        print("begun", flush=True)
        await asyncio.sleep(0.5)
        return "finished"

    served = protect_service(app, Access())
    run_server(served, Access(), 0, lambda url: print(url, flush=True))
    print("stopped", flush=True)


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_stopped_server_finishes_requests_that_have_begun(number: signal.Signals) -> None:
    with forked(serve_slowly) as process:
        url = process.out.readline().strip()
        answers: list[httpx.Response] = []
        client = threading.Thread(
            target=lambda: answers.append(httpx.get(f"{url}slow", timeout=30))
        )
        client.start()
        assert process.out.readline() == "begun\n"
        assert process.end(number) == 0
        client.join()
        assert answers[0].json() == "finished"
        assert process.out.read() == "stopped\n"
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
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000/"),
        ("::1", "http://[::1]:8000/"),
        ("0.0.0.0", f"http://{socket.gethostname()}:8000/"),
    ],
)
def test_the_url_names_the_host(host: str, url: str) -> None:
    assert server_url(host, 8000) == url


async def _never(*_: object) -> None:
    raise AssertionError
