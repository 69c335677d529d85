"""The OpenAPI description of the service, with the media type of its errors."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from taxoexpan.desk.service.api_schemas import ProblemDetails
from taxoexpan.desk.web.problem import PROBLEM_TYPE

OTHER_ERRORS = {
    "400": "The request cannot be read",
    "401": "The token is missing or wrong",
    "408": "The request took too long to arrive",
    "413": "The request is too large",
    "421": "The Host header is no name of this machine",
    "503": "Busy; see the header Retry-After",
}
"""Answers that a route gives before it looks at the fields of a request."""


def describe_errors(app: FastAPI) -> None:
    """Let the description of an app say that errors are problem objects."""
    original = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            for path in original()["paths"].values():
                for operation in path.values():
                    _describe(operation["responses"])
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
