"""Looking up concepts of the taxonomy: by id, with their neighbors, and by name."""

from __future__ import annotations

from http import HTTPStatus

from taxoexpan.desk.service.schemas import (
    ChildPage,
    ConceptDetails,
    ConceptReference,
    LocatedConcept,
    SearchResponse,
)
from taxoexpan.desk.web.problem import FieldProblem, Problem, ProblemError
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.name_search import NameIndex


def find_concept(taxonomy: Taxonomy, id: str, search: str = "/v1/search") -> int:
    """Return the index of the concept with an id; the error names `search` as the fix."""
    if id not in taxonomy:
        problem = f"no concept has the id {id[:100]!r}"
        fix = f"search for its name with {search}"
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


def search_concepts(taxonomy: Taxonomy, index: NameIndex, text: str, limit: int) -> SearchResponse:
    """Return the concepts that a text may mean, best first."""
    found = index.search(text, limit)
    return SearchResponse(results=[LocatedConcept.at(taxonomy, each) for each in found])
