from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from taxoexpan.desk.web.access import Access, AccessControl
from taxoexpan.desk.web.logs import LOGGER, log_requests

TOKEN = "0123456789abcdef"
ACCESS = Access(token=TOKEN)


@pytest.fixture
def client() -> Iterator[TestClient]:
    """A client of a server that logs its requests, with pages below /linked that have a key."""

    async def page(request: Request) -> PlainTextResponse:
        return PlainTextResponse(request.url.path)

    app = Starlette(routes=[Route("/{path:path}", page, methods=["GET", "POST"])])
    protected = AccessControl(app, ACCESS, linked="/linked")
    with TestClient(log_requests(protected, ACCESS), "http://desk.example") as client:
        yield client


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The messages about requests."""
    return [r.getMessage() for r in caplog.records if r.name == f"{LOGGER}.access"]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, LOGGER)
    return caplog


def test_every_request_has_a_line_also_if_it_is_refused(
    client: TestClient, lines: pytest.LogCaptureFixture
) -> None:
    client.get("/a/b", headers={"Authorization": f"Bearer {TOKEN}"})
    client.post("/a")
    first, second = logged(lines)
    assert first.startswith("GET /a/b 200 ")
    assert second.startswith("POST /a 401 ")
    assert float(first.split()[3]) >= 0
    assert first.endswith(" ms")


@pytest.mark.parametrize(
    "path",
    [
        f"/a?token={TOKEN}&q=secret",
        f"/{TOKEN}/a",
        f"/%30{TOKEN[1:]}/a",
        f"/linked/{ACCESS.link_key()}/preview",
        f"/a/{ACCESS.session()}",
    ],
)
def test_a_line_has_neither_parameters_nor_tokens_nor_keys(
    client: TestClient, lines: pytest.LogCaptureFixture, path: str
) -> None:
    client.get(path, headers={"Accept": "text/html"}, follow_redirects=False)
    (line,) = logged(lines)
    for secret in (TOKEN, TOKEN[1:], ACCESS.link_key(), ACCESS.session(), "secret", "?"):
        assert secret not in line
    assert ("***" in line) == ("?" not in path)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/a%0AGET%20/b%20200", "/a%0AGET%20/b%20200"),
        ("/%1B[2J", "/%1B%5B2J"),
        ("/%22a%22%20%E2%80%AE", "/%22a%22%20%E2%80%AE"),
        ("/http://example.org/milk", "/http://example.org/milk"),
        ("/%FF", "/%EF%BF%BD"),
    ],
)
def test_a_path_is_one_visible_word(
    client: TestClient, lines: pytest.LogCaptureFixture, path: str, shown: str
) -> None:
    client.get(path)
    (line,) = logged(lines)
    assert line.split()[:3] == ["GET", shown, "401"]
    assert line.isascii()
    assert line.isprintable()


def test_a_long_path_is_shortened(client: TestClient, lines: pytest.LogCaptureFixture) -> None:
    client.get(f"/{'x' * 5_000}")
    assert len(logged(lines)[0]) < 400


def test_nothing_is_logged_below_the_level(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, LOGGER)
    client.get("/a")
    assert logged(caplog) == []


def test_a_request_that_fails_has_a_line(lines: pytest.LogCaptureFixture) -> None:
    async def fail(_: Request) -> PlainTextResponse:
        raise ValueError("broken")

    app = log_requests(Starlette(routes=[Route("/", fail)]), ACCESS)
    TestClient(app, raise_server_exceptions=False).get("/")
    assert [line.split()[:3] for line in logged(lines)] == [["GET", "/", "500"]]
