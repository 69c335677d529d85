from __future__ import annotations

import asyncio

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from taxoexpan.desk.web.access import Access
from taxoexpan.desk.web.protection import (
    BodyLimit,
    protect_pages,
    protect_service,
)

TOKEN = "0123456789abcdef"
PAGE = {"Accept": "text/html"}
LOCAL = "http://127.0.0.1:8000"


def app_with_a_form() -> Starlette:
    def page(_: Request) -> Response:
        return PlainTextResponse("a page")

    async def rename(request: Request) -> Response:
        return JSONResponse((await request.form())["name"])

    def items(request: Request) -> Response:
        return JSONResponse(request.query_params.get("word", ""))

    routes = [Route("/", page), Route("/items", items), Route("/rename", rename, methods=["POST"])]
    return Starlette(routes=routes)


def browser(access: Access | None = None, url: str = LOCAL, max_body: int = 1000) -> TestClient:
    protected = protect_pages(app_with_a_form(), access or Access(), max_body)
    return TestClient(protected, url, follow_redirects=False)


@pytest.mark.parametrize("path", ["/", "/missing"])
def test_every_answer_has_the_security_headers(path: str) -> None:
    for client in (browser(), browser(url="http://evil.example")):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000", "http://localhost", "http://[::1]:9", "http://LocalHost:80"]
)
def test_names_of_this_machine_are_accepted(url: str) -> None:
    assert browser(url=url).get("/").status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000", "10.0.0.1", ""],
)
def test_a_foreign_host_name_is_refused(host: str) -> None:
    answer = browser().get("/", headers={"Host": host})
    assert answer.status_code == 421
    assert "use the URL that the server printed" in answer.json()["detail"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_post_from_another_origin_is_refused(headers: dict[str, str]) -> None:
    client, form = browser(), {"name": "x"}
    refused = client.post("/rename", data=form, headers=headers)
    assert refused.status_code == 403
    assert "open the page again" in refused.json()["detail"]
    same = {"Origin": LOCAL, "Sec-Fetch-Site": "same-origin"}
    assert client.post("/rename", data=form, headers=same).json() == "x"
    assert client.get("/items", headers=headers).status_code == 200


def test_a_large_body_is_refused_with_or_without_its_length() -> None:
    client = browser(max_body=100)
    client.get("/")
    for content in (b"x" * 101, iter([b"x" * 60, b"x" * 60])):
        answer = client.post("/rename", content=content)
        assert answer.status_code == 413
        assert "more than 100 bytes; send it in several parts" in answer.json()["detail"]


def test_with_a_token_nothing_is_answered_without_it() -> None:
    client = browser(Access("0.0.0.0", TOKEN), "http://desk.example")
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
        answer = client.get("/items?token=wrong", headers=headers)
        assert answer.status_code == 401
        assert "add ?token=TOKEN to the URL" in answer.text
        assert answer.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in answer.text
    for cookie in ("taxoexpan_session_80=", f"taxoexpan_session_80={TOKEN}"):
        assert client.get("/items", headers={"Cookie": cookie}).status_code == 401


def test_a_program_sends_the_token_as_header_or_parameter() -> None:
    client = browser(Access("0.0.0.0", TOKEN), "http://desk.example")
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert client.get("/items?word=a", headers=bearer).json() == "a"
    assert client.get(f"/items?word=a&token={TOKEN}").json() == "a"


def test_a_browser_gets_a_cookie_in_place_of_the_token() -> None:
    client = browser(Access("0.0.0.0", TOKEN), "http://desk.example")
    answer = client.get(f"/items?word=a+b&token={TOKEN}", headers=PAGE)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/items?word=a+b"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert TOKEN not in cookie
    assert client.get(answer.headers["location"], headers=PAGE).json() == "a b"


def test_the_redirect_stays_on_this_server() -> None:
    client = browser(Access("0.0.0.0", TOKEN), "http://desk.example")
    answer = client.get(f"http://desk.example//evil.example/?token={TOKEN}", headers=PAGE)
    assert answer.headers["location"] == "/evil.example/"


def test_public_paths_need_no_token_unless_they_have_parameters() -> None:
    app = protect_service(app_with_a_form(), Access("0.0.0.0", TOKEN), public=["/items"])
    client = TestClient(app, "http://desk.example")
    assert client.get("/items").status_code == 200
    assert client.get("/items?word=a").status_code == 401
    assert client.post("/items").status_code == 401


SCOPE = {"type": "http", "method": "POST", "headers": [], "path": "/"}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    message = await receive()
    assert not message.get("more_body")
    await PlainTextResponse(message["body"])(scope, receive, send)


def answer(*chunks: Message, seconds: float = 30.0) -> list[Message]:
    """Send a request in chunks, and then nothing more; return the messages of the answer."""
    pending, sent = list(chunks), []

    async def receive() -> Message:
        return pending.pop(0) if pending else await asyncio.Event().wait()  # type: ignore[return-value]

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(BodyLimit(echo, 10, seconds)(SCOPE, receive, send))
    return sent


def chunk(body: bytes, more: bool) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_body_in_chunks_arrives_whole() -> None:
    start, body = answer(chunk(b"abc", True), chunk(b"def", False))
    assert (start["status"], body["body"]) == (200, b"abcdef")


def test_a_body_that_never_ends_is_refused() -> None:
    start, body = answer(chunk(b"abc", True), seconds=0.05)
    assert start["status"] == 408
    assert b"send less at a time" in body["body"]
    assert (b"connection", b"close") in start["headers"]


def test_a_body_that_grows_too_large_is_refused_before_its_end() -> None:
    start, _ = answer(chunk(b"abcdef", True), chunk(b"abcdef", True))
    assert start["status"] == 413


def test_a_client_that_has_gone_gets_no_answer() -> None:
    assert answer(chunk(b"abc", True), {"type": "http.disconnect"}) == []
