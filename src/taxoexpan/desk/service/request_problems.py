"""Errors of requests as problem objects that name the field and the fix."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from taxoexpan.desk.service.field_errors import invalid_request
from taxoexpan.desk.service.request_batching import QueueFullError
from taxoexpan.desk.web.problem import Problem, add_problem_handler


def add_error_answers(app: FastAPI) -> None:
    """Let an app answer every error with a problem object."""

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return invalid_request(error.errors()).as_json()

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _http_problem(error).as_json()

    async def busy(_: Request, error: Exception) -> Response:
        assert isinstance(error, QueueFullError)
        return busy_problem(error.retry_after).as_json()

    async def failed(_: Request, error: Exception) -> Response:
        del error  # the server prints it
        detail = "the server failed; its output says why. Please report it"
        return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail).as_json()

    add_problem_handler(app)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(QueueFullError, busy)
    app.add_exception_handler(Exception, failed)


def busy_problem(retry_after: int) -> Problem:
    """Return the answer to a request for which there is no room now."""
    detail = f"the server is busy; send the request again in {retry_after} seconds"
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE, detail, headers={"Retry-After": str(retry_after)}
    )


def _http_problem(error: HTTPException) -> Problem:
    status = HTTPStatus(error.status_code)
    details = {
        HTTPStatus.NOT_FOUND: "there is nothing at this path; see /openapi.json for all paths",
        HTTPStatus.METHOD_NOT_ALLOWED: "this path has other methods; see /openapi.json",
        HTTPStatus.BAD_REQUEST: "the body cannot be read; send JSON in UTF-8",
    }
    return Problem(status, details.get(status, str(error.detail)), headers=error.headers)
