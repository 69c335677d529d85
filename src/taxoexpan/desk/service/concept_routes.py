"""The routes that show the taxonomy: one concept with its neighbours, and the name search."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Path, Query

from taxoexpan.desk.service.api_schemas import (
    ChildPage,
    ConceptDetails,
    ConceptReference,
    LocatedConcept,
    ProblemDetails,
    SearchResponse,
)
from taxoexpan.desk.service.service_limits import (
    MAX_LABEL,
    MAX_OFFSET,
    MAX_PAGE,
    MAX_SEARCH_RESULTS,
)
from taxoexpan.desk.service.service_state import ServiceState
from taxoexpan.desk.web.problem import FieldProblem, Problem, ProblemError
from taxoexpan.taxonomy import Taxonomy

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
        found = state.index.search(q, limit)
        return SearchResponse(results=[LocatedConcept.at(taxonomy, index) for index in found])

    return router


def find_concept(taxonomy: Taxonomy, id: str) -> int:
    """Return the index of the concept with an id, or answer with 404."""
    if id not in taxonomy:
        problem, fix = f"no concept has the id {id[:100]!r}", "search for its name with /v1/search"
        raise ProblemError(
            Problem(HTTPStatus.NOT_FOUND, f"{problem}; {fix}", [FieldProblem("id", problem, fix)])
        )
    return taxonomy.index(id)


def describe_concept(taxonomy: Taxonomy, index: int, offset: int, limit: int) -> ConceptDetails:
    """Return everything about a concept, with some of its children."""
    concept = taxonomy.concept_at(index)
    children = taxonomy.children_of.of(index)
    stop = offset + limit
    page = ChildPage(
        total=len(children),
        offset=offset,
        items=[
            ConceptReference(id=taxonomy.ids[child], label=taxonomy.labels[child])
            for child in children[offset:stop].tolist()
        ],
        next_offset=stop if stop < len(children) else None,
    )
    return ConceptDetails(
        id=concept.id,
        label=concept.label,
        path=list(taxonomy.path(concept.id)),
        definition=concept.definition,
        synonyms=list(concept.synonyms),
        deprecated=concept.deprecated,
        parents=[
            LocatedConcept.at(taxonomy, parent) for parent in taxonomy.parents_of.of(index).tolist()
        ],
        children=page,
    )
