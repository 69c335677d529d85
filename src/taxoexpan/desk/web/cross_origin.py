"""Access for the scripts of other web pages (CORS), to one path of a server."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

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
