"""The routes of the W3C Entity Reconciliation API v0.2."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from hashlib import sha256
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, Request
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.responses import HTMLResponse

from taxoexpan.desk.service.problems import NOT_FOUND
from taxoexpan.desk.service.reconciliation.queries import (
    CONCEPT_TYPE,
    DEFINITION,
    PARENT,
    PARENT_TYPE,
    PATH,
    SYNONYM,
    TYPES,
    ExtensionQuery,
    ReconciliationQuery,
    describe_path,
    parse_extension,
    parse_query_batch,
    reconcile,
)
from taxoexpan.desk.service.schemas import MAX_ID, MAX_LABEL, MAX_OFFSET, find_concept
from taxoexpan.desk.service.suggester import ServiceState
from taxoexpan.desk.web.access import TOKEN_PARAMETER, Access, sent_tokens
from taxoexpan.desk.web.problem import ProblemError
from taxoexpan.phrasing import pluralize
from taxoexpan.report.page import template_environment
from taxoexpan.taxonomy import Taxonomy

RECONCILIATION_PATH = "/reconcile"
JSON_TYPE = "application/json"
REFERENCE = "#/components/schemas/{model}"
SUGGESTIONS = 10
PREVIEW_SIZE = {"width": 420, "height": 220}
SCHEMA_SPACE = "http://www.w3.org/2004/02/skos/core#Concept"
LOCAL_SPACE = "urn:taxoexpan:concept:"
"""The identifier space of taxonomies whose ids are not IRIs."""
STYLE = (
    "body{font:14px/1.4 system-ui,sans-serif;margin:10px;color:#222;background:#fff}"
    "h1{font-size:16px;margin:0 0 4px}p{margin:0 0 6px}.path{color:#555}"
)
_HASH = base64.b64encode(sha256(STYLE.encode()).digest()).decode()
PREVIEW_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'"
"""The page has one style and nothing else; unlike other pages, it may be shown in a frame."""
PROPERTIES = (
    {"id": DEFINITION, "name": "Definition", "description": "helps to find a parent"},
    {"id": SYNONYM, "name": "Synonym", "description": "another name; helps to find a parent"},
)

EXTENSIONS: dict[str, dict[str, Any]] = {
    PARENT: {"id": PARENT, "name": "Parent", "type": CONCEPT_TYPE},
    PATH: {"id": PATH, "name": "Path"},
    DEFINITION: {"id": DEFINITION, "name": "Definition"},
    SYNONYM: {"id": SYNONYM, "name": "Synonym"},
}
"""The properties of matched concepts that a client can add to its table."""

EXAMPLE_BATCH = '{"q0": {"query": "oat milk", "limit": 3}}'
QueryBatch = Annotated[str | None, Query(description="A batch of queries as JSON.")]
Extension = Annotated[str | None, Query(description="Ids, and properties to fetch, as JSON.")]
BatchForm = Annotated[str | None, Form()]
ExtensionForm = Annotated[str | None, Form()]
EntityId = Annotated[str, Query(max_length=MAX_ID)]
Prefix = Annotated[str, Query(max_length=MAX_LABEL, description="What the user has typed.")]
Cursor = Annotated[int, Query(ge=0, le=MAX_OFFSET, description="Suggestions to skip.")]
Results = dict[str, Any]


def reconciliation_router(state: ServiceState, access: Access) -> APIRouter:
    """Return the routes of the endpoint and of the suggest, flyout and preview services."""
    router = APIRouter(prefix=RECONCILIATION_PATH, tags=["reconciliation"])
    taxonomy = state.taxonomy

    @router.get("", summary="Return the manifest, or answer queries")
    async def endpoint(
        request: Request, queries: QueryBatch = None, extend: Extension = None
    ) -> Results:
        """Return the manifest, or the answer if the request has queries or asks for properties."""
        if queries is not None or extend is not None:
            return await _answer(state, queries, extend)
        base = str(request.base_url).rstrip("/") + RECONCILIATION_PATH  # as the client knows it
        # Clients open some of these URLs in frames, or append "?type=", so the path has a key.
        has_token = any(map(access.accepts, sent_tokens(request.scope)))
        return _manifest(state, access, f"{base}/{access.link_key()}" if has_token else base)

    @router.post("", summary="Answer queries")
    async def post(queries: BatchForm = None, extend: ExtensionForm = None) -> Results:
        """Return candidates: concepts with the name, likely duplicates, or suggested parents.

        With `extend` instead of `queries`, return properties of concepts.
        """
        return await _answer(state, queries, extend)

    @router.get("/properties", summary="Propose properties to fetch")
    def properties(type: str = "", limit: int | None = None) -> Results:
        """Return the properties of concepts that can be fetched; all types have the same."""
        proposed = [{"id": id, "name": each["name"]} for id, each in EXTENSIONS.items()]
        return {"type": type, "properties": proposed[:limit]}

    @router.get("/suggest/entity", summary="Complete the name or the id of a concept")
    def suggest_entity(prefix: Prefix = "", cursor: Cursor = 0) -> Results:
        """Return concepts whose id is the prefix, or whose name has a word beginning with it."""
        by_id = [taxonomy.index(prefix)] if prefix in taxonomy else []
        found = dict.fromkeys([*by_id, *state.index.search(prefix, cursor + SUGGESTIONS)])
        shown = [
            {
                "id": taxonomy.ids[index],
                "name": taxonomy.labels[index],
                "description": describe_path(taxonomy, index),
                "notable": [CONCEPT_TYPE],
            }
            for index in [*found][cursor : cursor + SUGGESTIONS]
        ]
        return {"result": shown}

    @router.get("/suggest/property", summary="Complete the name of a property")
    def suggest_property(prefix: Prefix = "", cursor: Cursor = 0) -> Results:
        """Return the properties that queries may have."""
        return {"result": _starting(PROPERTIES, prefix)[cursor:]}

    @router.get("/suggest/type", summary="Complete the name of a type")
    def suggest_type(prefix: Prefix = "", cursor: Cursor = 0) -> Results:
        """Return the types of candidates."""
        return {"result": _starting(TYPES, prefix)[cursor:]}

    @router.get("/flyout/entity", summary="Describe a concept", responses=NOT_FOUND)
    def flyout(id: EntityId) -> Results:
        """Return an HTML fragment that describes a concept."""
        return {"id": id, "html": _preview(taxonomy, id)}

    @router.get(
        "/preview",
        summary="Show a concept as a small page",
        response_class=HTMLResponse,
        responses=NOT_FOUND,
    )
    def preview(id: EntityId) -> HTMLResponse:
        """Return a page that describes a concept and can be shown in a frame."""
        page = _preview(taxonomy, id, STYLE)
        headers = {
            "Content-Security-Policy": PREVIEW_POLICY,
            "Cross-Origin-Resource-Policy": "cross-origin",
        }
        return HTMLResponse(page, headers=headers)

    return router


def describe_json_parameters(api: dict[str, Any]) -> None:
    """Describe `queries` and `extend` in an OpenAPI description by the JSON that they contain."""
    models: list[tuple[type[BaseModel], Literal["validation"]]] = [
        (ReconciliationQuery, "validation"),
        (ExtensionQuery, "validation"),
    ]
    _, described = models_json_schema(models, ref_template=REFERENCE)
    schemas = api["components"]["schemas"]
    schemas |= described["$defs"]
    batch = {"$ref": REFERENCE.format(model=ReconciliationQuery.__name__)}
    contents: dict[str, dict[str, Any]] = {
        "queries": {
            "type": "object",
            "additionalProperties": batch,
            "examples": [json.loads(EXAMPLE_BATCH)],
        },
        "extend": {"$ref": REFERENCE.format(model=ExtensionQuery.__name__)},
    }
    methods = api["paths"][RECONCILIATION_PATH]
    for parameter in methods["get"]["parameters"]:
        del parameter["schema"]
        parameter["content"] = {JSON_TYPE: {"schema": contents[parameter["name"]]}}
    body = methods["post"]["requestBody"]
    body["required"] = True
    [form] = body["content"].values()
    del schemas[form["schema"]["$ref"].rpartition("/")[2]]
    form["schema"] = {
        "anyOf": [
            {"type": "object", "properties": contents, "required": [name]} for name in contents
        ]
    }
    form["encoding"] = {name: {"contentType": JSON_TYPE} for name in contents}


def _preview(taxonomy: Taxonomy, id: str, style: str = "") -> str:
    """Describe a concept in HTML: as a page if a style is given, otherwise as a fragment."""
    index = find_concept(taxonomy, id)
    children = [taxonomy.labels[i] for i in taxonomy.children_of.of(index).tolist()]
    environment = template_environment("taxoexpan.desk.service.reconciliation")
    return environment.get_template("preview.html").render(
        concept=taxonomy.concept_at(index),
        path=" › ".join(taxonomy.path(id)),
        children=children,
        children_count=pluralize(len(children), "narrower concept"),
        style=style,
    )


async def _answer(state: ServiceState, queries: str | None, extend: str | None) -> Results:
    # Both are checked before one is answered.
    batch = None if queries is None else parse_query_batch(queries, state.limits.max_concepts)
    extension = None if extend is None else parse_extension(extend)
    if batch is not None:
        return dict(await reconcile(state, batch))
    if extension is not None:
        return _extension(state.taxonomy, extension)
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    raise ProblemError.in_field(status, "queries", "it is missing", "add queries or extend")


def _extension(taxonomy: Taxonomy, query: ExtensionQuery) -> Results:
    """Return the properties of concepts; an unknown id has no values."""
    wanted = list(dict.fromkeys(each.id for each in query.properties))
    return {
        "meta": [EXTENSIONS[id] for id in wanted],
        "rows": {
            id: {name: _values(taxonomy, id, name) if id in taxonomy else [] for name in wanted}
            for id in query.ids
        },
    }


def _values(taxonomy: Taxonomy, id: str, property: str) -> list[dict[str, str]]:
    """Return the values of a property of a concept."""
    index = taxonomy.index(id)
    concept = taxonomy.concept_at(index)
    if property == PARENT:
        parents = map(taxonomy.concept_at, taxonomy.parents_of.of(index).tolist())
        return [{"id": parent.id, "name": parent.label} for parent in parents]
    texts = {PATH: (describe_path(taxonomy, index),), DEFINITION: (concept.definition,)}
    return [{"str": text} for text in texts.get(property, concept.synonyms) if text]


def _manifest(state: ServiceState, access: Access, base: str) -> dict[str, Any]:
    """Return the manifest of a service whose endpoint has the URL `base`."""
    manifest: dict[str, Any] = {
        "versions": ["0.2"],
        "name": f"taxoexpan: {state.name}",
        "identifierSpace": identifier_space(state.taxonomy.ids),
        "schemaSpace": SCHEMA_SPACE,
        "defaultTypes": [CONCEPT_TYPE, PARENT_TYPE],
        "serviceVersion": version("taxoexpan"),
        "batchSize": state.limits.max_concepts,
        "view": {"url": f"{base}/preview?id={{{{id}}}}"},
        "preview": {"url": f"{base}/preview?id={{{{id}}}}", **PREVIEW_SIZE},
        "suggest": {
            "entity": {
                "service_url": base,
                "service_path": "/suggest/entity",
                "flyout_service_path": "/flyout/entity?id=${id}",
            },
            "property": {"service_url": base, "service_path": "/suggest/property"},
            "type": {"service_url": base, "service_path": "/suggest/type"},
        },
        "extend": {"propose_properties": {"service_url": base, "service_path": "/properties"}},
    }
    if access.token is not None:
        manifest["authentication"] = {"type": "apiKey", "name": TOKEN_PARAMETER, "in": "query"}
    return manifest


def identifier_space(ids: Sequence[str]) -> str:
    """Return the common prefix of all ids, up to the last / or #, if they are IRIs."""
    low = min(ids, default="")
    high = max(ids, default="")
    pairs = enumerate(zip(low, high, strict=False))
    common = low[: next((i for i, (one, other) in pairs if one != other), len(low))]
    end = max(common.rfind("/"), common.rfind("#")) + 1
    is_space = common.startswith(("http://", "https://")) and end > len("https://")
    return common[:end] if is_space else LOCAL_SPACE


def _starting(choices: tuple[dict[str, str], ...], prefix: str) -> list[dict[str, str]]:
    """Return the choices whose id or name begins with a prefix."""
    start = prefix.casefold()
    return [
        each
        for each in choices
        if each["id"].startswith(start) or each["name"].casefold().startswith(start)
    ]
