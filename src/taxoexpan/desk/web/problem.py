"""Error responses of both servers: problem objects (RFC 9457) for programs, text for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from pydantic_core import PydanticCustomError
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Scope

PROBLEM_TYPE = "application/problem+json"


class FieldProblem(BaseModel):
    """A problem with one field of a request, and its fix."""

    field: str = Field(description="The path of the field, such as `concepts[3].label`.")
    problem: str
    fix: str


@dataclass(frozen=True)
class Problem:
    """The reason why a request is refused: status, problem, fix, and fields."""

    status: HTTPStatus
    problem: str
    fix: str = ""
    errors: Sequence[FieldProblem] = ()
    headers: Mapping[str, str] | None = None

    @property
    def detail(self) -> str:
        """The problem and the fix in one line."""
        return f"{self.problem}; {self.fix}" if self.fix else self.problem

    def as_dict(self) -> dict[str, Any]:
        """Return the members of the problem object."""
        members: dict[str, Any] = {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": self.status.value,
            "detail": self.detail,
        }
        if self.fix:
            members["fix"] = self.fix
        if self.errors:
            members["errors"] = [error.model_dump() for error in self.errors]
        return members

    def as_json(self) -> Response:
        """Return the error as a JSON response, for clients other than browsers."""
        return JSONResponse(
            self.as_dict(), self.status.value, dict(self.headers or {}), media_type=PROBLEM_TYPE
        )

    def answer(self, scope: Scope) -> Response:
        """Return plain text if a browser opens a page, and a problem object otherwise."""
        if "text/html" not in Headers(scope=scope).get("accept", ""):
            return self.as_json()
        return PlainTextResponse(f"{self.detail}\n", self.status.value, dict(self.headers or {}))


class ProblemError(Exception):
    """A refused request; the app responds with the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem

    @classmethod
    def in_field(cls, status: HTTPStatus, field: str, problem: str, fix: str) -> ProblemError:
        """Return the error for a problem with one field."""
        errors = [FieldProblem(field=field, problem=problem, fix=fix)]
        return cls(Problem(status, f"{field}: {problem}", fix, errors))


def invalid(problem: str, fix: str) -> PydanticCustomError:
    """Return an error for a validator of pydantic, which keeps problem and fix apart."""
    return PydanticCustomError("invalid", "{problem}; {fix}", {"problem": problem, "fix": fix})
