"""Errors of requests as problem objects that name the field and the fix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from taxoexpan.desk.service.schemas import ProblemDetails
from taxoexpan.desk.web.problem import PROBLEM_TYPE, FieldProblem, Problem, ProblemError
from taxoexpan.phrasing import join_words

MAX_ERRORS = 20
"""Errors that an answer names; a large request may have thousands."""
MAX_METHOD = 20
METHODS = ("GET", "HEAD", "POST")
"""The methods that routes may have."""

FIXES = {
    "missing": "add it",
    "extra_forbidden": "remove it, or correct its name",
    "string_too_long": "send at most {max_length:,} characters",
    "too_long": "send at most {max_length:,} items, in several requests if needed",
    "json_invalid": "send valid JSON",
    "bool_type": "send true or false, without quotes",
    "string_type": "send a text in quotes",
    "list_type": "send a list in square brackets",
    "int_from_float": "send a whole number",
    "model_attributes_type": 'send an object such as {{"concepts": ["cashew milk"]}} '
    "with the header Content-Type: application/json",
}
"""Fixes of errors whose message does not say what is expected."""


def invalid_request(errors: Sequence[Mapping[str, Any]]) -> Problem:
    """Return the problem that describes the invalid fields of a request."""
    problems = [_field_problem(error) for error in errors[:MAX_ERRORS]]
    first = problems[0]
    more = f" ({len(errors) - 1:,} more errors)" if len(errors) > 1 else ""
    problem = f"{first.field}: {first.problem}"
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, problem, f"{first.fix}{more}", problems)


def _field_problem(error: Mapping[str, Any]) -> FieldProblem:
    place, *parts = error["loc"] or ("body",)
    if error["type"] == "json_invalid":
        parts = []  # it is a position in the text
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    fix = FIXES.get(error["type"], "see /openapi.json for the expected form")
    context = error.get("ctx", {})
    return FieldProblem(
        field=path.lstrip(".") or str(place),
        problem=context.get("problem", error["msg"]),
        fix=context.get("fix") or fix.format(**context),
    )


def add_error_answers(app: FastAPI) -> None:
    """Make an app return every error as a problem object."""

    async def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, ProblemError):
            return error.problem.answer(request.scope)
        if isinstance(error, RequestValidationError):
            return invalid_request(error.errors()).as_json()
        if isinstance(error, HTTPException):
            return _http_problem(error, request).as_json()
        fix = "its output says why; please report it"
        return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "the server failed", fix).as_json()

    for kind in (ProblemError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answer)


def _http_problem(error: HTTPException, request: Request) -> Problem:
    status = HTTPStatus(error.status_code)
    details = {
        HTTPStatus.NOT_FOUND: ("there is nothing at this path", "see /openapi.json for all paths"),
        HTTPStatus.BAD_REQUEST: ("the body cannot be read", "send JSON in UTF-8"),
    }
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        methods = _allowed_methods(request)
        problem = f"this path has no method {request.method[:MAX_METHOD]}"
        # The router names only the methods of the first route with this path.
        headers = {"Allow": ", ".join(methods)}
        fix = f"use {join_words(methods, 'or')}, see /openapi.json"
        return Problem(status, problem, fix, headers=headers)
    problem, fix = details.get(status, (str(error.detail), ""))
    return Problem(status, problem, fix, headers=error.headers)


def _allowed_methods(request: Request) -> list[str]:
    """Return the methods of all routes with the path of a request."""
    return [
        method
        for method in METHODS
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL
            for route in request.app.routes
        )
    ]


NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"description": "No concept has this id"}}
"""The description of routes that look for a concept by its id."""
OTHER_ERRORS = {
    "400": "The request cannot be read",
    "401": "The token is missing or wrong",
    "408": "The request took too long to arrive",
    "413": "The request is too large",
    "421": "The Host header does not name this machine",
    "503": "Busy; see the header Retry-After",
}
"""Answers that a route gives before it looks at the fields of a request."""


def describe_errors(app: FastAPI, more: Callable[[dict[str, Any]], None]) -> None:
    """Describe errors as problem objects in the OpenAPI description of an app, and add `more`."""
    original = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            for path in original()["paths"].values():
                for operation in path.values():
                    _describe(operation["responses"])
            more(original())
        return original()

    # FastAPI documents this assignment as the way to extend its description.
    app.openapi = described  # type: ignore[method-assign]


def _describe(responses: dict[str, Any]) -> None:
    """Add the errors that every route has, and correct the media type of the others."""
    reference = {"schema": {"$ref": f"#/components/schemas/{ProblemDetails.__name__}"}}
    for status, description in OTHER_ERRORS.items():
        responses.setdefault(status, {"description": description})
    for status, response in responses.items():
        if int(status) >= 400:
            response["content"] = {PROBLEM_TYPE: reference}
