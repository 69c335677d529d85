"""The app of the review pages: addresses and the functions that handle them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from taxoexpan.desk.review.bulk import accept_bulk, show_bulk
from taxoexpan.desk.review.concept import (
    show_branch,
    show_change,
    show_reasons,
    show_results,
    show_surroundings,
)
from taxoexpan.desk.review.decision_form import change_curator, choose_parent, take_decision, undo
from taxoexpan.desk.review.desk import ReviewDesk
from taxoexpan.desk.review.exports import download, show_export
from taxoexpan.desk.review.improvement import Improvement
from taxoexpan.desk.review.improvement_page import show_improvement, start_improvement
from taxoexpan.desk.review.pages import Pages, serve_static, show_help, show_history
from taxoexpan.desk.review.queue import show_queue
from taxoexpan.desk.store.decisions import BusyError
from taxoexpan.errors import TaxoExpanError

SHOWN: dict[str, Callable[[Pages, Request], Response]] = {
    "/": show_queue,
    "/bulk": show_bulk,
    "/history": show_history,
    "/export": show_export,
    "/export/{name}": download,
    "/improve": show_improvement,
    "/help": show_help,
    "/search": show_results,
    "/why": show_reasons,
    "/around": show_surroundings,
    "/branch": show_branch,
    "/change": show_change,
}
"""Everything that is only read; each runs in a thread, so that none blocks the others."""
TAKEN: dict[str, Callable[[Pages, Request, FormData], Response]] = {
    "/decisions": take_decision,
    "/choose": choose_parent,
    "/undo": undo,
    "/curator": change_curator,
    "/bulk": accept_bulk,
    "/improve": start_improvement,
}
"""The forms; they are accepted only from our own pages."""


def create_app(desk: ReviewDesk, improvement: Improvement | None = None) -> Starlette:
    """Return the app; the caller adds access control and security headers with `protect_pages`."""
    pages = Pages(desk, improvement)
    routes = [Route(path, partial(_show, pages, show)) for path, show in SHOWN.items()]
    routes += [Route(path, _taking(pages, take), methods=["POST"]) for path, take in TAKEN.items()]
    routes.append(Route("/static/{name}", serve_static))

    def show_error(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            heading = "Not found" if error.status_code == 404 else "This did not work"
            return pages.problem(request, error.status_code, heading, str(error.detail))
        status = 503 if isinstance(error, BusyError) else 500
        return pages.problem(request, status, "This did not work", str(error))

    shown = dict.fromkeys((HTTPException, TaxoExpanError), show_error)
    return Starlette(routes=routes, exception_handlers=shown)


def _show(pages: Pages, show: Callable[[Pages, Request], Response], request: Request) -> Response:
    return show(pages.current(), request)


def _taking(
    pages: Pages, take: Callable[[Pages, Request, FormData], Response]
) -> Callable[[Request], Awaitable[Response]]:
    """Return a request handler that reads the form and calls the function in a thread."""

    async def answer(request: Request) -> Response:
        form = await request.form(max_files=0)
        return await run_in_threadpool(take, pages.current(), request, form)

    return answer
