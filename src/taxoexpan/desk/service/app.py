"""The app of the service: its routes, limits and protections."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query
from pydantic import BaseModel
from starlette.types import ASGIApp

from taxoexpan.desk.service.metrics import METRICS_PATH, ServiceMetrics
from taxoexpan.desk.service.problems import NOT_FOUND, add_error_answers, describe_errors
from taxoexpan.desk.service.reconciliation.routes import (
    RECONCILIATION_PATH,
    describe_json_parameters,
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
from taxoexpan.desk.service.suggester import ServiceState
from taxoexpan.desk.web.access import TOKEN_PARAMETER, Access
from taxoexpan.desk.web.problem import ProblemError
from taxoexpan.desk.web.protection import ANY_ORIGIN, allow_origins, protect_service

HEALTH_PATH = "/healthz"
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "parameter": {"type": "apiKey", "in": "query", "name": TOKEN_PARAMETER},
}
"""The ways to send a token."""

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
    metrics = ServiceMetrics(state.suggester.batcher)
    protected = protect_service(
        build_api(state, access, metrics),
        access,
        max_body=state.limits.max_body,
        max_requests=state.limits.max_requests,
        # Without parameters, the path of reconciliation is the manifest.
        public=(HEALTH_PATH, RECONCILIATION_PATH),
        unlimited=(HEALTH_PATH, METRICS_PATH),
        linked=RECONCILIATION_PATH,
    )
    # The counter is outside, so that it counts what the protections refuse.
    return metrics.counted(allow_origins(protected, RECONCILIATION_PATH, origins))


def build_api(state: ServiceState, access: Access, metrics: ServiceMetrics) -> FastAPI:
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
    _add_health_route(app, state)
    metrics.add_route(app)
    describe_errors(app, lambda api: _add_examples(api, state, access))
    return app


def _add_examples(api: dict[str, Any], state: ServiceState, access: Access) -> None:
    """Add the token (not for the health), and examples, to an OpenAPI description."""
    api["components"]["securitySchemes"] = SCHEMES
    api["security"] = [{name: []} for name in SCHEMES] if access.token else []
    api["paths"][HEALTH_PATH]["get"]["security"] = []
    describe_json_parameters(api)
    taxonomy = state.taxonomy
    label = state.taxonomy.labels[0]
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


def _add_model_routes(app: FastAPI, state: ServiceState) -> None:
    """Add the routes about the model and its taxonomy."""
    taxonomy = state.taxonomy

    @app.post("/v1/suggest", tags=["suggestions"], summary="Suggest parents for new concepts")
    async def suggest(request: SuggestRequest) -> SuggestResponse:
        """Rank the parents of each concept, as `taxoexpan suggest` does.

        The results do not depend on the other concepts of the request. A concept whose name is
        already in the taxonomy gets no suggestions: `known` lists the concepts with that name.
        """
        count = len(request.concepts)
        limit = state.limits.max_concepts
        if count > limit:
            problem = f"{count:,} concepts, but at most {limit:,} are allowed"
            fix = "send them in several requests"
            status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            raise ProblemError.in_field(status, "concepts", problem, fix)
        concepts = [concept.concept() for concept in request.concepts]
        options = request.options()
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


def _add_health_route(app: FastAPI, state: ServiceState) -> None:
    """Add the route that says that the service runs."""

    @app.get(HEALTH_PATH, tags=["state"], summary="Say that the service runs")
    def health() -> Health:
        """Return the state of the service; a load balancer needs no token for this."""
        return Health(status="ok", model=state.name, concepts=len(state.taxonomy))
