"""The reconciliation queries that clients such as OpenRefine send, and their candidates."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic.config import JsonDict

from taxoexpan.decisions.coarse_places import safe_place
from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind, Suitability
from taxoexpan.desk.service.problems import invalid_request
from taxoexpan.desk.service.schemas import MAX_DEFINITION, MAX_LABEL, MAX_SYNONYMS, MAXIMA
from taxoexpan.desk.service.suggester import ServiceState
from taxoexpan.desk.web.problem import ProblemError, invalid
from taxoexpan.shared_options import SuggestOptions
from taxoexpan.taxonomy import Concept, Taxonomy

DEFINITION = "definition"
SYNONYM = "synonym"
"""The properties that help to place a query; others are ignored."""
PARENT = "parent"
PATH = "path"
"""Further properties that a client can add to matched cells."""
CONCEPT_TYPE = {"id": "concept", "name": "Concept"}
PARENT_TYPE = {"id": "proposed-parent", "name": "Proposed parent"}
SAFE_TYPE = {"id": "safe-ancestor", "name": "Safe ancestor"}
TYPES = (SAFE_TYPE, PARENT_TYPE, CONCEPT_TYPE)
"""Those of a safe ancestor, most specific first; clients that show one type show the first."""
MARKS = {SAFE_TYPE["id"]: " (safe ancestor)", PARENT_TYPE["id"]: " (proposed parent)"}
"""They are in the name, because clients show the name and keep it when a candidate is chosen."""
NAME_SCORE = 100.0

Candidate = dict[str, Any]

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


CONDITION: JsonDict = {
    "anyOf": [
        {"required": ["query"]},
        {"required": ["properties"], "properties": {"properties": {"minItems": 1}}},
    ]
}
"""What `ReconciliationQuery` checks after its fields, as a JSON schema."""


class ReconciliationQuery(BaseModel):
    """One name to match, with conditions."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=CONDITION)

    query: str = ""
    """The text of a cell; one that is blank or too long has no candidates."""
    type: str | list[str] = []
    limit: Annotated[float, Field(gt=0, strict=True)] = DEFAULT_LIMIT
    properties: list[QueryProperty] = []
    type_strict: Literal["any", "should", "all"] = "should"

    @model_validator(mode="after")
    def _has_a_condition(self) -> ReconciliationQuery:
        if "query" not in self.model_fields_set and not self.properties:
            raise invalid("it has neither a query nor properties", "add a query")
        return self

    @property
    def types(self) -> frozenset[str]:
        """The types to which candidates are restricted."""
        return frozenset([self.type] if isinstance(self.type, str) else self.type)

    @property
    def max_candidates(self) -> int:
        """The number of candidates to return."""
        return max(1, int(min(self.limit, MAXIMA["top_k"])))

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
        problem = "it is not valid JSON"
        fix = "send a JSON object"
        raise ProblemError.in_field(HTTPStatus.BAD_REQUEST, field, problem, fix) from None


async def reconcile(
    state: ServiceState, queries: Mapping[str, ReconciliationQuery]
) -> dict[str, dict[str, list[Candidate]]]:
    """Return the candidates of each query, best first.

    Concepts with the name or the id of a query have the score 100; a single active one is a match.
    Other queries get likely duplicates and suggested parents.
    """
    results = {key: _named(state, query) for key, query in queries.items()}
    unnamed = [key for key in queries if not results[key] and queries[key].concept().label]
    most = max((queries[key].max_candidates for key in unnamed), default=1)
    options = SuggestOptions(top_k=most)
    placed = await state.suggester.suggest([queries[key].concept() for key in unnamed], options)
    for key, result in zip(unnamed, placed, strict=True):
        results[key] = _proposed(state, result.suggestions)
    return {
        key: {"result": _of_type(results[key], query)[: query.max_candidates]}
        for key, query in queries.items()
    }


def _named(state: ServiceState, query: ReconciliationQuery) -> list[Candidate]:
    """Return the concept with the id of a query, or else the concepts with its name."""
    taxonomy = state.taxonomy
    text = query.concept().label
    by_id = (taxonomy.index(query.query),) if query.query in taxonomy else ()
    found = by_id or state.suggester.named(text)
    active = [index for index in found if index not in taxonomy.deprecated]
    return [
        _candidate(
            taxonomy,
            index,
            NAME_SCORE,
            match=active == [index],
            features={"same_name": True, "deprecated": index in taxonomy.deprecated},
        )
        for index in (*active, *(index for index in found if index in taxonomy.deprecated))
    ]


def _proposed(state: ServiceState, suggestions: Sequence[Suggestion]) -> list[Candidate]:
    """Return duplicates and suggested parents as candidates with falling scores and no match."""
    taxonomy = state.taxonomy
    candidates = []
    highest = NAME_SCORE
    for suggestion in _with_safe(state, suggestions):
        is_parent = not suggestion.is_merge
        row = suggestion.as_json()
        features = {"proposed_parent": is_parent, "score": row["score"]}
        if row["confidence"] is not None:
            features["confidence"] = row["confidence"]
        if suggestion.branch_confidence is not None:
            features["branch_confidence"] = suggestion.branch_confidence
        index = taxonomy.index(suggestion.parent.id)
        highest = min(highest, round(100 * suggestion.confidence_or_score, 2))
        types = TYPES[suggestion.kind != SuggestionKind.COARSE :] if is_parent else [CONCEPT_TYPE]
        candidates.append(_candidate(taxonomy, index, highest, False, features, types))
    return candidates


def _with_safe(state: ServiceState, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Insert the deepest sure ancestor after a first suggestion that is suitable but not sure."""
    if not suggestions or suggestions[0].place == Suitability.NONE:
        return list(suggestions)
    first, *rest = suggestions
    safe = safe_place(first, state.suggester.min_branch, state.taxonomy)
    if safe is None or safe is first:
        return list(suggestions)
    return [first, safe, *(s for s in rest if s.parent.id != safe.parent.id)]


def _candidate(
    taxonomy: Taxonomy,
    index: int,
    score: float,
    match: bool,
    features: Mapping[str, Any],
    types: Sequence[dict[str, str]] = (CONCEPT_TYPE,),
) -> Candidate:
    return {
        "id": taxonomy.ids[index],
        "name": taxonomy.labels[index] + MARKS.get(types[0]["id"], ""),
        "description": describe_path(taxonomy, index),
        "type": list(types),
        "score": score,
        "features": [{"id": id, "value": value} for id, value in features.items()],
        "match": match,
    }


def describe_path(taxonomy: Taxonomy, index: int) -> str:
    """Return the labels from a root to a concept, to distinguish concepts with the same name."""
    return " > ".join(taxonomy.path(taxonomy.ids[index]))


def _of_type(candidates: Sequence[Candidate], query: ReconciliationQuery) -> list[Candidate]:
    """Keep the candidates with a type of the query; unknown types are ignored."""
    wanted = query.types & {each["id"] for each in TYPES}
    return [
        candidate
        for candidate in candidates
        if not wanted or wanted & {each["id"] for each in candidate["type"]}
    ]
