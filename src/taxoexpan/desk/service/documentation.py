"""The documentation of the API: examples and tokens in its OpenAPI description, and a page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import BaseModel

from taxoexpan.desk.service.schemas import (
    QueryResult,
    SuggestResponse,
    describe_concept,
    search_concepts,
)
from taxoexpan.desk.service.suggester import ServiceState
from taxoexpan.desk.web.access import TOKEN_PARAMETER, Access
from taxoexpan.report.page import template_environment

SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "parameter": {"type": "apiKey", "in": "query", "name": TOKEN_PARAMETER},
}
BEARER = '-H "Authorization: Bearer $TAXOEXPAN_TOKEN"'


def add_examples(api: dict[str, Any], state: ServiceState, access: Access, public: str) -> None:
    """Add the token (not for the path `public`), and examples, to an OpenAPI description."""
    api["components"]["securitySchemes"] = SCHEMES
    api["security"] = [{name: []} for name in SCHEMES] if access.token else []
    api["paths"][public]["get"]["security"] = []
    taxonomy, label = state.taxonomy, state.taxonomy.labels[0]
    parameters = {"id": taxonomy.ids[0], "q": label, "prefix": label}
    answers: dict[str, BaseModel] = {
        "/v1/suggest": SuggestResponse(results=[QueryResult.of(taxonomy, state.example)]),
        "/v1/concepts/{id}": describe_concept(taxonomy, 0, 0, 3),
        "/v1/search": search_concepts(taxonomy, state.index, label, 3),
    }
    for path, methods in api["paths"].items():
        for operation in methods.values():
            for each in operation.get("parameters", ()):
                if each["name"] in parameters:
                    each["example"] = parameters[each["name"]]
            if path in answers:
                content = operation["responses"]["200"]["content"]["application/json"]
                content["example"] = answers[path].model_dump(mode="json")


def documentation_page(api: Mapping[str, Any], base: str, style: str) -> str:
    """Return a page with all operations of an API at the URL `base`, and a command for each."""
    template = template_environment("taxoexpan.desk.service").get_template("documentation.html")
    return template.render(api=api, style=style, command=partial(_command, api, base))


def _command(api: Mapping[str, Any], base: str, path: str, operation: Mapping[str, Any]) -> str:
    """Return a curl command for an operation, with the examples of its parameters and its body."""
    given = [each for each in operation.get("parameters", ()) if "example" in each]
    path = path.format(**{each["name"]: quote(each["example"], safe="") for each in given})
    query = urlencode({each["name"]: each["example"] for each in given if each["in"] == "query"})
    words = ["curl -s", shlex.quote(f"{base}{path}?{query}".rstrip("?"))]
    words += [BEARER] if operation.get("security", api["security"]) else []
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        schema = api["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]
        for example in schema.get("examples", ()):
            words += [f"-H 'Content-Type: {kind}' -d", shlex.quote(json.dumps(example))]
        for name, field in schema["properties"].items() if "examples" not in schema else ():
            values = (shlex.quote(f"{name}={value}") for value in field.get("examples", ()))
            words += [f"--data-urlencode {value}" for value in values]
    return " ".join(words)
