"""Rendering of pages with templates, the history and help pages, and static files."""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any
from urllib.parse import quote, unquote

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from taxoexpan.desk.review.desk import Profile, ReviewDesk
from taxoexpan.desk.review.filters import QueueFilter, natural
from taxoexpan.desk.review.improvement import Improvement
from taxoexpan.desk.review.parents import UsableParents
from taxoexpan.desk.store.decisions import Action, Reason, Status
from taxoexpan.phrasing import join_words, percent
from taxoexpan.progress import spell_duration
from taxoexpan.report.page import shorten, template_environment

HISTORY_SIZE = 50
"""The number of decisions on one page of the history."""
CURATOR_COOKIE = "taxoexpan_curator"
YEAR = 365 * 24 * 60 * 60
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
    Action.EDIT: "edited",
    Action.UNDO: "undo",
}
REASON_NAMES = {
    Reason.WRONG_PARENTS: "no proposal is right",
    Reason.OUT_OF_SCOPE: "does not belong in the taxonomy",
    Reason.PRESENT: "is in the taxonomy already",
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


class Pages:
    """A renderer of pages for requests."""

    def __init__(self, desk: ReviewDesk, improvement: Improvement | None = None) -> None:
        self.desk = desk
        self.improvement = improvement
        self._templates = make_environment()

    def current(self) -> Pages:
        """Return the pages for one request, whose model does not change until it ends."""
        improved = self.improvement.progress.desk if self.improvement else None
        return Pages(improved or self.desk, self.improvement)

    @cached_property
    def usable_parents(self) -> UsableParents:
        """The usable parents for new concepts, as they are now."""
        return self.desk.usable_parents()

    def profile_of(self, id: str) -> Profile | None:
        """Describe a concept of the taxonomy."""
        taxonomy = self.desk.taxonomy
        parents = self.usable_parents
        if id not in taxonomy:
            return None
        concept = taxonomy.concept(id)
        count = len(parents.children(id))
        return Profile(concept.definition, concept.synonyms, count, parents.why_unusable(id))

    def curator(self, request: Request) -> str:
        """Return the curator's name from the cookie, or else from the command line."""
        return _short_name(unquote(request.cookies.get(CURATOR_COOKIE, ""))) or self.desk.curator

    def render(
        self,
        request: Request,
        template: str,
        page: str = "",
        status: int = 200,
        message: str = "",
        filter: QueueFilter | None = None,
        headers: dict[str, str] | None = None,
        **values: Any,
    ) -> Response:
        """Render a template as a page."""
        context = {
            "curator": self.curator(request),
            "filter": QueueFilter.parse(request.query_params) if filter is None else filter,
            "page": page,
            "message": message,
            "did": request.query_params.get("did", ""),
            "last": self._last_decision(request),
            "is_problem": status >= 400,
        }
        text = self._templates.get_template(template).render(
            desk=context,
            label_of=self.desk.label_of,
            movable=self.desk.movable,
            profile_of=self.profile_of,
            **values,
        )
        return HTMLResponse(text, status, headers)

    def problem(self, request: Request, status: int, heading: str, text: str) -> Response:
        """Return an error page."""
        filter = QueueFilter()
        about = shorten(text, 1000)
        return self.render(
            request, "problem.html", status=status, filter=filter, heading=heading, text=about
        )

    def _last_decision(self, request: Request) -> dict[str, Any] | None:
        """Return the template values for the last decision, whose number is in the URL."""
        store = self.desk.store
        number = natural(request.query_params.get("did", ""))
        decision = store.decision(number) if number else None
        if decision is None or decision.undone:
            return None
        undone = store.decision(decision.undoes) if decision.undoes else None
        queued = store.concept(decision.concept) if undone else None
        count = natural(request.query_params.get("count", ""))
        moves = [id for each in decision.suggestions for id in each.moves]
        return {
            "decision": decision,
            "count": 1 if count is None else count,
            "moved": join_words([shorten(self.desk.label_of(id), 60) for id in moves] or [""]),
            "undone": undone.action if undone else None,
            "status": queued.status if queued else Status.TODO,
        }


def see_other(url: str) -> RedirectResponse:
    """Redirect the browser to another page after a form."""
    return RedirectResponse(url, 303)


def remember_curator(response: Response, name: str) -> None:
    """Keep the curator's name in a cookie."""
    value = quote(_short_name(name))
    response.set_cookie(CURATOR_COOKIE, value, max_age=YEAR, httponly=True, samesite="strict")


def _short_name(name: str) -> str:
    return " ".join(name.split())[:100]


def show_history(pages: Pages, request: Request) -> Response:
    """Return one page of decisions, newest first."""
    offset = natural(request.query_params.get("offset", "")) or 0
    rows = pages.desk.store.history(offset, HISTORY_SIZE + 1)
    return pages.render(
        request,
        "history.html",
        "History",
        rows=rows[:HISTORY_SIZE],
        has_more=len(rows) > HISTORY_SIZE,
        offset=offset,
        size=HISTORY_SIZE,
    )


def show_help(pages: Pages, request: Request) -> Response:
    """Return the page that lists the keys."""
    return pages.render(request, "help.html", "Keys")


@lru_cache
def make_environment() -> Environment:
    """Return the compiled templates."""
    environment = template_environment("taxoexpan.desk.review")
    environment.globals["asset"] = _asset_url
    environment.filters.update(
        clock=_clock,
        plain=_plain,
        errors=_errors,
        percent=percent,
        duration=spell_duration,
        status=STATUS_NAMES.__getitem__,
        action=ACTION_NAMES.__getitem__,
        reason=lambda reason: REASON_NAMES.get(reason, ""),
    )
    for name in environment.list_templates():  # compiled now, not for the first curator
        environment.get_template(name)
    return environment


def _clock(time: datetime) -> str:
    """Return a time in the server's time zone, with the date unless it is today."""
    local = time.astimezone()
    is_today = local.date() == datetime.now().astimezone().date()
    return f"{local:%H:%M}" if is_today else f"{local.day} {local:%b %Y, %H:%M}"


def _plain(number: float | None) -> str:
    """Return a number without trailing zeros, or an empty string."""
    return "" if number is None else f"{number:.4f}".rstrip("0").rstrip(".")


def _errors(number: float | None) -> str:
    """Return an expected number of errors as a string that never rounds small numbers to zero."""
    if number is None:
        return "unknown"
    if 0 < number < 0.1:
        return "under 0.1"
    return f"{number:.1f}" if number < 100 else f"{number:,.0f}"


@lru_cache
def _static_file(name: str) -> bytes:
    return resources.files(_FILES[name][0]).joinpath(name).read_bytes()


def _asset_url(name: str) -> str:
    """Return the URL of a static file, with a digest of the content so that it can be cached."""
    return f"/static/{name}?v={hashlib.sha256(_static_file(name)).hexdigest()[:12]}"


def serve_static(request: Request) -> Response:
    """Return a script, a style sheet or the icon."""
    name = request.path_params["name"]
    if name not in _FILES:
        return Response("not found", 404, media_type="text/plain")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(_static_file(name), media_type=_FILES[name][1], headers=headers)
