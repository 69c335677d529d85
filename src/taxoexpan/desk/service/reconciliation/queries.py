"""The reconciliation queries that clients such as OpenRefine send."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from taxoexpan.desk.service.problems import invalid_request
from taxoexpan.desk.service.schemas import MAX_DEFINITION, MAX_LABEL, MAX_SYNONYMS, MAX_TOP_K
from taxoexpan.desk.web.problem import ProblemError
from taxoexpan.taxonomy import Concept

DEFINITION, SYNONYM = "definition", "synonym"
"""The properties that help to place a query; others are ignored."""
PARENT, PATH = "parent", "path"
"""Further properties that a client can add to matched cells."""
DEFAULT_LIMIT = 5
MAX_IDS = 1_000


class EntityValue(BaseModel):
    """A value that was reconciled before."""

    id: str
    name: str = ""


Parsed = TypeVar("Parsed")
PropertyValue = str | bool | int | float | EntityValue


class QueryProperty(BaseModel):
    """Another column of the client's table."""

    model_config = ConfigDict(extra="forbid")

    pid: str
    v: PropertyValue | list[PropertyValue]

    def texts(self) -> list[str]:
        """Return all values as strings."""
        values = self.v if isinstance(self.v, list) else [self.v]
        return [value.name if isinstance(value, EntityValue) else str(value) for value in values]


class ReconciliationQuery(BaseModel):
    """One name to match, with conditions."""

    model_config = ConfigDict(extra="forbid")

    query: str = ""
    """The text of a cell; one that is blank or too long has no candidates."""
    type: str | list[str] = []
    limit: Annotated[float, Field(gt=0)] = DEFAULT_LIMIT
    properties: list[QueryProperty] = []
    type_strict: Literal["any", "should", "all"] = "should"

    @model_validator(mode="after")
    def _has_a_condition(self) -> ReconciliationQuery:
        if "query" not in self.model_fields_set and not self.properties:
            raise ValueError("it has neither a query nor properties; add a query")
        return self

    @property
    def types(self) -> frozenset[str]:
        """The types to which candidates are restricted."""
        return frozenset([self.type] if isinstance(self.type, str) else self.type)

    @property
    def max_candidates(self) -> int:
        """The number of candidates to return."""
        return max(1, int(min(self.limit, MAX_TOP_K)))

    def concept(self) -> Concept:
        """Return the query as a new concept, with the properties that describe it."""
        synonyms = self._texts(SYNONYM)[:MAX_SYNONYMS]
        definition = " ".join(self._texts(DEFINITION))[:MAX_DEFINITION]
        names = (self.query, *synonyms) if len(self.query) <= MAX_LABEL else ()
        label, *others = [name for name in names if name.strip()] or [""]
        return Concept(
            "", label[:MAX_LABEL], tuple(name[:MAX_LABEL] for name in others), definition
        )

    def _texts(self, property: str) -> list[str]:
        return [text for each in self.properties if each.pid == property for text in each.texts()]


class ExtensionProperty(BaseModel):
    """A property to fetch; the service has no settings for it."""

    id: Literal["parent", "path", "definition", "synonym"]


class ExtensionQuery(BaseModel):
    """The ids of matched concepts, and the properties to fetch for them."""

    ids: Annotated[list[str], Field(max_length=MAX_IDS)]
    properties: list[ExtensionProperty]


_BATCH = TypeAdapter(dict[str, ReconciliationQuery])


def parse_query_batch(text: str, max_queries: int) -> dict[str, ReconciliationQuery]:
    """Parse the parameter `queries`, or refuse it with status 400, 413 or 422."""
    batch = _parse(_BATCH, text, "queries")
    if len(batch) > max_queries:
        problem = f"it has {len(batch):,} queries, but at most {max_queries:,} are allowed"
        fix = "send them in several requests, see batchSize in the manifest"
        status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        raise ProblemError.in_field(status, "queries", problem, fix)
    return batch


def parse_extension(text: str) -> ExtensionQuery:
    """Parse the parameter `extend`, or refuse it with status 400 or 422."""
    return _parse(TypeAdapter(ExtensionQuery), text, "extend")


def _parse(kind: TypeAdapter[Parsed], text: str, field: str) -> Parsed:
    try:
        content = json.loads(text)
        json.dumps(content, ensure_ascii=False).encode()  # refuses half characters
        return kind.validate_python(content)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        errors = [{**each, "loc": ("form", field, *each["loc"])} for each in found]
        raise ProblemError(invalid_request(errors)) from None
    except (ValueError, RecursionError):
        problem, fix = "it is not valid JSON", "send a JSON object"
        raise ProblemError.in_field(HTTPStatus.BAD_REQUEST, field, problem, fix) from None
