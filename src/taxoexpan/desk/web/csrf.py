"""Protection of forms against requests that other web pages forge (CSRF).

A request that changes something must come from a page of the same origin, and must repeat the
value of a cookie that only our pages can read: in the field `csrf_token` of a form, or in the
header `X-CSRF-Token`.
"""

from __future__ import annotations

import hmac
import secrets
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from taxoexpan.desk.web.problem import Problem, ProblemError

CSRF_FIELD = "csrf_token"
CSRF_HEADER = "X-CSRF-Token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
MIN_LENGTH = 32

FORGED = Problem(
    HTTPStatus.FORBIDDEN,
    "the request does not come from a page of this server; open the page again and repeat it",
)


class CsrfCookie:
    """Gives every browser a random cookie, and refuses changes from pages of another origin.

    Templates find the value in `request.state.csrf_token`. The routes that change something need
    the dependency `require_csrf_token`, which compares it with the value that a form sends.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its token, or answer it with 403."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, name = Headers(scope=scope), _cookie_name(scope)
        if scope["method"] not in SAFE_METHODS and not _is_same_origin(headers):
            await FORGED.answer(scope)(scope, receive, send)
            return
        known = cookie_parser(headers.get("cookie", "")).get(name, "")
        token = known if len(known) >= MIN_LENGTH else secrets.token_urlsafe(MIN_LENGTH)
        scope.setdefault("state", {})["csrf_token"] = token
        secure = "; Secure" if scope["scheme"] == "https" else ""
        cookie = f"{name}={token}; Path=/; HttpOnly; SameSite=Strict{secure}"

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start" and token != known:
                MutableHeaders(scope=message).append("Set-Cookie", cookie)
            await send(message)

        await self.app(scope, receive, send_with_cookie)


async def require_csrf_token(request: Request) -> None:
    """Refuse a request that changes something without the token; a dependency of routes."""
    if request.method in SAFE_METHODS:
        return
    sent: object = request.headers.get(CSRF_HEADER)
    if sent is None and "form" in request.headers.get("content-type", ""):
        sent = (await request.form()).get(CSRF_FIELD)
    cookie = request.cookies.get(_cookie_name(request.scope), "")
    expected = cookie if len(cookie) >= MIN_LENGTH else ""
    if not expected or not isinstance(sent, str) or not _equal(expected, sent):
        raise ProblemError(FORGED)


def _is_same_origin(headers: Headers) -> bool:
    """Whether a browser says that the request comes from our own page; other programs say nothing.

    Browsers send Sec-Fetch-Site to https and localhost only, and Origin with every POST.
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


def _equal(expected: str, sent: str) -> bool:
    return hmac.compare_digest(expected.encode(), sent.encode())


def _cookie_name(scope: Scope) -> str:
    _, port = scope.get("server") or ("", 0)
    return f"taxoexpan_csrf_{port or 0}"
