"""The app of the service: its routes, limits and protections."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated

from fastapi import FastAPI, Path, Query, Request
from prometheus_client import generate_latest
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp

from taxoexpan.desk.service.documentation import add_examples, documentation_page
from taxoexpan.desk.service.metrics import count_requests
from taxoexpan.desk.service.problems import NOT_FOUND, add_error_answers, describe_errors
from taxoexpan.desk.service.reconciliation.routes import (
    PREVIEW_POLICY,
    RECONCILIATION_PATH,
    STYLE,
    reconciliation_router,
)
from taxoexpan.desk.service.schemas import (
    MAX_LABEL,
    MAX_OFFSET,
    MAX_PAGE,
    MAX_SEARCH_RESULTS,
    ConceptDetails,
    Health,
    ProblemDetails,
    QueryResult,
    SearchResponse,
    SuggestRequest,
    SuggestResponse,
    describe_concept,
    find_concept,
    search_concepts,
)
from taxoexpan.desk.service.suggester import ServiceState, SuggestionOptions
from taxoexpan.desk.web.access import Access
from taxoexpan.desk.web.problem import ProblemError
from taxoexpan.desk.web.protection import ANY_ORIGIN, allow_origins, protect_service

HEALTH_PATH, METRICS_PATH, DOCUMENTATION_PATH = "/healthz", "/metrics", "/docs"
PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"

ConceptId = Annotated[
    str, Path(description="The id; it may be an IRI, encoded as a URI component or not.")
]
Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET, description="Children to skip.")]
PageSize = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Children to return.")]
SearchText = Annotated[
    str, Query(max_length=MAX_LABEL, description="Words or beginnings of words, in any order.")
]
SearchLimit = Annotated[int, Query(ge=1, le=MAX_SEARCH_RESULTS)]


def service_app(
    state: ServiceState, access: Access, origins: Sequence[str] = (ANY_ORIGIN,)
) -> ASGIApp:
    """Return the protected service; pages of other `origins` may use only reconciliation."""
    protected = protect_service(
        build_api(state, access),
        access,
        max_body=state.limits.max_body,
        max_requests=state.limits.max_requests,
        # Without parameters, the path of reconciliation is the manifest.
        public=(HEALTH_PATH, RECONCILIATION_PATH),
        unlimited=(HEALTH_PATH, METRICS_PATH),
        linked=RECONCILIATION_PATH,
    )
    # The counter is outside, so that it counts what the protections refuse.
    return count_requests(allow_origins(protected, RECONCILIATION_PATH, origins), state.metrics)


def build_api(state: ServiceState, access: Access) -> FastAPI:
    """Return the routes with their OpenAPI description."""
    app = FastAPI(
        title="taxoexpan",
        version=version("taxoexpan"),
        description="Suggests parents for new concepts in an existing taxonomy.",
        docs_url=None,  # these pages load scripts from another server
        redoc_url=None,
        responses={422: {"model": ProblemDetails, "description": "The request is invalid"}},
    )
    add_error_answers(app)
    _add_model_routes(app, state)
    app.include_router(reconciliation_router(state, access))
    _add_state_routes(app, state)
    describe_errors(app, lambda api: add_examples(api, state, access, public=HEALTH_PATH))
    return app


def _add_model_routes(app: FastAPI, state: ServiceState) -> None:
    """Add the routes about the model and its taxonomy."""
    taxonomy = state.taxonomy

    @app.post("/v1/suggest", tags=["suggestions"], summary="Suggest parents for new concepts")
    async def suggest(request: SuggestRequest) -> SuggestResponse:
        """Rank the parents of each concept, as `taxoexpan suggest` does.

        The results do not depend on the other concepts of the request. A concept whose name is
        already in the taxonomy gets no suggestions: `known` lists the concepts with that name.
        """
        count, limit = len(request.concepts), state.limits.max_concepts
        if count > limit:
            problem = f"{count:,} concepts, but at most {limit:,} are allowed"
            fix = "send them in several requests"
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            raise ProblemError.in_field(status, "concepts", problem, fix)
        concepts = [concept.concept() for concept in request.concepts]
        options = SuggestionOptions(request.top_k, request.explain)
        placed = await state.suggester.suggest(concepts, options)
        return SuggestResponse(results=[QueryResult.of(taxonomy, each) for each in placed])

    @app.get(
        "/v1/concepts/{id:path}", tags=["taxonomy"], summary="Show a concept", responses=NOT_FOUND
    )
    def concept(id: ConceptId, offset: Offset = 0, limit: PageSize = 50) -> ConceptDetails:
        """Return the names, definition and parents of a concept, and one page of its children."""
        return describe_concept(taxonomy, find_concept(taxonomy, id), offset, limit)

    @app.get("/v1/search", tags=["taxonomy"], summary="Search concepts by name")
    def search(q: SearchText, limit: SearchLimit = 20) -> SearchResponse:
        """Return concepts by label, synonym or name in another language, best first.

        Case and accents are ignored. Exact names come first, then names that begin with the text,
        then names that contain all words of the text. Deprecated concepts are not found.
        """
        return search_concepts(taxonomy, state.index, q, limit)


def _add_state_routes(app: FastAPI, state: ServiceState) -> None:
    """Add the routes about the service itself."""

    @app.get("/", include_in_schema=False)
    @app.get(DOCUMENTATION_PATH, include_in_schema=False)
    def documentation(request: Request) -> HTMLResponse:
        """Return a page that describes all paths."""
        page = documentation_page(app.openapi(), str(request.base_url).rstrip("/"), STYLE)
        policy = f"{PREVIEW_POLICY}; frame-ancestors 'none'"
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    @app.get(HEALTH_PATH, tags=["state"], summary="Say that the service runs")
    def health() -> Health:
        """Return the state of the service; a load balancer needs no token for this."""
        return Health(status="ok", model=state.name, concepts=len(state.taxonomy))

    @app.get(
        METRICS_PATH,
        tags=["state"],
        summary="Return metrics for Prometheus",
        response_class=PlainTextResponse,
    )
    def metrics() -> Response:
        """Return counts and durations of requests and batches."""
        return Response(generate_latest(state.metrics.registry), media_type=PROMETHEUS_TEXT)
