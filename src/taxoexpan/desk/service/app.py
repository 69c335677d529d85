"""The app of the service: all its routes, with their limits and protections."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp

from taxoexpan.desk.service.metrics import RequestCounter
from taxoexpan.desk.service.problems import add_error_answers, describe_errors
from taxoexpan.desk.service.reconciliation.routes import (
    RECONCILIATION_PATH,
    reconciliation_router,
)
from taxoexpan.desk.service.routes import concept_router, suggest_router
from taxoexpan.desk.service.schemas import Health, ProblemDetails
from taxoexpan.desk.service.suggester import ServiceState
from taxoexpan.desk.web.access import Access
from taxoexpan.desk.web.protection import ANY_ORIGIN, CrossOriginPath, protect_service

HEALTH_PATH, METRICS_PATH = "/healthz", "/metrics"
PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"


def service_app(
    state: ServiceState, access: Access, origins: Sequence[str] = (ANY_ORIGIN,)
) -> ASGIApp:
    """Return the whole service: limits outside, then access, then the routes.

    Web pages of the `origins` may use reconciliation, and no other part of the service.
    """
    routes = RequestCounter(build_api(state, access), state.metrics)
    public = (HEALTH_PATH, RECONCILIATION_PATH)  # without parameters, the latter is the manifest
    protected = protect_service(
        routes,
        access,
        max_body=state.limits.max_body,
        max_requests=state.limits.max_requests,
        public=public,
        unlimited=(HEALTH_PATH, METRICS_PATH),
    )
    return CrossOriginPath(protected, RECONCILIATION_PATH, origins)


def build_api(state: ServiceState, access: Access) -> FastAPI:
    """Return the routes with their OpenAPI description."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await state.suggester.batcher.close()

    invalid = {"model": ProblemDetails, "description": "The request is invalid"}
    app = FastAPI(
        title="taxoexpan",
        version=version("taxoexpan"),
        description="Suggests parents for new concepts in an existing taxonomy.",
        docs_url=None,  # these pages load scripts from another server
        redoc_url=None,
        lifespan=lifespan,
        responses={422: invalid},
    )
    add_error_answers(app)
    app.include_router(suggest_router(state))
    app.include_router(concept_router(state))
    app.include_router(reconciliation_router(state, access))
    _add_state_routes(app, state)
    describe_errors(app)
    return app


def _add_state_routes(app: FastAPI, state: ServiceState) -> None:
    """Add the routes about the service itself."""

    @app.get("/", include_in_schema=False)
    def overview() -> dict[str, str]:
        """Say where everything is."""
        return {
            "name": "taxoexpan",
            "model": state.name,
            "openapi": "/openapi.json",
            "suggest": "/v1/suggest",
            "concepts": "/v1/concepts/{id}",
            "search": "/v1/search",
            "reconciliation": RECONCILIATION_PATH,
            "health": HEALTH_PATH,
            "metrics": METRICS_PATH,
        }

    @app.get(HEALTH_PATH, tags=["state"], summary="Say that the service runs")
    def health() -> Health:
        """Answer without a token, so that a load balancer can ask."""
        return Health(status="ok", model=state.name, concepts=len(state.taxonomy))

    @app.get(
        METRICS_PATH,
        tags=["state"],
        summary="Return metrics for Prometheus",
        response_class=PlainTextResponse,
    )
    def metrics() -> Response:
        """Return counts and durations of requests and batches."""
        return Response(state.metrics.text(), media_type=PROMETHEUS_TEXT)
