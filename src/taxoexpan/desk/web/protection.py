"""All protections of a server together, in the right order."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import ASGIApp

from taxoexpan.desk.web.access import Access, AccessControl
from taxoexpan.desk.web.body_limit import BodyLimit
from taxoexpan.desk.web.csrf import CsrfCookie
from taxoexpan.desk.web.security_headers import SecurityHeaders

MAX_BODY = 1 << 20
"""The default limit of request bodies, in bytes."""


def protect_pages(app: ASGIApp, access: Access, max_body: int = MAX_BODY) -> ASGIApp:
    """Return an app with web pages: access, security headers, a body limit, and no forged forms."""
    return SecurityHeaders(AccessControl(CsrfCookie(BodyLimit(app, max_body)), access))


def protect_service(
    app: ASGIApp, access: Access, max_body: int = MAX_BODY, public: Iterable[str] = ()
) -> ASGIApp:
    """Return an app for programs: access, security headers and a body limit.

    The `public` paths need no token. A service changes nothing, so nothing can be forged.
    """
    return SecurityHeaders(AccessControl(BodyLimit(app, max_body), access, frozenset(public)))
