"""The templates of the review pages, the filters that they use, and the files that they load."""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import lru_cache
from importlib import resources

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.desk.store.records import Action, Reason, Status
from taxoexpan.phrasing import percent
from taxoexpan.report.page import template_environment

STATUS_NAMES = {
    Status.TODO: "To do",
    Status.ACCEPTED: "Accepted",
    Status.REJECTED: "Rejected",
    Status.DEFERRED: "Not sure",
}
ACTION_NAMES = {
    Action.ACCEPT: "accepted",
    Action.REJECT: "rejected",
    Action.REJECT_PROPOSAL: "proposal rejected",
    Action.DEFER: "not sure",
    Action.COMMENT: "comment",
    Action.UNDO: "undo",
}
REASON_NAMES = {
    Reason.WRONG_PARENTS: "no proposal is right",
    Reason.OUT_OF_SCOPE: "does not belong in the taxonomy",
    Reason.OTHER: "another reason",
}
_FILES = {
    "style.css": ("taxoexpan.report", "text/css; charset=utf-8"),
    "review.css": ("taxoexpan.desk.review.static", "text/css; charset=utf-8"),
    "review.js": ("taxoexpan.desk.review.static", "text/javascript; charset=utf-8"),
    "htmx.min.js": ("taxoexpan.desk.review.static", "text/javascript; charset=utf-8"),
    "icon.svg": ("taxoexpan.desk.review.static", "image/svg+xml"),
}
"""The package and the media type of each file; nothing else is served."""


@lru_cache
def make_environment() -> Environment:
    """Return the compiled templates."""
    environment = template_environment("taxoexpan.desk.review")
    environment.globals["asset"] = _asset_url
    environment.filters.update(
        shorten=shorten,
        clock=_clock,
        plain=_plain,
        errors=_errors,
        percent=percent,
        status=STATUS_NAMES.__getitem__,
        action=ACTION_NAMES.__getitem__,
        reason=lambda reason: REASON_NAMES.get(reason, ""),
    )
    for name in environment.list_templates():  # compiled now, not for the first curator
        environment.get_template(name)
    return environment


def shorten(text: str, limit: int) -> str:
    """Return a text with its end left out if it is longer than the limit."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _clock(time: datetime) -> str:
    """Return a time of this day, or a day with its time, in the time zone of the server."""
    local = time.astimezone()
    is_today = local.date() == datetime.now().astimezone().date()
    return f"{local:%H:%M}" if is_today else f"{local.day} {local:%b %Y, %H:%M}"


def _plain(number: float | None) -> str:
    """Return a number without needless digits, or nothing."""
    return "" if number is None else f"{number:.4f}".rstrip("0").rstrip(".")


def _errors(number: float | None) -> str:
    """Return an expected number of errors: exact to one digit, but never a false zero."""
    if number is None:
        return "unknown"
    if 0 < number < 0.1:
        return "under 0.1"
    return f"{number:.1f}" if number < 100 else f"{number:,.0f}"


@lru_cache
def _static_file(name: str) -> bytes:
    return resources.files(_FILES[name][0]).joinpath(name).read_bytes()


def _asset_url(name: str) -> str:
    """Return the address of a file; it changes with the content, so that it can be kept."""
    return f"/static/{name}?v={hashlib.sha256(_static_file(name)).hexdigest()[:12]}"


def serve_static(request: Request) -> Response:
    """Answer a request for a script, a style or the icon."""
    name = request.path_params["name"]
    if name not in _FILES:
        return Response("not found", 404, media_type="text/plain")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(_static_file(name), media_type=_FILES[name][1], headers=headers)
