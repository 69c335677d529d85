"""Errors in the fields of a request, each with its fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from taxoexpan.desk.web.problem import FieldProblem, Problem

MAX_ERRORS = 20
"""Errors that an answer names; a large request may have thousands."""

FIXES = {
    "missing": "add it",
    "extra_forbidden": "remove it, or correct its name",
    "string_too_long": "send at most {max_length:,} characters",
    "string_too_short": "send at least one character",
    "too_long": "send at most {max_length:,} items, in several requests if needed",
    "too_short": "send at least one item",
    "less_than_equal": "send at most {le:,}",
    "greater_than_equal": "send at least {ge:,}",
    "greater_than": "send more than {gt}",
    "finite_number": "send a finite number",
    "json_invalid": "send valid JSON",
    "string_type": "send a text in quotes",
    "string_unicode": "send valid Unicode; a text must not contain half of a surrogate pair",
    "list_type": "send a list, in [ ]",
    "bool_type": "send true or false",
    "bool_parsing": "send true or false",
    "int_type": "send a whole number",
    "int_parsing": "send a whole number",
    "int_from_float": "send a whole number",
    "dict_type": "send an object, in {{ }}",
    "model_type": "send an object, in {{ }}",
    "literal_error": "send one of them",
    "model_attributes_type": "send a JSON object with the header Content-Type: application/json",
}


def invalid_request(
    errors: Sequence[Mapping[str, Any]], description: str = "/openapi.json"
) -> Problem:
    """Return the answer to a request with invalid fields; `description` says where the form is.

    The first part of a field's location is left out: it says whether the field is in the body.
    """
    problems = [_field_problem(error, description) for error in errors[:MAX_ERRORS]]
    first = problems[0]
    more = f" ({len(errors) - 1:,} more errors)" if len(errors) > 1 else ""
    detail = f"{first.field}: {first.problem}; {first.fix}{more}"
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, problems)


def _field_problem(error: Mapping[str, Any], description: str) -> FieldProblem:
    place, *parts = error["loc"] or ("body",)
    if error["type"] == "json_invalid":
        parts = []  # it is a position in the text
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    context = error.get("ctx", {})
    fix = FIXES.get(error["type"], f"see {description} for the expected form")
    message = str(error["msg"]).removeprefix("Value error, ")
    problem, _, own_fix = message.partition("; ")
    return FieldProblem((path.lstrip(".") or str(place)), problem, own_fix or fix.format(**context))
