"""The history page and the page of keys."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from taxoexpan.desk.review.page_context import Pages

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


def show_history(pages: Pages, request: Request) -> Response:
    """Return one page of decisions, newest first."""
    text = request.query_params.get("offset", "")
    offset = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
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
