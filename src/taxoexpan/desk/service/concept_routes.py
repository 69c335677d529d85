"""The routes that show the taxonomy: one concept with its neighbours, and the name search."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from taxoexpan.desk.service.api_schemas import ConceptDetails, ProblemDetails, SearchResponse
from taxoexpan.desk.service.concept_lookup import describe_concept, find_concept, search_concepts
from taxoexpan.desk.service.service_limits import (
    MAX_LABEL,
    MAX_OFFSET,
    MAX_PAGE,
    MAX_SEARCH_RESULTS,
)
from taxoexpan.desk.service.service_state import ServiceState

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
