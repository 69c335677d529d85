"""The app of the review pages: addresses and what answers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, FastAPI, Request
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.responses import Response

from taxoexpan.desk.review import (
    bulk_routes,
    decision_routes,
    export_routes,
    history_routes,
    lookup_routes,
    queue_routes,
)
from taxoexpan.desk.review.page_context import Pages
from taxoexpan.desk.review.review_desk import ReviewDesk
from taxoexpan.desk.review.static_files import serve_static
from taxoexpan.desk.store.store_errors import BusyError
from taxoexpan.desk.web.csrf import require_csrf_token
from taxoexpan.desk.web.problem import ProblemError
from taxoexpan.errors import TaxoExpanError


async def read_form(request: Request) -> FormData:
    """Return the form of a request."""
    return await request.form(max_files=0)


Form = Annotated[FormData, Depends(read_form)]
PROTECTED = [Depends(require_csrf_token)]


def create_app(desk: ReviewDesk) -> FastAPI:
    """Return the app; `protect_pages` adds access control and security headers."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    pages = Pages(desk)
    _add_pages(app, pages)
    _add_forms(app, pages)
    _add_problem_pages(app, pages)
    app.add_route("/static/{name}", serve_static)
    return app


def _add_pages(app: FastAPI, pages: Pages) -> None:
    """Add everything that is only read; each runs in a thread, so that none blocks the others."""
    shown: dict[str, Callable[[Pages, Request], Response]] = {
        "/": queue_routes.show_queue,
        "/bulk": bulk_routes.show_bulk,
        "/history": history_routes.show_history,
        "/export": export_routes.show_export,
        "/help": history_routes.show_help,
        "/search": lookup_routes.show_results,
        "/why": lookup_routes.show_reasons,
        "/around": lookup_routes.show_surroundings,
        "/branch": lookup_routes.show_branch,
    }
    for path, show in shown.items():

        def answer(request: Request, show: Callable[[Pages, Request], Response] = show) -> Response:
            return show(pages, request)

        app.add_route(path, answer)

    @app.get("/export/{name}")
    def download(request: Request, name: str) -> Response:
        return export_routes.download(pages, request, name)


def _add_forms(app: FastAPI, pages: Pages) -> None:
    """Add everything that changes something; each needs the token of our own pages."""

    @app.post("/decisions", dependencies=PROTECTED)
    def decide(request: Request, form: Form) -> Response:
        return decision_routes.take_decision(pages, request, form)

    @app.post("/choose", dependencies=PROTECTED)
    def choose(form: Form) -> Response:
        return decision_routes.choose_parent(form)

    @app.post("/undo", dependencies=PROTECTED)
    def undo(request: Request, form: Form) -> Response:
        return decision_routes.undo(pages, request, form)

    @app.post("/curator", dependencies=PROTECTED)
    def rename(request: Request, form: Form) -> Response:
        return decision_routes.change_curator(pages, request, form)

    @app.post("/bulk", dependencies=PROTECTED)
    def accept(request: Request, form: Form) -> Response:
        return bulk_routes.accept_bulk(pages, request, form)


def _add_problem_pages(app: FastAPI, pages: Pages) -> None:
    """Show errors as pages."""

    def show_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        heading = "Not found" if error.status_code == 404 else "This did not work"
        return pages.problem(request, error.status_code, heading, str(error.detail))

    def show_refusal(request: Request, error: Exception) -> Response:
        assert isinstance(error, ProblemError)
        text = error.problem.detail
        return pages.problem(request, error.problem.status, "Refused", text)

    def show_own(request: Request, error: Exception) -> Response:
        status = 503 if isinstance(error, BusyError) else 500
        return pages.problem(request, status, "This did not work", str(error))

    app.add_exception_handler(HTTPException, show_http)
    app.add_exception_handler(ProblemError, show_refusal)
    app.add_exception_handler(TaxoExpanError, show_own)
