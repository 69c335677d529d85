"""Access to a server: from this machine only, or with a token.

Without a token, the server listens on a loopback address, and the Host header must name one, so
that a web page cannot reach it under another name (DNS rebinding).
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from urllib.parse import urlencode

from starlette.datastructures import Headers, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from taxoexpan.desk.web.problem import Problem
from taxoexpan.errors import ConfigurationError

MIN_TOKEN_LENGTH = 16
TOKEN_PARAMETER = "token"


@dataclass(frozen=True)
class Access:
    """The access rule: programs on this machine, or anybody with the token."""

    host: str = "127.0.0.1"
    token: str | None = None

    def __post_init__(self) -> None:
        if self.token is None:
            if not is_loopback(self.host):
                raise ConfigurationError(
                    f"other machines can connect to the host {self.host!r}, so a token is needed: "
                    "a long random text, such as openssl rand -hex 16 prints",
                    option="token",
                )
        elif len(self.token) < MIN_TOKEN_LENGTH or not re.fullmatch("[!-~]+", self.token):
            raise ConfigurationError(
                f"the token must have at least {MIN_TOKEN_LENGTH} letters and digits, "
                "without spaces",
                fix="openssl rand -hex 16 prints one",
            )

    def accepts(self, candidate: str) -> bool:
        """Return whether a string is the token."""
        return self.accepts_derived(self.token or "", candidate)

    def entry(self, url: str) -> str:
        """Return the URL of a page with the token, with which a browser can open it."""
        return f"{url}?{urlencode({TOKEN_PARAMETER: self.token})}" if self.token else url

    def session(self) -> str:
        """Return the cookie value that replaces the token in a browser."""
        return self._derived(b"taxoexpan session")

    def link_key(self) -> str:
        """Return the part of a path that replaces the token in links, and opens nothing else."""
        return self._derived(b"taxoexpan link")

    def secrets(self) -> tuple[str, ...]:
        """Return what no log may contain: the token, and what opens the server instead of it."""
        return (self.token, self.session(), self.link_key()) if self.token else ()

    def accepts_derived(self, secret: str, candidate: str) -> bool:
        """Return whether a string is the token, or a secret made from it, in constant time."""
        return self.token is not None and hmac.compare_digest(secret.encode(), candidate.encode())

    def _derived(self, purpose: bytes) -> str:
        return hmac.new((self.token or "").encode(), purpose, sha256).hexdigest()


class AccessControl:
    """Middleware that refuses requests without the token or, if there is none, with a foreign host.

    The token is in the header `Authorization: Bearer …` or the parameter `token`; a browser that
    opens a page with the parameter gets a cookie and a redirect. GET requests without parameters
    for the `public` paths need no token. Below the path `linked`, a link may have the key of
    `Access.link_key` instead of the token: `/linked/KEY/page` is `/linked/page`.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        public: Collection[str] = (),
        linked: str | None = None,
    ) -> None:
        self.app = app
        self.access = access
        self.public = public
        self.linked = linked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with 401, 421 or a redirect."""
        app = self.app if scope["type"] != "http" else self._checked(scope)
        await app(scope, receive, send)

    def _checked(self, scope: Scope) -> ASGIApp:
        """Return the app if the request is allowed, or else the response that refuses it."""
        headers = Headers(scope=scope)
        if self.access.token is None:
            return (
                self.app if _is_local_name(headers.get("host", "")) else FOREIGN_HOST.answer(scope)
            )
        reads = scope["method"] in ("GET", "HEAD") and not scope["query_string"]
        if (reads and scope["path"] in self.public) or self._remove_key(scope):
            return self.app
        bearer, parameter = sent_tokens(scope)
        cookie = cookie_parser(headers.get("cookie", "")).get(session_cookie(scope), "")
        is_session = self.access.accepts_derived(self.access.session(), cookie)
        if is_session or self.access.accepts(bearer):
            return self.app
        if not self.access.accepts(parameter):
            return NO_TOKEN.answer(scope)
        # A browser that opens a page in a frame would drop the cookie.
        is_document = headers.get("sec-fetch-dest", "document") == "document"
        is_page = is_document and "text/html" in headers.get("accept", "")
        if scope["method"] == "GET" and is_page:
            return self._start_session(scope)
        return self.app

    def _remove_key(self, scope: Scope) -> bool:
        """Remove the key from the path of a link, and return whether it was there."""
        before, _, after = scope["path"].partition(f"{self.linked}/")
        key, _, rest = after.partition("/")
        if before or not rest or not self.access.accepts_derived(self.access.link_key(), key):
            return False
        scope["path"] = f"{self.linked}/{rest}"
        return True

    def _start_session(self, scope: Scope) -> ASGIApp:
        """Set the session cookie, and redirect to the page without the token."""
        given = QueryParams(scope["query_string"]).multi_items()
        rest = urlencode([pair for pair in given if pair[0] != TOKEN_PARAMETER])
        path = "/" + scope["raw_path"].decode("latin-1").lstrip("/")  # never //another.host
        response = RedirectResponse(f"{path}?{rest}" if rest else path, HTTPStatus.SEE_OTHER)
        response.set_cookie(
            session_cookie(scope),
            self.access.session(),
            httponly=True,
            samesite="lax",
            secure=scope["scheme"] == "https",
        )
        return response


FOREIGN_HOST = Problem(
    HTTPStatus.MISDIRECTED_REQUEST,
    "the Host header does not name this machine",
    "use the URL that the server printed, or start the server with a token",
)
NO_TOKEN = Problem(
    HTTPStatus.UNAUTHORIZED,
    "the token is missing or wrong",
    "add ?token=TOKEN to the URL, or send the header 'Authorization: Bearer TOKEN'",
    headers={"WWW-Authenticate": "Bearer"},
)


def sent_tokens(scope: Scope) -> tuple[str, str]:
    """Return the tokens in the header and in the parameter of a request, or empty strings."""
    scheme, _, bearer = Headers(scope=scope).get("authorization", "").partition(" ")
    parameter = QueryParams(scope["query_string"]).get(TOKEN_PARAMETER, "")
    return bearer.strip() if scheme.lower() == "bearer" else "", parameter


def session_cookie(scope: Scope) -> str:
    """Return the cookie's name with the port, because all ports of a host share their cookies."""
    _, port = scope.get("server") or ("", 0)
    return f"taxoexpan_session_{port or 0}"


def is_loopback(host: str) -> bool:
    """Return whether only this machine can connect to an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_local_name(host_header: str) -> bool:
    """Return whether a Host header names a loopback address, with any port."""
    name, _, port = host_header.rpartition(":")
    if not name or not port.isdigit():
        name = host_header
    return is_loopback(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
