"""Rendering pages, each with the curator, links, and a message; and the history and help pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from taxoexpan.desk.review.desk import ReviewDesk
from taxoexpan.desk.review.environment import ACTION_NAMES, make_environment, shorten
from taxoexpan.desk.review.filters import QueueFilter, natural
from taxoexpan.desk.store.records import Action, Decision, Status
from taxoexpan.phrasing import join_words

PAGES = (
    ("/", "Queue", "q"),
    ("/bulk", "Bulk accept", "l"),
    ("/history", "History", "h"),
    ("/export", "Export", "e"),
    ("/help", "Keys", "?"),
)
"""The address, the name and the key of every page."""
HISTORY_SIZE = 50
"""The number of decisions on one page of the history."""
KEYS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("a", "Enter"), "accept the first proposal"),
    (("2", "…", "9"), "accept another proposal"),
    (("⇧1", "…", "⇧9"), "also: mark it as one of several parents, then accept"),
    (("/",), "search for any other parent"),
    (("m",), "merge: it is the same as an existing concept"),
    (("i",), "insert it above existing concepts"),
    (("x",), "reject the first proposal, or the focused one"),
    (("r",), "reject the concept, with a reason"),
    (("n",), "not sure: it comes back at the end"),
    (("c",), "comment"),
    (("u",), "undo your last decision; again for the one before"),
    (("b",), "undo your last batch"),
    (("j", "k"), "next and previous concept"),
    (("f",), "search the queue"),
    (("↓", "↑"), "walk through search results"),
    (("Esc",), "close a panel"),
    (("q",), "queue"),
    (("l",), "bulk accept"),
    (("h",), "history"),
    (("e",), "export"),
    (("?",), "this page"),
)
CURATOR_COOKIE = "taxoexpan_curator"
YEAR = 365 * 24 * 60 * 60


class Pages:
    """Renders pages for requests."""

    def __init__(self, desk: ReviewDesk) -> None:
        self.desk = desk
        self._templates = make_environment()

    def curator(self, request: Request) -> str:
        """Return the name that the curator has chosen on the page, or given to the command."""
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
        """Return a page."""
        context = {
            "curator": self.curator(request),
            "csrf": getattr(request.state, "csrf_token", ""),
            "filter": QueueFilter.parse(request.query_params) if filter is None else filter,
            "pages": PAGES,
            "page": page,
            "message": message or self.message(request),
            "is_problem": status >= 400,
        }
        text = self._templates.get_template(template).render(
            desk=context, label_of=self.desk.label_of, **values
        )
        return HTMLResponse(text, status, headers)

    def problem(self, request: Request, status: int, heading: str, text: str) -> Response:
        """Return a page that says what went wrong."""
        filter, about = QueueFilter(), shorten(text, 1000)
        return self.render(
            request, "problem.html", status=status, filter=filter, heading=heading, text=about
        )

    def message(self, request: Request) -> str:
        """Return what the last decision did; the address names it by its number."""
        text = request.query_params.get("did", "")
        if text == "nothing":
            return "Nothing is left to undo."
        number = natural(text)
        decision = self.desk.store.decision(number) if number else None
        if decision is None:
            return ""
        count = natural(request.query_params.get("count", ""))
        return self._describe(decision, 1 if count is None else count)

    def _describe(self, decision: Decision, count: int) -> str:
        """Return a sentence about a decision, or about the batch that it is the last one of."""
        label = shorten(decision.label, 60)
        if decision.action == Action.UNDO:
            return self._describe_undo(decision) if count == 1 else f"{count:,} decisions undone."
        if count > 1:
            return f"{count:,} concepts {ACTION_NAMES[decision.action]}."
        names = [shorten(each.parent.label, 60) for each in decision.suggestions]
        if decision.action == Action.ACCEPT:
            moves = [id for each in decision.suggestions for id in each.moves]
            moved = [shorten(self.desk.label_of(id), 60) for id in moves]
            relation = "synonym of" if decision.suggestions[0].is_merge else "accepted below"
            ending = f", with {join_words(moved)} moved below it" if moves else ""
            return f"{label}: {relation} {' and '.join(names)}{ending}."
        if decision.action == Action.REJECT_PROPOSAL:
            return f"{label} is not below {names[0]}. The next proposal moved up."
        return {
            Action.REJECT: f"{label}: rejected.",
            Action.DEFER: f"{label} comes back at the end of the queue.",
            Action.COMMENT: f"Comment on {label} saved.",
        }[decision.action]

    def _describe_undo(self, undo: Decision) -> str:
        """Return a sentence about an undone decision; another one may stand."""
        label = shorten(undo.label, 60)
        undone = self.desk.store.decision(undo.undoes) if undo.undoes else None
        if undone is not None and undone.action == Action.COMMENT:
            return f"Undone: the comment on {label}."
        queued = self.desk.store.concept(undo.concept)
        if queued is None or queued.status in (Status.TODO, Status.DEFERRED):
            return f"Undone: {label} is back."
        return f"Undone: a decision about {label}; another one stands ({queued.status.value})."


def see_other(url: str) -> RedirectResponse:
    """Send the browser to another page after a form."""
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
    return pages.render(request, "help.html", "Keys", keys=KEYS)
