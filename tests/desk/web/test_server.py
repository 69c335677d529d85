from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack

import httpx
import pytest

from taxoexpan.desk.web.access import Access
from taxoexpan.desk.web.server import listen, run_server, server_url
from taxoexpan.errors import ConfigurationError

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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of open files")
def test_too_many_connections_are_reported_in_one_line() -> None:
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
    command = [sys.executable, "-c", limit + PROGRAM]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = httpx.URL(process.stdout.readline().strip())
        with ExitStack() as clients:
            for _ in range(100):
                clients.enter_context(socket.create_connection((address.host, address.port)))
            first = process.stderr.readline()
        assert httpx.get(f"{address}slow", timeout=30).json() == "finished"
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=30)
    assert "too many connections are open" in first
    assert rest == ""


def test_a_busy_port_is_refused() -> None:
    with listen("127.0.0.1", 0) as busy:
        port = busy.getsockname()[1]
        with pytest.raises(
            ConfigurationError, match=rf"port {port}: .*; choose another port, or 0"
        ):
            run_server(_never, Access(), port, print)


@pytest.mark.parametrize("port", [70000, -1])
def test_an_impossible_port_is_refused(port: int) -> None:
    with pytest.raises(ConfigurationError, match="choose another port"):
        listen("127.0.0.1", port)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_an_address_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"is no address of this machine; use 127\.0\.0\.1"
    ):
        listen(host, 0)


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
