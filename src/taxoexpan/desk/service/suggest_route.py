"""The route that suggests parents for new concepts."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter

from taxoexpan.desk.service.api_schemas import (
    ProblemDetails,
    QueryResult,
    SuggestRequest,
    SuggestResponse,
)
from taxoexpan.desk.service.service_state import ServiceState
from taxoexpan.desk.service.suggester import SuggestionOptions
from taxoexpan.desk.web.problem import FieldProblem, Problem, ProblemError


def suggest_router(state: ServiceState) -> APIRouter:
    """Return the route `POST /v1/suggest`."""
    router = APIRouter(prefix="/v1", tags=["suggestions"])

    @router.post(
        "/suggest",
        summary="Suggest parents for new concepts",
        responses={
            413: {"model": ProblemDetails, "description": "Too many concepts, or too large"},
            503: {"model": ProblemDetails, "description": "Busy; see the header Retry-After"},
        },
    )
    async def suggest(request: SuggestRequest) -> SuggestResponse:
        """Rank the parents of each concept, as `taxoexpan suggest` does.

        The results do not depend on the other concepts of the request. A concept whose name the
        taxonomy already has gets no suggestions: `known` lists the concepts with that name.
        """
        _refuse_too_many(len(request.concepts), state.limits.max_concepts)
        concepts = [concept.concept() for concept in request.concepts]
        options = SuggestionOptions(request.top_k, request.explain)
        placed = await state.suggester.suggest(concepts, options)
        return SuggestResponse(results=[QueryResult.of(state.taxonomy, each) for each in placed])

    return router


def _refuse_too_many(count: int, limit: int) -> None:
    if count > limit:
        problem = f"{count:,} concepts, but at most {limit:,} are allowed"
        fix = "send them in several requests"
        raise ProblemError(
            Problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"concepts: {problem}; {fix}",
                [FieldProblem("concepts", problem, fix)],
            )
        )
