from __future__ import annotations

import asyncio

from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from taxoexpan.desk.web.limits import BodyLimit

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
