"""The routes of the W3C Entity Reconciliation API v0.2."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import HTMLResponse

from taxoexpan.desk.service.concepts import find_concept
from taxoexpan.desk.service.reconciliation.candidates import (
    CONCEPT_TYPE,
    TYPES,
    describe_path,
    reconcile,
)
from taxoexpan.desk.service.reconciliation.descriptions import (
    PREVIEW_POLICY,
    build_manifest,
    flyout_html,
    preview_page,
)
from taxoexpan.desk.service.reconciliation.queries import (
    DEFINITION,
    SYNONYM,
    parse_query_batch,
)
from taxoexpan.desk.service.schemas import MAX_ID, MAX_LABEL, MAX_OFFSET, ProblemDetails
from taxoexpan.desk.service.suggester import ServiceState
from taxoexpan.desk.web.access import Access

RECONCILIATION_PATH = "/reconcile"
SUGGESTIONS = 10
PROPERTIES = (
    {"id": DEFINITION, "name": "Definition", "description": "helps to find a parent"},
    {"id": SYNONYM, "name": "Synonym", "description": "another name; helps to find a parent"},
)

EXAMPLE_BATCH = '{"q0": {"query": "oat milk", "limit": 3}}'
QueryBatch = Annotated[
    str | None, Query(description="A batch of queries as JSON.", examples=[EXAMPLE_BATCH])
]
BatchForm = Annotated[
    str, Form(description="A batch of queries as JSON.", examples=[EXAMPLE_BATCH])
]
EntityId = Annotated[str, Query(max_length=MAX_ID)]
Prefix = Annotated[str, Query(max_length=MAX_LABEL, description="What the user has typed.")]
Cursor = Annotated[int, Query(ge=0, le=MAX_OFFSET, description="Suggestions to skip.")]
Results = dict[str, Any]


def reconciliation_router(state: ServiceState, access: Access) -> APIRouter:
    """Return the endpoint, and the suggest, flyout and preview services."""
    missing = {"model": ProblemDetails, "description": "No concept has this id"}
    large = {"model": ProblemDetails, "description": "Too many queries"}
    invalid = {"model": ProblemDetails, "description": "The queries are not JSON"}
    router = APIRouter(prefix=RECONCILIATION_PATH, tags=["reconciliation"])
    refusals: dict[int | str, dict[str, Any]] = {400: invalid, 413: large}
    taxonomy = state.taxonomy

    @router.get("", summary="Return the manifest, or answer queries", responses=refusals)
    async def endpoint(request: Request, queries: QueryBatch = None) -> Results:
        """Return the manifest, unless there are queries."""
        if queries is not None:
            return await _answer(state, queries)
        return build_manifest(state, access, _base(request))

    @router.post("", summary="Answer queries", responses=refusals)
    async def post(queries: BatchForm) -> Results:
        """Return candidates: concepts with the name, likely duplicates, or proposed parents."""
        return await _answer(state, queries)

    @router.get("/suggest/entity", summary="Complete the name or the id of a concept")
    def suggest_entity(prefix: Prefix = "", cursor: Cursor = 0) -> Results:
        """Return concepts whose names, or words of them, begin with the prefix."""
        by_id = [taxonomy.index(prefix)] if prefix in taxonomy else []
        found = dict.fromkeys([*by_id, *state.index.search(prefix, cursor + SUGGESTIONS)])
        return {"result": [_entity(state, i) for i in [*found][cursor : cursor + SUGGESTIONS]]}

    @router.get("/suggest/property", summary="Complete the name of a property")
    def suggest_property(prefix: Prefix = "", cursor: Cursor = 0) -> Results:
        """Return the properties that queries may have."""
        return {"result": _starting(PROPERTIES, prefix)[cursor:]}

    @router.get("/suggest/type", summary="Complete the name of a type")
    def suggest_type(prefix: Prefix = "", cursor: Cursor = 0) -> Results:
        """Return the types of candidates."""
        return {"result": _starting(TYPES, prefix)[cursor:]}

    @router.get("/flyout/entity", summary="Describe a concept", responses={404: missing})
    def flyout(id: EntityId) -> Results:
        """Return a piece of HTML about a concept."""
        return {"id": id, "html": flyout_html(taxonomy, find_concept(taxonomy, id))}

    @router.get(
        "/preview",
        summary="Show a concept as a small page",
        response_class=HTMLResponse,
        responses={404: missing},
    )
    def preview(id: EntityId) -> HTMLResponse:
        """Return a page for a frame."""
        page = preview_page(taxonomy, find_concept(taxonomy, id))
        headers = {
            "Content-Security-Policy": PREVIEW_POLICY,
            "Cross-Origin-Resource-Policy": "cross-origin",
        }
        return HTMLResponse(page, headers=headers)

    return router


async def _answer(state: ServiceState, queries: str) -> Results:
    return dict(await reconcile(state, parse_query_batch(queries, state.limits.max_concepts)))


def _base(request: Request) -> str:
    """Return the URL of the endpoint as the client knows it."""
    return str(request.base_url).rstrip("/") + RECONCILIATION_PATH


def _entity(state: ServiceState, index: int) -> dict[str, Any]:
    return {
        "id": state.taxonomy.ids[index],
        "name": state.taxonomy.labels[index],
        "description": describe_path(state.taxonomy, index),
        "notable": [CONCEPT_TYPE],
    }


def _starting(choices: tuple[dict[str, str], ...], prefix: str) -> list[dict[str, str]]:
    """Return the choices whose id or name begins with a prefix."""
    start = prefix.casefold()
    return [
        each
        for each in choices
        if each["id"].startswith(start) or each["name"].casefold().startswith(start)
    ]
