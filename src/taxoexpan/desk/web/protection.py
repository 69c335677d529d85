"""The protections of a server: request limits, changes only from its own pages, and headers."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taxoexpan.desk.web.access import Access, AccessControl
from taxoexpan.desk.web.problem import Problem, ProblemError

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
RECEIVE_SECONDS = 30.0
"""A client that takes longer to send a body is refused, so that it does not block a connection."""
ANY_ORIGIN = "*"
MAX_BODY = 1 << 20
"""The default limit of request bodies, in bytes."""
MAX_REQUESTS = 256
"""The default limit of requests at the same time."""
MAX_INCOMING = 64
"""All bodies that are being received have together at most this many times the largest size."""
CLOSE = {"Connection": "close"}
"""The rest of the body is not read, so that the connection cannot be used again."""
FORGED = Problem(
    HTTPStatus.FORBIDDEN,
    "the request does not come from a page of this server",
    "open the page again and repeat it",
)
TOO_SLOW = Problem(
    HTTPStatus.REQUEST_TIMEOUT,
    f"the request took longer than {RECEIVE_SECONDS:.0f} seconds to arrive",
    "send less at a time",
    headers=CLOSE,
)
BUSY = Problem(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "the server is busy",
    "send the request again later",
    headers={"Retry-After": "1"},
)
TOO_MANY_BODIES = replace(BUSY, headers={**CLOSE, "Retry-After": "1"})
TWO_LENGTHS = Problem(
    HTTPStatus.BAD_REQUEST,
    "the request has both Content-Length and Transfer-Encoding",
    "send only one of them",
    headers=CLOSE,
)

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""Only files of the server itself; no inline script or style, no frames, no other servers."""

SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    # With no-referrer, browsers would send "Origin: null" with the forms of our own pages.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


def _with_security_headers(app: ASGIApp) -> ASGIApp:
    """Add missing security headers to the responses of an app."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await app(scope, receive, send_more)

    return answer


def allow_origins(app: ASGIApp, path: str, origins: Sequence[str]) -> ASGIApp:
    """Let pages of some origins read a path and its subpaths, without cookies."""
    allowing = CORSMiddleware(app, origins, allow_methods=["GET", "POST"], allow_headers=["*"])

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        inside = f"{scope.get('path', '')}/".startswith(f"{path}/")
        await (allowing if inside else app)(scope, receive, send)

    return answer


def refuse_two_lengths(app: ASGIApp) -> ASGIApp:
    """Refuse requests with two lengths with 400, and close the connection.

    A proxy in front that uses the other length would see another end of the request, so that the
    rest of one client's body is read as the next client's request (request smuggling).
    """

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        is_ambiguous = "content-length" in headers and "transfer-encoding" in headers
        await (TWO_LENGTHS.answer(scope) if is_ambiguous else app)(scope, receive, send)

    return answer


class BodyLimit:
    """Middleware that receives the whole body first, and refuses large or slow requests."""

    def __init__(self, app: ASGIApp, max_bytes: int, seconds: float = RECEIVE_SECONDS) -> None:
        self.app = app
        self.max_bytes = max_bytes
        self.seconds = seconds
        self.incoming = 0
        """The bytes of all bodies that are being received."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body, or refuse it with 413, 408 or 503."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self.seconds):
                body = await self._receive_body(scope, receive)
        except ProblemError as error:
            await error.problem.answer(scope)(scope, receive, send)
        except TimeoutError:
            await TOO_SLOW.answer(scope)(scope, receive, send)
        else:
            if body is not None:
                await self.app(scope, _replayed(body, receive), send)

    async def _receive_body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the body, or None if the client has disconnected."""
        self._refuse_large(int(Headers(scope=scope).get("content-length", 0)))
        body = bytearray()
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                body += message.get("body", b"")
                self.incoming += len(message.get("body", b""))
                self._refuse_large(len(body))
                if not message.get("more_body", False):
                    return bytes(body)
                if self.incoming > MAX_INCOMING * self.max_bytes:
                    raise ProblemError(TOO_MANY_BODIES)
        finally:
            self.incoming -= len(body)

    def _refuse_large(self, size: int) -> None:
        if size > self.max_bytes:
            problem = f"the request has more than {self.max_bytes:,} bytes"
            fix = "send it in several parts"
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            raise ProblemError(Problem(status, problem, fix, headers=CLOSE))


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` function that returns the body once, and then the client's messages."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return pending.pop() if pending else await receive()

    return receive_again


def _limit_requests(app: ASGIApp, max_requests: int, exempt: Collection[str]) -> ASGIApp:
    """Refuse requests above the limit with 503, except for the `exempt` paths."""
    running = 0

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal running
        is_limited = scope["type"] == "http" and scope["path"] not in exempt
        if is_limited and running >= max_requests:
            await BUSY.answer(scope)(scope, receive, send)
            return
        running += is_limited
        try:
            await app(scope, receive, send)
        finally:
            running -= is_limited

    return answer


def _refuse_other_origins(app: ASGIApp) -> ASGIApp:
    """Refuse changes from pages of another origin (CSRF) with 403."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        is_change = scope["type"] == "http" and scope["method"] not in SAFE_METHODS
        is_forged = is_change and not _is_same_origin(Headers(scope=scope))
        await (FORGED.answer(scope) if is_forged else app)(scope, receive, send)

    return answer


def _is_same_origin(headers: Headers) -> bool:
    """Return whether a request comes from our own page, or from a program that is not a browser.

    Browsers send Sec-Fetch-Site only to https and localhost, but Origin with every POST. A page
    cannot change these headers.
    """
    site = headers.get("sec-fetch-site")
    origin = headers.get("origin")
    if site is not None and site not in ("same-origin", "none"):
        return False
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
    except ValueError:  # not a URL
        return False


def protect_pages(app: ASGIApp, access: Access, max_body: int = MAX_BODY) -> ASGIApp:
    """Return the app with access control, security headers, a body limit and an origin check."""
    limited = _refuse_other_origins(BodyLimit(app, max_body))
    return _with_security_headers(AccessControl(limited, access))


def protect_service(
    app: ASGIApp,
    access: Access,
    max_body: int = MAX_BODY,
    max_requests: int = MAX_REQUESTS,
    public: Collection[str] = (),
    unlimited: Collection[str] = (),
    linked: str | None = None,
) -> ASGIApp:
    """Return the app with access control, security headers, and limits for bodies and requests.

    The `public` paths need no token, the `unlimited` paths have no request limit, and links below
    `linked` may have a key. Origins are not checked, because the service changes nothing.
    """
    # A request that is still being received takes no place of a request that can be answered.
    received = BodyLimit(_limit_requests(app, max_requests, unlimited), max_body)
    return _with_security_headers(AccessControl(received, access, public, linked))
