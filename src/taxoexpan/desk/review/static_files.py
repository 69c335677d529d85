"""Scripts and styles of the review pages: read once, and served with a digest in the address."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

_FILES = {
    "style.css": ("taxoexpan.report", "text/css; charset=utf-8"),
    "review.css": ("taxoexpan.desk.review.static", "text/css; charset=utf-8"),
    "review.js": ("taxoexpan.desk.review.static", "text/javascript; charset=utf-8"),
    "htmx.min.js": ("taxoexpan.desk.review.static", "text/javascript; charset=utf-8"),
    "icon.svg": ("taxoexpan.desk.review.static", "image/svg+xml"),
}
"""The package and the media type of each file; nothing else is served."""


@dataclass(frozen=True, slots=True)
class StaticFile:
    """The content of a file, its media type, and a digest of it."""

    content: bytes
    media_type: str
    digest: str


@lru_cache
def static_file(name: str) -> StaticFile | None:
    """Return a file by its name, or None if there is none."""
    if name not in _FILES:
        return None
    package, media_type = _FILES[name]
    content = resources.files(package).joinpath(name).read_bytes()
    return StaticFile(content, media_type, hashlib.sha256(content).hexdigest()[:12])


def asset_url(name: str) -> str:
    """Return the address of a file; it changes with the content, so that it can be kept."""
    file = static_file(name)
    return f"/static/{name}?v={file.digest}" if file else f"/static/{name}"


def serve_static(request: Request) -> Response:
    """Answer a request for a file."""
    file = static_file(request.path_params["name"])
    if file is None:
        return Response("not found", 404, media_type="text/plain")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(file.content, media_type=file.media_type, headers=headers)
