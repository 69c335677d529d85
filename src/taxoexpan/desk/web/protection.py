"""All protections of a server together, in the right order."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import ASGIApp

from taxoexpan.desk.web.access import Access, AccessControl
from taxoexpan.desk.web.body_limit import BodyLimit
from taxoexpan.desk.web.concurrency_limit import ConcurrencyLimit
from taxoexpan.desk.web.csrf import CsrfCookie
from taxoexpan.desk.web.security_headers import SecurityHeaders

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
