"""What every page shows: the curator, the links to the other pages, and a message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from taxoexpan.desk.review.page_templates import ACTION_NAMES, make_environment, shorten
from taxoexpan.desk.review.queue_filter import QueueFilter
from taxoexpan.desk.review.review_desk import ReviewDesk
from taxoexpan.desk.store.records import Action, LoggedDecision, Status
from taxoexpan.phrasing import join_words
from taxoexpan.placement.suggesting.suggestions import SuggestionKind

PAGES = (
    ("/", "Queue", "q"),
    ("/bulk", "Bulk accept", "l"),
    ("/history", "History", "h"),
    ("/export", "Export", "e"),
    ("/help", "Keys", "?"),
)
"""The address, the name and the key of every page."""
CURATOR_COOKIE = "taxoexpan_curator"
YEAR = 365 * 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class PageContext:
    """The parts of a page that do not depend on its content."""

    curator: str
    csrf: str
    filter: QueueFilter
    page: str = ""
    message: str = ""
    is_problem: bool = False
    pages: tuple[tuple[str, str, str], ...] = PAGES


class Pages:
    """Renders pages for requests."""

    def __init__(self, desk: ReviewDesk) -> None:
        self.desk = desk
        self._templates: Environment = make_environment()

    def curator(self, request: Request) -> str:
        """Return the name that the curator has chosen on the page, or that of the command."""
        chosen = unquote(request.cookies.get(CURATOR_COOKIE, ""))
        return " ".join(chosen.split())[:100] or self.desk.curator

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
        """Return a page."""
        context = PageContext(
            curator=self.curator(request),
            csrf=getattr(request.state, "csrf_token", ""),
            filter=QueueFilter.parse(request.query_params) if filter is None else filter,
            page=page,
            message=message or self.message(request),
            is_problem=status >= 400,
        )
        text = self._templates.get_template(template).render(
            desk=context, label_of=self.desk.label_of, **values
        )
        return HTMLResponse(text, status, headers)

    def problem(self, request: Request, status: int, heading: str, text: str) -> Response:
        """Return a page that says what went wrong."""
        filter = QueueFilter()
        about = shorten(text, 1000)
        return self.render(
            request, "problem.html", status=status, filter=filter, heading=heading, text=about
        )

    def message(self, request: Request) -> str:
        """Return what the last decision did; the address names it by its number."""
        number = request.query_params.get("did", "")
        if number == "nothing":
            return "Nothing is left to undo."
        if not (number.isascii() and number.isdigit() and len(number) < 12):
            return ""
        logged = self.desk.decision(int(number))
        text = request.query_params.get("count", "")
        count = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1
        if logged is None:
            return ""
        if logged.decision.action == Action.UNDO and count == 1:
            return self._describe_undo(logged)
        return describe_decision(logged, self.desk.label_of, count)

    def _describe_undo(self, logged: LoggedDecision) -> str:
        """Return a sentence about an undone decision; another one may stand."""
        label = shorten(logged.label, 60)
        undone = self.desk.decision(logged.undoes[0]) if logged.undoes else None
        if undone is not None and undone.decision.action == Action.COMMENT:
            return f"Undone: the comment on {label}."
        queued = self.desk.store.concept(logged.decision.concept)
        if queued is None or queued.status in (Status.TODO, Status.DEFERRED):
            return f"Undone: {label} is back."
        return f"Undone: a decision about {label}; another one stands ({queued.status.value})."


def describe_decision(
    logged: LoggedDecision, label_of: Callable[[str], str], count: int = 1
) -> str:
    """Return a sentence about a decision, or about the batch that it is the last one of."""
    decision = logged.decision
    label = shorten(logged.label, 60)
    if decision.action == Action.UNDO:
        return f"{count:,} decisions undone."
    if count > 1:
        return f"{count:,} concepts {ACTION_NAMES[decision.action]}."
    names = [shorten(each.parent_label, 60) for each in decision.placements]
    if decision.action == Action.ACCEPT:
        is_merge = decision.placements[0].kind == SuggestionKind.MERGE
        moved = [shorten(label_of(id), 60) for each in decision.placements for id in each.moves]
        moves = f", with {join_words(moved)} moved below it" if moved else ""
        relation = "synonym of" if is_merge else "accepted below"
        return f"{label}: {relation} {' and '.join(names)}{moves}."
    if decision.action == Action.REJECT_PROPOSAL:
        return f"{label} is not below {names[0]}. The next proposal moved up."
    texts = {
        Action.REJECT: f"{label}: rejected.",
        Action.DEFER: f"{label} comes back at the end of the queue.",
        Action.COMMENT: f"Comment on {label} saved.",
    }
    return texts[decision.action]


def see_other(url: str) -> RedirectResponse:
    """Send the browser to another page after a form."""
    return RedirectResponse(url, 303)


def remember_curator(response: Response, name: str) -> None:
    """Keep the curator's name in a cookie."""
    value = quote(" ".join(name.split())[:100])
    response.set_cookie(CURATOR_COOKIE, value, max_age=YEAR, httponly=True, samesite="strict")
