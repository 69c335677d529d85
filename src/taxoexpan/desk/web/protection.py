"""The protections of a server: request limits, changes only from its own pages, and headers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
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
CLOSE = {"Connection": "close"}
"""The rest of the body is not read, so that the connection cannot be used again."""
FORGED = Problem(
    HTTPStatus.FORBIDDEN,
    "the request does not come from a page of this server; open the page again and repeat it",
)
TOO_SLOW = Problem(
    HTTPStatus.REQUEST_TIMEOUT,
    f"the request took longer than {RECEIVE_SECONDS:.0f} seconds to arrive; send less at a time",
    headers=CLOSE,
)
BUSY = Problem(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "the server is busy; send the request again later",
    headers={"Retry-After": "1"},
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


class SecurityHeaders:
    """Middleware that adds missing security headers to responses."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add headers to the response."""

        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_more)


class CrossOriginPath:
    """Middleware that lets pages of some origins read a path and its subpaths, without cookies."""

    def __init__(self, app: ASGIApp, path: str, origins: Sequence[str]) -> None:
        self.app, self.path = app, path
        self.allowing = CORSMiddleware(
            app, origins, allow_methods=["GET", "POST"], allow_headers=["*"]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add CORS headers to responses of this path."""
        path = scope.get("path", "")
        inside = path == self.path or path.startswith(f"{self.path}/")
        await (self.allowing if inside else self.app)(scope, receive, send)


class BodyLimit:
    """Middleware that receives the whole body first, and refuses large or slow requests."""

    def __init__(self, app: ASGIApp, max_bytes: int, seconds: float = RECEIVE_SECONDS) -> None:
        self.app, self.max_bytes, self.seconds = app, max_bytes, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body, or refuse it with 413 or 408."""
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
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdigit() and int(announced) > self.max_bytes:
            raise ProblemError(self._too_large())
        chunks, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            chunks.append(message.get("body", b""))
            size += len(chunks[-1])
            if size > self.max_bytes:
                raise ProblemError(self._too_large())
            if not message.get("more_body", False):
                return b"".join(chunks)

    def _too_large(self) -> Problem:
        detail = f"the request has more than {self.max_bytes:,} bytes; send it in several parts"
        return Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, headers=CLOSE)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` function that returns the body once, and then the client's messages."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return pending.pop() if pending else await receive()

    return receive_again


class ConcurrencyLimit:
    """Middleware that refuses requests above the limit with 503, except for the `exempt` paths."""

    def __init__(
        self, app: ASGIApp, max_requests: int, exempt: frozenset[str] = frozenset()
    ) -> None:
        self.app, self.max_requests, self.exempt = app, max_requests, exempt
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it with 503."""
        if scope["type"] != "http" or scope["path"] in self.exempt:
            await self.app(scope, receive, send)
            return
        if self._running >= self.max_requests:
            await BUSY.answer(scope)(scope, receive, send)
            return
        self._running += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._running -= 1


class SameOrigin:
    """Middleware that refuses changes from pages of another origin (CSRF)."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it with 403."""
        app = self.app
        if scope["type"] == "http" and scope["method"] not in SAFE_METHODS:
            app = app if _is_same_origin(Headers(scope=scope)) else FORGED.answer(scope)
        await app(scope, receive, send)


def _is_same_origin(headers: Headers) -> bool:
    """Return whether a request comes from our own page, or from a program that is not a browser.

    Browsers send Sec-Fetch-Site only to https and localhost, but Origin with every POST. A page
    cannot change these headers.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
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
    return SecurityHeaders(AccessControl(SameOrigin(BodyLimit(app, max_body)), access))


def protect_service(
    app: ASGIApp,
    access: Access,
    max_body: int = MAX_BODY,
    max_requests: int = MAX_REQUESTS,
    public: Iterable[str] = (),
    unlimited: Iterable[str] = (),
    linked: str | None = None,
) -> ASGIApp:
    """Return the app with access control, security headers, and limits for bodies and requests.

    The `public` paths need no token, the `unlimited` paths have no request limit, and links below
    `linked` may have a key. Origins are not checked, because the service changes nothing.
    """
    allowed = AccessControl(BodyLimit(app, max_body), access, frozenset(public), linked)
    return SecurityHeaders(ConcurrencyLimit(allowed, max_requests, frozenset(unlimited)))
