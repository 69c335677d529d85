"""The routes of the API: suggestions, concepts, name search, health and metrics."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Query

from taxoexpan.desk.service.concepts import describe_concept, find_concept, search_concepts
from taxoexpan.desk.service.schemas import (
    MAX_LABEL,
    MAX_OFFSET,
    MAX_PAGE,
    MAX_SEARCH_RESULTS,
    ConceptDetails,
    ProblemDetails,
    QueryResult,
    SearchResponse,
    SuggestRequest,
    SuggestResponse,
)
from taxoexpan.desk.service.suggester import ServiceState, SuggestionOptions
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


ConceptId = Annotated[
    str, Path(description="The id; it may be an IRI, encoded as a URI component or not.")
]
Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET, description="Children to skip.")]
PageSize = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Children to return.")]
SearchText = Annotated[
    str, Query(max_length=MAX_LABEL, description="Words or beginnings of words, in any order.")
]
SearchLimit = Annotated[int, Query(ge=1, le=MAX_SEARCH_RESULTS)]


def concept_router(state: ServiceState) -> APIRouter:
    """Return the routes `GET /v1/concepts/{id}` and `GET /v1/search`."""
    router = APIRouter(prefix="/v1", tags=["taxonomy"])
    taxonomy = state.taxonomy

    @router.get(
        "/concepts/{id:path}",
        summary="Show a concept",
        responses={404: {"model": ProblemDetails, "description": "No concept has this id"}},
    )
    def concept(id: ConceptId, offset: Offset = 0, limit: PageSize = 50) -> ConceptDetails:
        """Return the names, the definition, the parents, and one page of the children."""
        return describe_concept(taxonomy, find_concept(taxonomy, id), offset, limit)

    @router.get("/search", summary="Search concepts by name")
    def search(q: SearchText, limit: SearchLimit = 20) -> SearchResponse:
        """Return concepts by label, synonym or name in another language, best first.

        Case and accents are ignored. Exact names come first, then names that begin with the text,
        then names that have all its words. Deprecated concepts are not found.
        """
        return search_concepts(taxonomy, state.index, q, limit)

    return router
