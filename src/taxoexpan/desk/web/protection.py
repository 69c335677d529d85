"""All protections of a server together, in the right order, with the security headers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from starlette.datastructures import MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taxoexpan.desk.web.access import Access, AccessControl
from taxoexpan.desk.web.csrf import CsrfCookie
from taxoexpan.desk.web.limits import BodyLimit, ConcurrencyLimit

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
    """Adds the security headers that an answer does not have."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add headers to the answer."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers)


ANY_ORIGIN = "*"


class CrossOriginPath:
    """Allows web pages of some origins to read the answers of one path and all below it.

    Cookies are never sent along, so a page cannot use the session of a person.
    """

    def __init__(self, app: ASGIApp, path: str, origins: Sequence[str]) -> None:
        self.app, self.path = app, path
        self.allowing = CORSMiddleware(
            app, origins, allow_methods=["GET", "POST"], allow_headers=["*"]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with CORS headers in its answer if the path has them."""
        path = scope.get("path", "")
        inside = path == self.path or path.startswith(f"{self.path}/")
        await (self.allowing if inside else self.app)(scope, receive, send)


MAX_BODY = 1 << 20
"""The default limit of request bodies, in bytes."""
MAX_REQUESTS = 256
"""The default limit of requests at the same time."""


def protect_pages(app: ASGIApp, access: Access, max_body: int = MAX_BODY) -> ASGIApp:
    """Return an app with web pages: access, security headers, a body limit, and no forged forms."""
    return SecurityHeaders(AccessControl(CsrfCookie(BodyLimit(app, max_body)), access))


def protect_service(
    app: ASGIApp,
    access: Access,
    max_body: int = MAX_BODY,
    max_requests: int = MAX_REQUESTS,
    public: Iterable[str] = (),
    unlimited: Iterable[str] = (),
) -> ASGIApp:
    """Return an app for programs: access, security headers, limits of bodies and of requests.

    The `public` paths need no token, and the `unlimited` ones are answered in any case. A service
    changes nothing, so nothing can be forged.
    """
    allowed = AccessControl(BodyLimit(app, max_body), access, frozenset(public))
    return SecurityHeaders(ConcurrencyLimit(allowed, max_requests, frozenset(unlimited)))
