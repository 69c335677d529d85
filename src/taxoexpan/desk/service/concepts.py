"""Concepts of the taxonomy: search by id or name, and descriptions with neighbors."""

from __future__ import annotations

from http import HTTPStatus

from pydantic import BaseModel, Field

from taxoexpan.desk.web.problem import ProblemError
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.name_search import NameIndex


class ConceptReference(BaseModel):
    """A concept of the taxonomy."""

    id: str
    label: str


class LocatedConcept(ConceptReference):
    """A concept of the taxonomy, with the labels on the path from a root."""

    path: list[str]

    @classmethod
    def at(cls, taxonomy: Taxonomy, index: int) -> LocatedConcept:
        """Describe the concept at an index."""
        id = taxonomy.ids[index]
        return cls(id=id, label=taxonomy.labels[index], path=list(taxonomy.path(id)))


class ChildPage(BaseModel):
    """Some children of a concept, in the order of the taxonomy."""

    total: int
    offset: int
    items: list[ConceptReference]
    next_offset: int | None = Field(description="The offset of the next page, if there is one.")


class ConceptDetails(LocatedConcept):
    """A concept of the taxonomy with its neighbors."""

    definition: str
    synonyms: list[str]
    deprecated: bool
    parents: list[LocatedConcept]
    children: ChildPage


class SearchResponse(BaseModel):
    """The concepts that match a text, best first."""

    results: list[LocatedConcept]


def find_concept(taxonomy: Taxonomy, id: str, search: str = "/v1/search") -> int:
    """Return the index of the concept with an id; the error suggests `search`."""
    if id not in taxonomy:
        problem, fix = f"no concept has the id {id[:100]!r}", f"search for its name with {search}"
        raise ProblemError.in_field(HTTPStatus.NOT_FOUND, "id", problem, fix)
    return taxonomy.index(id)


def describe_concept(taxonomy: Taxonomy, index: int, offset: int, limit: int) -> ConceptDetails:
    """Return a concept with its neighbors and one page of its children."""
    concept = taxonomy.concept_at(index)
    children, stop = taxonomy.children_of.of(index).tolist(), offset + limit
    return ConceptDetails(
        **LocatedConcept.at(taxonomy, index).model_dump(),
        definition=concept.definition,
        synonyms=list(concept.synonyms),
        deprecated=concept.deprecated,
        parents=[LocatedConcept.at(taxonomy, i) for i in taxonomy.parents_of.of(index).tolist()],
        children=ChildPage(
            total=len(children),
            offset=offset,
            items=[
                ConceptReference(id=taxonomy.ids[child], label=taxonomy.labels[child])
                for child in children[offset:stop]
            ],
            next_offset=stop if stop < len(children) else None,
        ),
    )


def search_concepts(taxonomy: Taxonomy, index: NameIndex, text: str, limit: int) -> SearchResponse:
    """Return the concepts that match a text, best first."""
    found = index.search(text, limit)
    return SearchResponse(results=[LocatedConcept.at(taxonomy, each) for each in found])
